// attention.cached: tiles of query rows over the threads.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "backends/cpu/steps/attention_worker.h"
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

// Work of one product of a query with a key or value element, as 1 / kProductsPerUnit units of
// for_ranges.
constexpr int64_t kProductsPerUnit = 4;
// Work of a tile that is many times what claiming a chunk costs.
constexpr int64_t kTileWorthAChunk = int64_t{1} << 14;
// Less work than this, about 4 us, is not split: the threads would wait longer for each other.
constexpr int64_t kLeastSplitWork = int64_t{1} << 14;

// Many tiles: one to a thread at a time, each walked whole. Few tiles: parts of their keys go to
// different threads and are joined in order, which gives the same bits.
class AttentionStep final : public Step {
 public:
  AttentionStep(const StepRequest& request, VectorOperand<float> sinks)
      : machine_(request.machine),
        state_(request.attributes().text("state")),
        layer_(request.attributes().integer("layer")),
        window_(request.attributes().integer("window")),
        scale_(attention_scale<float>(request.attributes().number("scale"),
                                      request.input_type(0).dims[2].factor)),
        soft_cap_(static_cast<float>(request.attributes().number("soft_cap"))),
        query_bits_(static_cast<int>(request.attributes().integer("query_bits"))),
        sinks_(std::move(sinks)) {}

  Result<void> run(const StepContext& context) override {
    QUERN_ASSIGN_OR_RETURN(
        const KvPlaces places,
        find_kv_places(context.kv, state_, context.inputs[1], context.inputs[2]));
    const HostKvStore& store = *context.kv;
    const AttentionJob job{machine_.kernels,
                           store,
                           places,
                           context.inputs[0],
                           context.outputs[0],
                           sinks_.get(context.inputs[3]),
                           layer_,
                           window_,
                           scale_,
                           soft_cap_,
                           query_bits_};
    const int64_t group = job.q.shape[1] / store.num_heads();
    const auto tiles = cut_attention_tiles(places, store.num_heads(), group, window_);
    if (tiles.empty()) return {};
    const int64_t split = split_of(job, tiles);
    return split > 0 ? run_split(job, tiles, split) : run_tiles(job, tiles);
  }

  // Bytes: the cache is read once by each tile that shares its loads; counted once a token.
  StepWork work(const StepContext& context) const override {
    const HostKvStore& store = *context.kv;
    const TensorView& positions = context.inputs[1];
    const Shape& q = context.inputs[0].shape;
    double keys = 0;
    int64_t deepest = 0;
    for (int64_t t = 0; t < q[0]; ++t) {
      const KeyRange visible = visible_keys(positions.as<const int32_t>()[t], window_);
      keys += static_cast<double>(visible.last - visible.first);
      deepest = std::max(deepest, visible.last);
    }
    const auto dims = static_cast<double>(store.key_dim() + store.value_dim());
    const auto row_bytes = static_cast<double>(store.key_row_bytes() + store.value_row_bytes());
    const uint64_t bound = std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, deepest)));
    return {.detail = fmt::format("{} [{} x {}] at most {} keys x {}", dtype_name(store.key_type()),
                                  store.num_heads(), q[1] / store.num_heads(), bound, q[0]),
            .products = keys * dims * static_cast<double>(q[1]),
            .bytes = static_cast<double>(deepest * store.num_heads()) * row_bytes};
  }

 private:
  Result<void> run_tiles(const AttentionJob& job, std::span<const AttentionTile> tiles);
  Result<void> run_split(const AttentionJob& job, std::span<const AttentionTile> tiles,
                         int64_t pages_per_part);
  // Pages of a part of a tile's keys where tiles are split, else 0.
  int64_t split_of(const AttentionJob& job, std::span<const AttentionTile> tiles) const;
  // Work of an average tile, for for_ranges.
  int64_t cost_of(const AttentionJob& job, std::span<const AttentionTile> tiles) const;

  Machine& machine_;
  std::string state_;
  int64_t layer_;
  int64_t window_;
  float scale_;
  float soft_cap_;
  int query_bits_;
  VectorOperand<float> sinks_;
};

// Parts of the tile that has most.
int64_t most_parts(std::span<const AttentionTile> tiles, int64_t pages_per_part) {
  int64_t most = 0;
  for (const AttentionTile& tile : tiles) {
    most = std::max(most, TileParts(tile, pages_per_part).count());
  }
  return most;
}

// Few tiles over many keys split into outer chunks; where those are too few for the threads to end
// together, into pages, each with a state of its own.
int64_t AttentionStep::split_of(const AttentionJob& job,
                                std::span<const AttentionTile> tiles) const {
  const int64_t threads = machine_.pool.num_threads();
  const auto count = static_cast<int64_t>(tiles.size());
  if (threads == 1 || count >= 4 * threads) return 0;
  if (count * most_parts(tiles, kPagesPerOuter) >= 8 * threads) return kPagesPerOuter;
  const bool is_worth_it = cost_of(job, tiles) * count >= kLeastSplitWork;
  return is_worth_it && most_parts(tiles, 1) > 1 ? 1 : 0;
}

int64_t AttentionStep::cost_of(const AttentionJob& job,
                               std::span<const AttentionTile> tiles) const {
  int64_t products = 0;
  for (const AttentionTile& tile : tiles) {
    products += (tile.keys.last - tile.keys.first) * tile.num_rows();
  }
  const int64_t dims = job.store.key_dim() + job.store.value_dim();
  return products / static_cast<int64_t>(tiles.size()) * dims / kProductsPerUnit;
}

Result<void> AttentionStep::run_tiles(const AttentionJob& job,
                                      std::span<const AttentionTile> tiles) {
  const int64_t own_bytes = round_up(AttentionWorker::scratch_bytes(job.store), 64);
  QUERN_ASSIGN_OR_RETURN(std::byte * scratch,
                         machine_.scratch(own_bytes * machine_.pool.num_threads()));
  const auto count = static_cast<int64_t>(tiles.size());
  const int64_t cost = cost_of(job, tiles);
  const auto run = [&](int64_t begin, int64_t end, int thread) {
    AttentionWorker worker(job, scratch + own_bytes * thread);
    for (int64_t i = begin; i < end; ++i) worker.run(tiles[static_cast<size_t>(i)]);
  };
  // Tiles differ in work: where each is worth a chunk, each is one.
  if (cost >= kTileWorthAChunk) {
    machine_.pool.run(count, [&](int64_t tile, int thread) { run(tile, tile + 1, thread); });
  } else {
    for_ranges(machine_.pool, count, cost, run);
  }
  return {};
}

Result<void> AttentionStep::run_split(const AttentionJob& job, std::span<const AttentionTile> tiles,
                                      int64_t pages_per_part) {
  const int64_t own_bytes = round_up(AttentionWorker::scratch_bytes(job.store), 64);
  const int64_t state_bytes = round_up(attention_state_bytes(attention_row_stride(job.store)), 64);
  const auto num_tiles = static_cast<int64_t>(tiles.size());
  const int64_t most = most_parts(tiles, pages_per_part);
  const int64_t threads = machine_.pool.num_threads();
  QUERN_ASSIGN_OR_RETURN(std::byte * scratch,
                         machine_.scratch(own_bytes * threads + state_bytes * num_tiles * most));
  std::byte* states = scratch + own_bytes * threads;
  const auto state_of = [&](int64_t tile, int64_t part) {
    return states + (tile * most + part) * state_bytes;
  };
  const int64_t num_parts = num_tiles * most;
  // Nothing behind the last part, nor behind those of a tile that has fewer than the others.
  const auto part_at = [&](int64_t i) -> TilePages {
    if (i >= num_parts) return {};
    const AttentionTile& tile = tiles[static_cast<size_t>(i / most)];
    const TileParts parts(tile, pages_per_part);
    return i % most < parts.count() ? TilePages{&tile, parts.pages(i % most)} : TilePages{};
  };
  // Neighbouring parts stay with a thread, whose worker keeps the queries and knows what it has
  // read ahead.
  std::vector<std::optional<AttentionWorker>> workers(static_cast<size_t>(threads));
  machine_.pool.run(num_parts, [&](int64_t i, int thread) {
    const TilePages part = part_at(i);
    if (part.tile == nullptr) return;
    auto& worker = workers[static_cast<size_t>(thread)];
    if (!worker) worker.emplace(job, scratch + own_bytes * thread);
    worker->walk(*part.tile, part.pages, attention_state_at(state_of(i / most, i % most)),
                 part_at(i + 1));
  });
  // The threads are done; their scratch memory is free again.
  AttentionWorker joiner(job, scratch);
  for (int64_t i = 0; i < num_tiles; ++i) {
    const AttentionTile& tile = tiles[static_cast<size_t>(i)];
    joiner.join_parts(tile, TileParts(tile, pages_per_part), state_of(i, 0), state_bytes);
  }
  return {};
}

// Whether the kernels read these keys; a cache of other types stays with the reference.
bool serves_keys(const StateDecl& state) {
  const AttributeValue* value = state.attributes.find("key_type");
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  const auto dtype = text == nullptr ? std::nullopt : find_dtype(*text);
  return dtype && (*dtype == DType::kF32 || *dtype == DType::kF16 || *dtype == DType::kBF16 ||
                   *dtype == DType::kQ8_0 || *dtype == DType::kQ4_0);
}

}  // namespace

Result<std::unique_ptr<Step>> make_attention_cached(const StepRequest& request) {
  const StateDecl* state = request.graph.find_state(request.attributes().text("state"));
  if (state == nullptr || !serves_keys(*state)) return make_reference(request);
  QUERN_ASSIGN_OR_RETURN(auto sinks, VectorOperand<float>::make(request, 3));
  return std::make_unique<AttentionStep>(request, std::move(sinks));
}

}  // namespace quern::cpu
