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
  if (dtype == DType::kF16) return CacheType::kF16;
  return dtype == DType::kBF16 ? CacheType::kBF16 : CacheType::kF32;
}

// Quantised values, and rows that are not whole vectors of every level, become f32 first.
bool widens_values(const HostKvStore& store) {
  return is_quantized(store.value_type()) || store.value_dim() % kRowAlignment != 0;
}
// Elements of a widened row: whole vectors, and whole blocks of any format.
int64_t widened_stride(const HostKvStore& store) {
  return round_up(store.value_dim(),
                  std::max<int64_t>(kRowAlignment, dtype_info(store.value_type()).block_size));
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
  const int64_t values = kPageKeys * widened_stride(store);
  return (query + scores + rows + values) * kFloatBytes + 2 * attention_state_bytes(row_stride) +
         (IntegerKeys::serves(store.key_type()) ? IntegerKeys::scratch_bytes(store) : 0);
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
  page_.key_dim = store.key_dim();
  page_.value_dim = store.value_dim();
  page_.value_stride = widens_values(store) ? widened_stride(store) : store.value_dim();
  page_.row_stride = row_stride;
  page_.query = query_;
  page_.key_type = cache_type_of(store.key_type());
  page_.value_type = widens_values(store) ? CacheType::kF32 : cache_type_of(store.value_type());
  page_.first = first_;
  page_.last = last_;
  page_.scale = job.scale;
  page_.soft_cap = job.soft_cap;
  page_.scores = take(kMaxTileRows * kPageKeys);
  page_.sums = take(kMaxTileRows * row_stride);
  inner_ = reinterpret_cast<std::byte*>(take(attention_state_bytes(row_stride) / kFloatBytes));
  total_ = reinterpret_cast<std::byte*>(take(attention_state_bytes(row_stride) / kFloatBytes));
  if (IntegerKeys::serves(store.key_type())) {
    integer_keys_.emplace(store, job.kernels, job.query_bits, scratch);
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
  page_.num_rows = tile.num_rows();
  const int64_t dim = page_.key_dim;
  const int64_t heads = job_.q.shape[1];
  for (int row = 0; row < page_.num_rows; ++row) {
    const int64_t token = tile.first_token + row / tile.num_heads;
    const int64_t head = tile.first_head + row % tile.num_heads;
    const int64_t first = (token * heads + head) * dim;
    const float* x = job_.q.as<const float>() + first;
    if (job_.q.dtype != DType::kF32) {
      load_row(job_.q, first, dim, row_);
      x = row_;
    }
    if (integer_keys_) {
      integer_keys_->load_query(row, x);
    } else {
      for (int64_t d = 0; d < dim; ++d) query_[d * kMaxTileRows + row] = x[d];
    }
  }
}

const void* AttentionWorker::widened_values(const std::byte* values, const std::byte* next,
                                            int64_t rows) {
  const HostKvStore& store = job_.store;
  const int64_t n = round_up(page_.value_dim, dtype_info(store.value_type()).block_size);
  if (const CachedBlockReaders* readers = find_readers(job_.kernels, store.value_type())) {
    readers->widen_values({values, next, rows, store.value_row_bytes(), n / kKeyBlock}, values_,
                          page_.value_stride);
    return values_;
  }
  for (int64_t row = 0; row < rows; ++row) {
    dequantize_row(store.value_type(), values + row * store.value_row_bytes(),
                   values_ + row * page_.value_stride, n);
  }
  return values_;
}

const std::byte* AttentionWorker::block_of(TilePage place) const {
  return job_.store.key_page(job_.layer, place.tile->sequence, place.tile->kv_head, place.page);
}

void AttentionWorker::begin_page(const std::byte* block) const {
  const int64_t size = kPageKeys * (job_.store.key_row_bytes() + job_.store.value_row_bytes());
  for (int64_t byte = 0; byte < size; byte += kLineBytes) __builtin_prefetch(block + byte, 0, 2);
}

void AttentionWorker::set_page(const AttentionTile& tile, int64_t page, TilePage next) {
  const int64_t begin = page * kPageKeys;
  // The last key of the page that some row sees: only rows up to it are widened or unpacked.
  int64_t last = 0;
  for (int row = 0; row < page_.num_rows; ++row) {
    const int64_t token = tile.first_token + row / tile.num_heads;
    const KeyRange keys = visible_keys(job_.places.positions[token], job_.window);
    first_[row] = static_cast<int32_t>(std::clamp<int64_t>(keys.first - begin, 0, kPageKeys));
    last_[row] = static_cast<int32_t>(std::clamp<int64_t>(keys.last - begin, 0, kPageKeys));
    last = std::max<int64_t>(last, last_[row]);
  }
  // Values follow the keys of a page.
  const int64_t key_bytes = kPageKeys * job_.store.key_row_bytes();
  const std::byte* block = block_of({&tile, page});
  if (block != ahead_) begin_page(block);
  ahead_ = next.tile == nullptr ? block : block_of(next);
  page_.keys = block;
  page_.values = block + key_bytes;
  page_.next_keys = ahead_;
  page_.next_values = ahead_ + key_bytes;
  if (widens_values(job_.store)) {
    page_.values = widened_values(block + key_bytes, ahead_ + key_bytes, last);
    page_.next_values = page_.values;  // the kernels read what is in the caches
  }
  if (integer_keys_) integer_keys_->load_page(block, ahead_, last);
}

void AttentionWorker::dot_keys() {
  if (integer_keys_) {
    integer_keys_->dot(page_.num_rows, page_.scores);
  } else {
    job_.kernels.attention.dot_keys(page_);
  }
}

void AttentionWorker::walk(const AttentionTile& tile, PageRange pages, const AttentionState& state,
                           TilePage next) {
  load_queries(tile);
  clear(state);
  for (int64_t page = pages.first; page < pages.last; ++page) {
    set_page(tile, page, page + 1 < pages.last ? TilePage{&tile, page + 1} : next);
    dot_keys();
    job_.kernels.attention.fold_page(page_, state);
  }
}

void AttentionWorker::join(const AttentionTile& tile, const AttentionState& left,
                           const AttentionState& right) const {
  job_.kernels.attention.join(tile.num_rows(), page_.value_dim, page_.row_stride, left, right);
}

void AttentionWorker::run(const AttentionTile& tile) {
  const AttentionState inner = attention_state_at(inner_);
  const AttentionState total = attention_state_at(total_);
  const TileParts outers(tile, kPagesPerOuter);
  // The first chunk is the state to which the others are joined, in order: no join with an empty
  // one.
  const auto next_of = [&](int64_t outer) {
    return outer + 1 < outers.count() ? TilePage{&tile, outers.pages(outer + 1).first} : TilePage{};
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
  const int64_t dim = page_.value_dim;
  const bool is_direct = job_.out.dtype == DType::kF32;
  const float* sinks[kMaxTileRows] = {};
  float* out[kMaxTileRows] = {};
  int64_t index[kMaxTileRows];
  for (int row = 0; row < tile.num_rows(); ++row) {
    const int64_t head = tile.first_head + row % tile.num_heads;
    index[row] = ((tile.first_token + row / tile.num_heads) * heads + head) * dim;
    sinks[row] = job_.sinks == nullptr ? nullptr : job_.sinks + head;
    out[row] = is_direct ? job_.out.as<float>() + index[row] : results_ + row * page_.row_stride;
  }
  job_.kernels.attention.finish(tile.num_rows(), dim, page_.row_stride, sinks, state, out);
  if (is_direct) return;
  for (int row = 0; row < tile.num_rows(); ++row) store_row(job_.out, index[row], dim, out[row]);
}

}  // namespace quern::cpu
