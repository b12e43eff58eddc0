// kv.append: rows of keys and values into the pages of a cache.
#include <cstring>

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

// keys[d][row + i] = rows[i][d]: the page holds one line of 64 keys for each d.
template <class E>
void transpose_keys(const E* rows, int64_t stride, int64_t count, int64_t dim, E* keys) {
  for (int64_t d = 0; d < dim; ++d) {
    for (int64_t i = 0; i < count; ++i) keys[d * kKvPageRows + i] = rows[i * stride + d];
  }
}

// Heads over the threads: a page holds heads apart, so no two threads write one line.
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
    if (is_quantized(store.key_type()) || is_quantized(store.value_type())) {
      return write_rows(context, places);
    }
    const int64_t dim = std::max(store.key_dim(), store.value_dim());
    const int64_t row_bytes = round_up(dim * int64_t{sizeof(float)}, 64);
    QUERN_ASSIGN_OR_RETURN(std::byte * scratch, machine_.scratch((kKvPageRows + 1) * row_bytes *
                                                                 machine_.pool.num_threads()));
    const std::vector<Run> runs = find_runs(places);
    const auto append = [&](int64_t begin, int64_t end, int thread) {
      std::byte* own = scratch + (kKvPageRows + 1) * row_bytes * thread;
      for (int64_t head = begin; head < end; ++head) {
        for (const Run& run : runs) append_run(context, places, run, head, own);
      }
    };
    const int64_t cost = places.num_tokens * (store.key_dim() + store.value_dim());
    for_ranges(machine_.pool, store.num_heads(), cost * kCostPerElement, append);
    return {};
  }

 private:
  Result<void> write_rows(const StepContext& context, const KvPlaces& places);
  void append_run(const StepContext& context, const KvPlaces& places, const Run& run, int64_t head,
                  std::byte* scratch) const;

  Machine& machine_;
  std::string state_;
  int64_t layer_;
};

// Quantised caches: row by row through the store.
Result<void> AppendStep::write_rows(const StepContext& context, const KvPlaces& places) {
  const TensorView& k = context.inputs[0];
  const TensorView& v = context.inputs[1];
  const int64_t heads = k.shape[1];
  const auto write = [&](int64_t begin, int64_t end, int) {
    std::vector<float> key(static_cast<size_t>(k.shape[2]));
    std::vector<float> value(static_cast<size_t>(v.shape[2]));
    for (int64_t head = begin; head < end; ++head) {
      for (int64_t t = 0; t < places.num_tokens; ++t) {
        const int64_t row = t * heads + head;
        load_row(k, row * k.shape[2], k.shape[2], key.data());
        load_row(v, row * v.shape[2], v.shape[2], value.data());
        context.kv->write(layer_, places.sequences[t], head, places.positions[t], key, value);
      }
    }
  };
  const int64_t cost = places.num_tokens * (k.shape[2] + v.shape[2]) * kCostPerElement;
  for_ranges(machine_.pool, heads, cost, write);
  return {};
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
  int64_t stride = heads * store.key_dim();
  if (k.dtype != store.key_type()) {
    for (int64_t i = 0; i < run.count; ++i) {
      const int64_t row = (run.first + i) * heads + head;
      stored_row(k, row, store.key_type(), widened, converted + i * key_bytes);
    }
    rows = converted;
    stride = store.key_dim();
  }
  // Only widths matter for moving: 4 bytes are f32, 2 are f16 or bf16.
  std::byte* keys = store.key_page(layer_, sequence, head, run.page) + run.row * size;
  if (size == 4) {
    transpose_keys(reinterpret_cast<const uint32_t*>(rows), stride, run.count, store.key_dim(),
                   reinterpret_cast<uint32_t*>(keys));
  } else {
    transpose_keys(reinterpret_cast<const uint16_t*>(rows), stride, run.count, store.key_dim(),
                   reinterpret_cast<uint16_t*>(keys));
  }
}

}  // namespace

Result<std::unique_ptr<Step>> make_kv_append(const StepRequest& request) {
  return std::make_unique<AppendStep>(request);
}

}  // namespace quern::cpu
