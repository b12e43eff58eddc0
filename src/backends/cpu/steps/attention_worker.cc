// Pages, states and outputs of a tile.
#include "backends/cpu/steps/attention_worker.h"

#include <algorithm>

#include "base/checked_math.h"
#include "ops/float_rows.h"
#include "tensor/block_format.h"

namespace quern::cpu {
namespace {

static_assert(kPageKeys == kKvPageRows && kPageKeys == kInnerKeys);

constexpr int64_t kFloatBytes = sizeof(float);
constexpr int64_t kLineBytes = 64;

CacheType cache_type_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return CacheType::kF16;
    case DType::kBF16:
      return CacheType::kBF16;
    case DType::kQ8_0:
      return CacheType::kQ8_0;
    case DType::kQ4_0:
      return CacheType::kQ4_0;
    default:
      return CacheType::kF32;
  }
}

// Rows of floats that are not whole vectors of every level become f32 first.
bool widens_values(const HostKvStore& store) {
  return !is_quantized(store.value_type()) && store.value_dim() % kRowAlignment != 0;
}
// Elements of a widened row: whole vectors, and whole blocks.
int64_t widened_stride(const HostKvStore& store) {
  return round_up(store.value_dim(), is_quantized(store.value_type()) ? kKeyBlock : kRowAlignment);
}
// Floats of the scales of a page of quantised values.
int64_t value_scales(const HostKvStore& store) {
  return ceil_divide(store.value_dim(), kKeyBlock) * kPageKeys;
}

}  // namespace

int64_t attention_row_stride(const HostKvStore& store) {
  return round_up(store.value_dim(), kRowAlignment);
}

// is_empty, m, l: kStateRows each; then o.
int64_t attention_state_bytes(int64_t row_stride) {
  return (3 * kStateRows + kMaxTileRows * row_stride) * kFloatBytes;
}
AttentionState attention_state_at(std::byte* memory) {
  auto* numbers = reinterpret_cast<float*>(memory);
  return {reinterpret_cast<int32_t*>(memory), numbers + kStateRows, numbers + 2 * kStateRows,
          numbers + 3 * kStateRows};
}

int64_t AttentionWorker::scratch_bytes(const HostKvStore& store) {
  const int64_t row_stride = attention_row_stride(store);
  const int64_t query = (kMaxTileRows + 1) * round_up(store.key_dim(), kRowAlignment);
  const int64_t scores = kMaxTileRows * kPageKeys;
  const int64_t rows = 2 * kMaxTileRows * row_stride;  // sums and results
  const int64_t values = kPageKeys * widened_stride(store) + value_scales(store);
  return (query + scores + rows + values) * kFloatBytes + 2 * attention_state_bytes(row_stride) +
         (is_quantized(store.key_type()) ? IntegerQueries::scratch_bytes(store) : 0);
}

AttentionWorker::AttentionWorker(const AttentionJob& job, std::byte* scratch) : job_(job) {
  const HostKvStore& store = job.store;
  const int64_t row_stride = attention_row_stride(store);
  // Parts of the scratch memory, in the order that scratch_bytes() counts them.
  const auto take = [&](int64_t floats) {
    auto* taken = reinterpret_cast<float*>(scratch);
    scratch += floats * kFloatBytes;
    return taken;
  };
  query_ = take(kMaxTileRows * round_up(store.key_dim(), kRowAlignment));
  row_ = take(round_up(store.key_dim(), kRowAlignment));
  values_ = take(kPageKeys * widened_stride(store));
  results_ = take(kMaxTileRows * row_stride);
  run_.key_dim = store.key_dim();
  run_.value_dim = store.value_dim();
  run_.value_stride = widens_values(store) ? widened_stride(store) : store.value_dim();
  run_.value_scales = take(value_scales(store));
  run_.widened_values = values_;
  run_.row_stride = row_stride;
  run_.query = query_;
  run_.key_type = cache_type_of(store.key_type());
  run_.value_type = widens_values(store) ? CacheType::kF32 : cache_type_of(store.value_type());
  run_.scale = job.scale;
  run_.soft_cap = job.soft_cap;
  run_.ahead = &ahead_;
  run_.scores = take(kMaxTileRows * kPageKeys);
  run_.sums = take(kMaxTileRows * row_stride);
  inner_ = reinterpret_cast<std::byte*>(take(attention_state_bytes(row_stride) / kFloatBytes));
  total_ = reinterpret_cast<std::byte*>(take(attention_state_bytes(row_stride) / kFloatBytes));
  if (is_quantized(store.key_type())) {
    integer_queries_.emplace(store, job.kernels, job.query_bits, scratch);
  }
}

void AttentionWorker::clear(const AttentionState& state) const {
  std::fill_n(state.is_empty, kStateRows, 1);
  // The numbers of an empty state mean nothing; zeros keep what vectors compute of them finite.
  std::fill_n(state.m, kStateRows, 0.0F);
  std::fill_n(state.l, kStateRows, 0.0F);
}

// Queries as columns, [key_dim][kMaxTileRows], or quantised.
void AttentionWorker::load_queries(const AttentionTile& tile) {
  // The outer chunks of a tile come one after another on a thread: its queries are there.
  if (loaded_ == &tile) return;
  loaded_ = &tile;
  run_.num_rows = tile.num_rows();
  const int64_t dim = run_.key_dim;
  const int64_t heads = job_.q.shape[1];
  for (int row = 0; row < run_.num_rows; ++row) {
    const int64_t token = tile.first_token + row / tile.num_heads;
    const int64_t head = tile.first_head + row % tile.num_heads;
    const int64_t first = (token * heads + head) * dim;
    const float* x = job_.q.as<const float>() + first;
    if (job_.q.dtype != DType::kF32) {
      load_row(job_.q, first, dim, row_);
      x = row_;
    }
    if (integer_queries_) {
      integer_queries_->load(row, x);
    } else {
      for (int64_t d = 0; d < dim; ++d) query_[d * kMaxTileRows + row] = x[d];
    }
  }
}

const void* AttentionWorker::widened_values(const std::byte* values) {
  const HostKvStore& store = job_.store;
  for (int64_t row = 0; row < kPageKeys; ++row) {
    dequantize_row(store.value_type(), values + row * store.value_row_bytes(),
                   values_ + row * run_.value_stride, store.value_dim());
  }
  return values_;
}

const std::byte* AttentionWorker::block_of(const AttentionTile& tile, int64_t page) const {
  return job_.store.key_page(job_.layer, tile.sequence, tile.kv_head, page);
}

int64_t AttentionWorker::block_bytes() const {
  return kPageKeys * (job_.store.key_row_bytes() + job_.store.value_row_bytes());
}

void AttentionWorker::begin_page(const std::byte* block) const {
  const int64_t size = block_bytes();
  for (int64_t byte = 0; byte < size; byte += kLineBytes) __builtin_prefetch(block + byte, 0, 2);
}

void AttentionWorker::set_page(const AttentionTile& tile, int64_t page, AttentionPage& place) {
  const int64_t begin = page * kPageKeys;
  for (int row = 0; row < run_.num_rows; ++row) {
    const int64_t token = tile.first_token + row / tile.num_heads;
    const KeyRange keys = visible_keys(job_.places.positions[token], job_.window);
    place.first[row] = static_cast<int32_t>(std::clamp<int64_t>(keys.first - begin, 0, kPageKeys));
    place.last[row] = static_cast<int32_t>(std::clamp<int64_t>(keys.last - begin, 0, kPageKeys));
  }
}

// Spread over the steps of the run: of each page one for each element of a key, or each four where
// keys are quantised, and one for each value.
void AttentionWorker::set_ahead(TilePages next) {
  const int64_t count = next.tile == nullptr ? 0 : next.pages.last - next.pages.first;
  ahead_ = ReadAhead();
  ahead_.num_blocks = static_cast<int>(count);
  ahead_.block_bytes = block_bytes();
  for (int64_t i = 0; i < count; ++i) {
    ahead_.blocks[i] = reinterpret_cast<const char*>(block_of(*next.tile, next.pages.first + i));
  }
  const int64_t key_steps = integer_queries_ ? run_.key_dim / 4 : run_.key_dim;
  const int64_t lines = count * block_bytes() / kLineBytes;
  const int64_t steps = run_.num_pages * (key_steps + kPageKeys);
  ahead_.lines_per_step = static_cast<int>(ceil_divide(lines, steps));
}

void AttentionWorker::set_run(const AttentionTile& tile, PageRange pages, TilePages next) {
  // Values follow the keys of a page.
  const int64_t key_bytes = kPageKeys * job_.store.key_row_bytes();
  run_.num_pages = static_cast<int>(pages.last - pages.first);
  for (int i = 0; i < run_.num_pages; ++i) {
    AttentionPage& place = run_.pages[i];
    set_page(tile, pages.first + i, place);
    const std::byte* block = block_of(tile, pages.first + i);
    place.keys = block;
    place.values = block + key_bytes;
    if (!is_ahead(block, i)) begin_page(block);
  }
  set_ahead(next);
  if (widens_values(job_.store)) {  // one page at a time
    run_.pages[0].values = widened_values(static_cast<const std::byte*>(run_.pages[0].values));
  }
}

bool AttentionWorker::is_ahead(const std::byte* block, int64_t index) const {
  return index < ahead_.num_blocks && ahead_.blocks[index] == reinterpret_cast<const char*>(block);
}

void AttentionWorker::dot_keys() {
  if (integer_queries_) {
    job_.kernels.integer_keys.dot_keys(run_, integer_queries_->query());
  } else {
    job_.kernels.attention.dot_keys(run_);
  }
}

void AttentionWorker::walk(const AttentionTile& tile, PageRange pages, const AttentionState& state,
                           TilePages next) {
  load_queries(tile);
  clear(state);
  // As many pages at once as there is room for their rows, but short runs where nothing was read
  // ahead, so that reading soon goes beside computing.
  const int64_t most =
      widens_values(job_.store) ? 1 : std::clamp(kMaxTileRows / run_.num_rows, 1, kMaxRunPages);
  int64_t count = is_ahead(block_of(tile, pages.first), 0) ? ahead_.num_blocks : 1;
  const auto first_of = [&](PageRange rest) {
    return PageRange{rest.first, std::min(rest.first + count, rest.last)};
  };
  for (PageRange run = first_of(pages); run.first < run.last;) {
    count = std::min(most, 2 * count);
    const PageRange rest = first_of({run.last, pages.last});
    const bool is_last = rest.first == rest.last;
    set_run(tile, run,
            is_last ? TilePages{next.tile, first_of(next.pages)} : TilePages{&tile, rest});
    dot_keys();
    job_.kernels.attention.fold_pages(run_, state);
    run = rest;
  }
}

void AttentionWorker::join(const AttentionTile& tile, const AttentionState& left,
                           const AttentionState& right) const {
  job_.kernels.attention.join(tile.num_rows(), run_.value_dim, run_.row_stride, left, right);
}

void AttentionWorker::run(const AttentionTile& tile) {
  const AttentionState inner = attention_state_at(inner_);
  const AttentionState total = attention_state_at(total_);
  const TileParts outers(tile, kPagesPerOuter);
  // The first chunk is the state to which the others are joined, in order: no join with an empty
  // one.
  const auto next_of = [&](int64_t outer) {
    return outer + 1 < outers.count() ? TilePages{&tile, outers.pages(outer + 1)} : TilePages{};
  };
  walk(tile, outers.pages(0), total, next_of(0));
  for (int64_t outer = 1; outer < outers.count(); ++outer) {
    walk(tile, outers.pages(outer), inner, next_of(outer));
    join(tile, total, inner);
  }
  finish(tile, total);
}

void AttentionWorker::join_parts(const AttentionTile& tile, const TileParts& parts,
                                 std::byte* states, int64_t stride_bytes) {
  const auto state_of = [&](int64_t part) {
    return attention_state_at(states + part * stride_bytes);
  };
  const AttentionState total = state_of(0);
  for (int64_t part = 0; part < parts.count();) {
    const AttentionState outer = state_of(part);
    const int64_t chunk = parts.outer(part);
    const bool is_first = part == 0;
    for (++part; part < parts.count() && parts.outer(part) == chunk; ++part) {
      join(tile, outer, state_of(part));
    }
    if (!is_first) join(tile, total, outer);
  }
  finish(tile, total);
}

void AttentionWorker::finish(const AttentionTile& tile, const AttentionState& state) {
  const int64_t heads = job_.out.shape[1];
  const int64_t dim = run_.value_dim;
  const bool is_direct = job_.out.dtype == DType::kF32;
  const float* sinks[kMaxTileRows] = {};
  float* out[kMaxTileRows] = {};
  int64_t index[kMaxTileRows];
  for (int row = 0; row < tile.num_rows(); ++row) {
    const int64_t head = tile.first_head + row % tile.num_heads;
    index[row] = ((tile.first_token + row / tile.num_heads) * heads + head) * dim;
    sinks[row] = job_.sinks == nullptr ? nullptr : job_.sinks + head;
    out[row] = is_direct ? job_.out.as<float>() + index[row] : results_ + row * run_.row_stride;
  }
  job_.kernels.attention.finish(tile.num_rows(), dim, run_.row_stride, sinks, state, out);
  if (is_direct) return;
  for (int row = 0; row < tile.num_rows(); ++row) store_row(job_.out, index[row], dim, out[row]);
}

}  // namespace quern::cpu
