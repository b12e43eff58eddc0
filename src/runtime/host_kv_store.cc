// Pages, sequences and rows of the host's key-value store.
// Pages are copied when they are written and shared; kernels never see that.
#include "runtime/host_kv_store.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/fail.h"
#include "tensor/block_format.h"
#include "tensor/convert.h"

namespace quern {
namespace {

// Rows are stored in f32 staging before and after conversion; head dims are at most this.
// 16 KiB of stack in f32; real heads have 64 to 256 values.
constexpr int64_t kMaxHeadDim = 4096;

// Errors name the state and the attribute.
Result<DType> cache_type(const StateDecl& declaration, std::string_view name) {
  const AttributeValue* value = declaration.attributes.find(name);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (text == nullptr) {
    return fail::invalid("State '{}' needs the attribute '{}', the name of a type.",
                         declaration.name, name);
  }
  const auto dtype = find_dtype(*text);
  const bool is_known =
      // Formats whose encoder is part of the numerics; 32-block ones only, as heads are short.
      dtype && (*dtype == DType::kF32 || *dtype == DType::kF16 || *dtype == DType::kBF16 ||
                *dtype == DType::kQ8_0 || *dtype == DType::kQ4_0);
  if (!is_known || !can_encode(*dtype)) {
    return fail::invalid(
        "A cache of type '{}' is not supported; the types are f32, f16, bf16, "
        "q8_0, q4_0.",
        *text);
  }
  return *dtype;
}

// Bytes of one stored row: whole blocks.
int64_t stored_bytes(DType dtype, int64_t dim) {
  const DTypeInfo& info = dtype_info(dtype);
  // A head of 80 values in q8_0 takes 3 blocks, the last half full.
  return ceil_divide(dim, info.block_size) * info.block_bytes;
}

// A row in storage form: narrowed, or quantised with zeros up to whole blocks.
void encode_row(DType dtype, std::span<const float> row, std::byte* out) {
  if (!is_quantized(dtype)) {
    narrow_row(dtype, row.data(), out, static_cast<int64_t>(row.size()));
    return;
  }
  const int64_t padded = round_up(static_cast<int64_t>(row.size()), dtype_info(dtype).block_size);
  std::vector<float> staging(static_cast<size_t>(padded), 0.0F);
  // The padding is zeros: neutral in every dot product, and no larger amax in the last block.
  std::ranges::copy(row, staging.begin());
  quantize_row(dtype, staging.data(), out, padded);
}

// The inverse, without the padding.
void decode_row(DType dtype, const std::byte* stored, std::span<float> row) {
  if (!is_quantized(dtype)) {
    dequantize_row(dtype, stored, row.data(), static_cast<int64_t>(row.size()));
    return;
  }
  const int64_t padded = round_up(static_cast<int64_t>(row.size()), dtype_info(dtype).block_size);
  std::vector<float> staging(static_cast<size_t>(padded));
  dequantize_row(dtype, stored, staging.data(), padded);
  std::copy_n(staging.begin(), row.size(), row.begin());
}

}  // namespace

// Declarations come from files: every attribute is looked up and limited.
Result<std::unique_ptr<HostKvStore>> HostKvStore::make(const StateDecl& declaration) {
  if (declaration.kind != "kv") {
    return fail::invalid("State '{}' is of kind '{}'; a key-value store needs 'kv'.",
                         declaration.name, declaration.kind);
  }
  const Attributes& a = declaration.attributes;
  // Declarations come from text and files too: everything is looked up before it is used. The
  // limits keep the products below 2^62.
  for (const auto* name : {"layers", "heads", "key_dim", "value_dim"}) {
    const AttributeValue* value = a.find(name);
    const auto* number = value == nullptr ? nullptr : std::get_if<int64_t>(value);
    // Refused with the attribute's name; 2^20 layers or heads are far beyond any model.
    if (number == nullptr || *number < 1 || *number > (1 << 20)) {
      return fail::invalid("State '{}' needs the attribute '{}', from 1 to 1048576.",
                           declaration.name, name);
    }
  }
  std::unique_ptr<HostKvStore> store(new HostKvStore());
  store->num_layers_ = a.integer("layers");
  store->num_heads_ = a.integer("heads");
  store->key_dim_ = a.integer("key_dim");
  store->value_dim_ = a.integer("value_dim");
  if (std::max(store->key_dim_, store->value_dim_) > kMaxHeadDim) {
    return fail::invalid("State '{}' has heads of {} values; the limit is {}.", declaration.name,
                         std::max(store->key_dim_, store->value_dim_), kMaxHeadDim);
  }
  QUERN_ASSIGN_OR_RETURN(store->key_type_, cache_type(declaration, "key_type"));
  QUERN_ASSIGN_OR_RETURN(store->value_type_, cache_type(declaration, "value_type"));
  store->key_row_bytes_ = stored_bytes(store->key_type_, store->key_dim_);
  store->value_row_bytes_ = stored_bytes(store->value_type_, store->value_dim_);
  const AttributeValue* keeps = a.find("keeps_unrotated");
  // Absent means false: stores of models without eviction need no unrotated keys.
  const auto* flag = keeps == nullptr ? nullptr : std::get_if<bool>(keeps);
  store->keeps_unrotated_ = flag != nullptr && *flag;
  // f32 whatever the cache type: they are rotated anew, so rounding must not add up.
  store->unrotated_row_bytes_ = store->keeps_unrotated_ ? store->key_dim_ * 4 : 0;
  // The unrotated keys are floats: their part starts aligned, whatever lies before it.
  store->head_block_bytes_ = round_up(store->row_bytes() * kKvPageRows, 64);
  // At most 2^21.6 bytes for a head times 2^40: below 2^62.
  store->page_bytes_ = store->head_block_bytes_ * store->num_heads_ * store->num_layers_;
  return store;
}

// Ids come from outside.
Result<HostKvStore::Sequence*> HostKvStore::find(int32_t sequence) {
  if (sequence < 0 || static_cast<size_t>(sequence) >= sequences_.size() ||
      sequences_[static_cast<size_t>(sequence)] == nullptr) {
    return fail::not_found("There is no sequence {} in the key-value store.", sequence);
  }
  return sequences_[static_cast<size_t>(sequence)].get();
}

Result<const HostKvStore::Sequence*> HostKvStore::find(int32_t sequence) const {
  // The search changes nothing; the constness of what it finds is restored.
  QUERN_ASSIGN_OR_RETURN(const Sequence* found, const_cast<HostKvStore*>(this)->find(sequence));
  return found;
}

// No check: kernels ask for every row.
const HostKvStore::Sequence& HostKvStore::at(int64_t sequence) const {
  QUERN_DCHECK(sequence >= 0 && static_cast<size_t>(sequence) < sequences_.size());
  return *sequences_[static_cast<size_t>(sequence)];
}

// Ids are small: the lowest free one, so that tables by id stay dense.
Result<int32_t> HostKvStore::create_sequence() {
  // Linear: an engine has some dozens of sequences.
  for (size_t id = 0; id < sequences_.size(); ++id) {
    if (sequences_[id] != nullptr) continue;
    sequences_[id] = std::make_unique<Sequence>();
    return static_cast<int32_t>(id);
  }
  sequences_.push_back(std::make_unique<Sequence>());
  return static_cast<int32_t>(sequences_.size() - 1);
}

// Its pages go with the last sequence that holds them.
Result<void> HostKvStore::remove_sequence(int32_t sequence) {
  QUERN_TRY(find(sequence));
  sequences_[static_cast<size_t>(sequence)].reset();
  return {};
}

// Copies pointers to pages. The copy is made before the new sequence, which may move the list.
Result<int32_t> HostKvStore::clone_sequence(int32_t sequence) {
  QUERN_ASSIGN_OR_RETURN(const Sequence* source, std::as_const(*this).find(sequence));
  Sequence copy = *source;
  // May grow sequences_, so that `source` must not be used after this.
  QUERN_ASSIGN_OR_RETURN(const int32_t id, create_sequence());
  *sequences_[static_cast<size_t>(id)] = std::move(copy);
  return id;
}

// Both ids are looked up before anything changes.
Result<void> HostKvStore::swap_sequences(int32_t a, int32_t b) {
  QUERN_ASSIGN_OR_RETURN(Sequence * first, find(a));
  QUERN_ASSIGN_OR_RETURN(Sequence * second, find(b));
  std::swap(*first, *second);
  return {};
}

// Committed rows.
Result<int64_t> HostKvStore::length(int32_t sequence) const {
  QUERN_ASSIGN_OR_RETURN(const Sequence* found, find(sequence));
  return found->length;
}

// Copies before writing. use_count() is exact here: one thread owns the store.
Result<void> HostKvStore::unshare(Sequence& sequence, int64_t first, int64_t last) {
  const int64_t end = std::min(last, static_cast<int64_t>(sequence.pages.size()));
  for (int64_t page = first; page < end; ++page) {
    auto& slot = sequence.pages[static_cast<size_t>(page)];
    // Kernels never hold pages between runs.
    if (slot.use_count() == 1) continue;
    QUERN_ASSIGN_OR_RETURN(auto copy, memory_.make_page(page_bytes_));
    std::memcpy(copy->data, slot->data, static_cast<size_t>(page_bytes_));
    slot = std::move(copy);
  }
  return {};
}

// Pages that the rows need, each the sequence's own from the first that will be written.
Result<void> HostKvStore::reserve(int32_t sequence, int64_t count) {
  QUERN_ASSIGN_OR_RETURN(Sequence * found, find(sequence));
  // Far below the overflow of length + count, far above any context.
  if (count < 0 || count > (int64_t{1} << 40)) {
    return fail::invalid("{} rows cannot be reserved in a key-value store.", count);
  }
  const int64_t wanted = found->length + count;
  // The page that holds the next row may be half full and shared with a clone.
  // Pages before the next row's stay shared: nothing writes them.
  QUERN_TRY(unshare(*found, found->length / kKvPageRows, ceil_divide(wanted, kKvPageRows)));
  while (static_cast<int64_t>(found->pages.size()) * kKvPageRows < wanted) {
    QUERN_ASSIGN_OR_RETURN(auto page, memory_.make_page(page_bytes_));
    found->pages.push_back(std::move(page));
  }
  // Reserving less than before gives nothing back.
  found->reserved = std::max(found->reserved, wanted);
  return {};
}

// Only moves the end: the rows were written by the run.
Result<void> HostKvStore::commit(int32_t sequence, int64_t count) {
  QUERN_ASSIGN_OR_RETURN(Sequence * found, find(sequence));
  if (count < 0 || count > found->reserved - found->length) {
    return fail::out_of_range("{} rows cannot be committed after {}; {} are reserved.", count,
                              found->length, found->reserved);
  }
  found->length += count;
  return {};
}

// Pages behind the new end are freed, or left to the clones that share them.
Result<void> HostKvStore::truncate(int32_t sequence, int64_t length) {
  QUERN_ASSIGN_OR_RETURN(Sequence * found, find(sequence));
  if (length < 0 || length > found->length) {
    return fail::out_of_range("A sequence of {} rows cannot be cut to {}.", found->length, length);
  }
  // Rows behind the end may still lie in the last page; a later reserve writes over them.
  found->length = length;
  found->reserved = length;
  found->pages.resize(static_cast<size_t>(ceil_divide(length, kKvPageRows)));
  return {};
}

// Clones share pages: each is counted once.
int64_t HostKvStore::size_bytes() const {
  std::vector<const KvPage*> pages;
  for (const auto& sequence : sequences_) {
    if (sequence == nullptr) continue;
    for (const auto& page : sequence->pages) pages.push_back(page.get());
  }
  // By address: shared pages come beside each other.
  std::ranges::sort(pages);
  const auto duplicates = std::ranges::unique(pages);
  return static_cast<int64_t>(pages.size() - duplicates.size()) * page_bytes_;
}

// Kernels ask with ids from outside, so any number is allowed.
int64_t HostKvStore::capacity(int64_t sequence) const {
  // Below every position, so that a kernel's check `position < capacity` refuses the id.
  if (sequence < 0 || static_cast<size_t>(sequence) >= sequences_.size()) return -1;
  const auto& found = sequences_[static_cast<size_t>(sequence)];
  return found == nullptr ? -1 : found->reserved;
}

// Heads of a layer lie beside each other.
std::byte* HostKvStore::block(int64_t layer, int64_t sequence, int64_t head, int64_t page) const {
  return at(sequence).pages[static_cast<size_t>(page)]->data +
         (layer * num_heads_ + head) * head_block_bytes_;
}

// Keys begin the block.
std::byte* HostKvStore::key_page(int64_t layer, int64_t sequence, int64_t head,
                                 int64_t page) const {
  return block(layer, sequence, head, page);
}

// Values follow all keys of the page.
std::byte* HostKvStore::value_page(int64_t layer, int64_t sequence, int64_t head,
                                   int64_t page) const {
  // Quantised or not, the 64 keys of a head take key_row_bytes_ * 64 bytes.
  return block(layer, sequence, head, page) + key_row_bytes_ * kKvPageRows;
}

void HostKvStore::write_key(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                            std::span<const float> key) {
  const int64_t row = position % kKvPageRows;
  std::byte* keys = key_page(layer, sequence, head, position / kKvPageRows);
  std::array<std::byte, kMaxHeadDim * 4> staging;
  encode_row(key_type_, key, staging.data());
  put_key_row(staging.data(), row, keys);
}

// Key and value of one position.
void HostKvStore::write(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                        std::span<const float> key, std::span<const float> value) {
  write_key(layer, sequence, head, position, key);
  std::byte* values = value_page(layer, sequence, head, position / kKvPageRows);
  std::array<std::byte, kMaxHeadDim * 4> staging;
  encode_row(value_type_, value, staging.data());
  put_value_row(staging.data(), position % kKvPageRows, values);
}

// Back to floats; what rounding took is gone.
void HostKvStore::read_key(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                           std::span<float> key) const {
  std::array<std::byte, kMaxHeadDim * 4> staging;
  get_key_row(key_page(layer, sequence, head, position / kKvPageRows), position % kKvPageRows,
              staging.data());
  decode_row(key_type_, staging.data(), key);
}

void HostKvStore::read_value(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                             std::span<float> value) const {
  std::array<std::byte, kMaxHeadDim * 4> staging;
  get_value_row(value_page(layer, sequence, head, position / kKvPageRows), position % kKvPageRows,
                staging.data());
  decode_row(value_type_, staging.data(), value);
}

// For kernels that multiply blocks.
void HostKvStore::read_key_blocks(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                                  std::span<std::byte> blocks) const {
  QUERN_DCHECK(static_cast<int64_t>(blocks.size()) == key_row_bytes_);
  get_key_row(key_page(layer, sequence, head, position / kKvPageRows), position % kKvPageRows,
              blocks.data());
}

// The last part of a head's block, row by row.
std::byte* HostKvStore::unrotated_row(int64_t layer, int64_t sequence, int64_t head,
                                      int64_t position) const {
  return block(layer, sequence, head, position / kKvPageRows) +
         (key_row_bytes_ + value_row_bytes_) * kKvPageRows +
         position % kKvPageRows * unrotated_row_bytes_;
}

// Never quantised: they are rotated anew later.
void HostKvStore::write_unrotated(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                                  std::span<const float> key) {
  std::memcpy(unrotated_row(layer, sequence, head, position), key.data(), key.size_bytes());
}

void HostKvStore::read_unrotated(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                                 std::span<float> key) const {
  std::memcpy(key.data(), unrotated_row(layer, sequence, head, position), key.size_bytes());
}

}  // namespace quern
