// kv.append: rows of keys and values into the pages of a cache.
#include <cstring>

#include "backends/cpu/kernels/transpose-inl.h"
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"
#include "ops/kv_places.h"
#include "runtime/host_kv_store.h"
#include "tensor/convert.h"

namespace quern::cpu {
namespace {

constexpr int64_t kCostPerElement = 8;

// Tokens [first, first + count) of one sequence at rows [row, row + count) of one page.
struct Run {
  int64_t first;
  int64_t count;
  int64_t page;
  int64_t row;
};

// A prefill makes one run a page, a decode step one run a sequence.
std::vector<Run> find_runs(const KvPlaces& places) {
  std::vector<Run> runs;
  for (int64_t t = 0; t < places.num_tokens; ++t) {
    const int64_t position = places.positions[t];
    const bool continues = t > 0 && places.sequences[t] == places.sequences[t - 1] &&
                           position == places.positions[t - 1] + 1 && position % kKvPageRows != 0;
    if (continues) {
      ++runs.back().count;
    } else {
      runs.push_back({t, 1, position / kKvPageRows, position % kKvPageRows});
    }
  }
  return runs;
}

// Whether the runs are positions of one sequence that follow each other, so that each run has a
// page of its own. In any other order a position may come twice, and the last one must win.
bool is_one_stretch(const KvPlaces& places, const std::vector<Run>& runs) {
  for (size_t i = 1; i < runs.size(); ++i) {
    const Run& before = runs[i - 1];
    const Run& run = runs[i];
    if (places.sequences[run.first] != places.sequences[before.first]) return false;
    if (run.page != before.page + 1 || run.row != 0) return false;
    if (before.row + before.count != kKvPageRows) return false;
  }
  return true;
}

// keys[d][row + i] = rows[i][d]: the page holds one line of 64 keys for each d. Tiles of 16 bytes
// by 16 bytes, then what is left over.
template <class Vector>
void transpose_keys(const std::byte* rows, int64_t row_bytes, int64_t count, int64_t dim,
                    std::byte* keys) {
  constexpr int64_t kBytes = sizeof(Vector{}[0]);
  constexpr int64_t kTile = static_cast<int64_t>(sizeof(Vector)) / kBytes;
  constexpr int64_t kLine = kKvPageRows * kBytes;
  const int64_t tiled_rows = count / kTile * kTile, tiled = dim / kTile * kTile;
  for (int64_t d = 0; d < tiled; d += kTile) {
    for (int64_t i = 0; i < tiled_rows; i += kTile) {
      transpose_tile<Vector>(rows + i * row_bytes + d * kBytes, row_bytes,
                             keys + d * kLine + i * kBytes, kLine);
    }
  }
  for (int64_t d = 0; d < dim; ++d) {
    for (int64_t i = d < tiled ? tiled_rows : 0; i < count; ++i) {
      std::memcpy(keys + d * kLine + i * kBytes, rows + i * row_bytes + d * kBytes, kBytes);
    }
  }
}

// Heads and pages over the threads: a page holds heads apart, so no two threads write one line.
class AppendStep final : public Step {
 public:
  explicit AppendStep(const StepRequest& request)
      : machine_(request.machine),
        state_(request.attributes().text("state")),
        layer_(request.attributes().integer("layer")) {}

  Result<void> run(const StepContext& context) override {
    QUERN_ASSIGN_OR_RETURN(
        const KvPlaces places,
        find_kv_places(context.kv, state_, context.inputs[2], context.inputs[3]));
    const HostKvStore& store = *context.kv;
    const std::vector<Run> runs = find_runs(places);
    if (is_quantized(store.key_type()) || is_quantized(store.value_type())) {
      const auto write = [&](const Run& run, int64_t head, int) {
        write_run(context, places, run, head);
      };
      for_heads_and_runs(context, places, runs, write);
      return {};
    }
    const int64_t dim = std::max(store.key_dim(), store.value_dim());
    const int64_t row_bytes = round_up(dim * int64_t{sizeof(float)}, 64);
    QUERN_ASSIGN_OR_RETURN(std::byte * scratch, machine_.scratch((kKvPageRows + 1) * row_bytes *
                                                                 machine_.pool.num_threads()));
    const auto append = [&](const Run& run, int64_t head, int thread) {
      append_run(context, places, run, head, scratch + (kKvPageRows + 1) * row_bytes * thread);
    };
    for_heads_and_runs(context, places, runs, append);
    return {};
  }

 private:
  // f(run, head, thread) for all of them; the runs of a head in order where that matters.
  template <class F>
  void for_heads_and_runs(const StepContext& context, const KvPlaces& places,
                          const std::vector<Run>& runs, F&& f) {
    const HostKvStore& store = *context.kv;
    const auto num_runs = static_cast<int64_t>(runs.size());
    if (num_runs == 0) return;
    const int64_t parts = is_one_stretch(places, runs) ? num_runs : 1;
    const int64_t runs_of_part = num_runs / parts;
    const auto work = [&](int64_t begin, int64_t end, int thread) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % parts * runs_of_part;
        for (int64_t r = first; r < first + runs_of_part; ++r) {
          f(runs[static_cast<size_t>(r)], i / parts, thread);
        }
      }
    };
    const int64_t elements = places.num_tokens * (store.key_dim() + store.value_dim());
    for_ranges(machine_.pool, store.num_heads() * parts,
               ceil_divide(elements * kCostPerElement, parts), work);
  }
  void write_run(const StepContext& context, const KvPlaces& places, const Run& run,
                 int64_t head) const;
  void append_run(const StepContext& context, const KvPlaces& places, const Run& run, int64_t head,
                  std::byte* scratch) const;

  Machine& machine_;
  std::string state_;
  int64_t layer_;
};

// Quantised caches: row by row through the store.
void AppendStep::write_run(const StepContext& context, const KvPlaces& places, const Run& run,
                           int64_t head) const {
  const TensorView& k = context.inputs[0];
  const TensorView& v = context.inputs[1];
  const int64_t heads = k.shape[1];
  std::vector<float> key(static_cast<size_t>(k.shape[2]));
  std::vector<float> value(static_cast<size_t>(v.shape[2]));
  for (int64_t t = run.first; t < run.first + run.count; ++t) {
    const int64_t row = t * heads + head;
    load_row(k, row * k.shape[2], k.shape[2], key.data());
    load_row(v, row * v.shape[2], v.shape[2], value.data());
    context.kv->write(layer_, places.sequences[t], head, places.positions[t], key, value);
  }
}

// Row `index` of a tensor in the dtype of the cache, in place or converted to `out`.
const std::byte* stored_row(const TensorView& view, int64_t index, DType dtype, float* widened,
                            std::byte* out) {
  const int64_t n = view.shape.last();
  if (view.dtype == dtype) return view.data + index * n * dtype_info(dtype).block_bytes;
  load_row(view, index * n, n, widened);
  narrow_row(dtype, widened, out, n);
  return out;
}

void AppendStep::append_run(const StepContext& context, const KvPlaces& places, const Run& run,
                            int64_t head, std::byte* scratch) const {
  const HostKvStore& store = *context.kv;
  const TensorView& k = context.inputs[0];
  const TensorView& v = context.inputs[1];
  const int64_t heads = store.num_heads();
  const int32_t sequence = places.sequences[run.first];
  const int64_t size = dtype_info(store.key_type()).block_bytes;
  const int64_t key_bytes = store.key_dim() * size;
  auto* widened = reinterpret_cast<float*>(scratch);
  std::byte* converted = scratch + round_up(std::max(k.shape[2], v.shape[2]) * 4, 64);
  std::byte* values = store.value_page(layer_, sequence, head, run.page);
  for (int64_t i = 0; i < run.count; ++i) {
    const int64_t row = (run.first + i) * heads + head;
    const std::byte* value = stored_row(v, row, store.value_type(), widened, converted);
    std::memcpy(values + (run.row + i) * store.value_row_bytes(), value,
                static_cast<size_t>(store.value_row_bytes()));
  }
  // Keys that have the cache's dtype are transposed from where they are.
  const std::byte* rows = k.data + (run.first * heads + head) * key_bytes;
  int64_t row_bytes = heads * key_bytes;
  if (k.dtype != store.key_type()) {
    for (int64_t i = 0; i < run.count; ++i) {
      const int64_t row = (run.first + i) * heads + head;
      stored_row(k, row, store.key_type(), widened, converted + i * key_bytes);
    }
    rows = converted;
    row_bytes = key_bytes;
  }
  // Only widths matter for moving: 4 bytes are f32, 2 are f16 or bf16.
  std::byte* keys = store.key_page(layer_, sequence, head, run.page) + run.row * size;
  const auto transpose = size == 4 ? transpose_keys<Dwords> : transpose_keys<Halves>;
  transpose(rows, row_bytes, run.count, store.key_dim(), keys);
}

}  // namespace

Result<std::unique_ptr<Step>> make_kv_append(const StepRequest& request) {
  return std::make_unique<AppendStep>(request);
}

}  // namespace quern::cpu
