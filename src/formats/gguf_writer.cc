// Header layout, padding and byte order of written files.
// The header is written first, which needs all sizes: tensors are declared, then appended in the
// same order.
#include "formats/gguf_writer.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "formats/byte_order.h"
#include "formats/gguf_header.h"
#include "formats/gguf_types.h"

namespace quern {
namespace {

constexpr int kMaxWrittenRank = 4;  // what other readers of the format take

// Grows the header in the byte order of the file.
class HeaderBytes {
 public:
  // Collects the header in the file's byte order.
  explicit HeaderBytes(std::endian order) : order_(order) {}

  template <class T>
  void number(T value) {
    auto raw = std::bit_cast<std::array<char, sizeof(T)>>(value);
    if (order_ != std::endian::native) std::ranges::reverse(raw);
    bytes_.append(raw.data(), raw.size());
  }
  // Length, then bytes.
  void text(std::string_view text) {
    number<uint64_t>(text.size());
    bytes_ += text;
  }
  // Elements of `width` bytes in host order.
  void numbers(std::string_view packed, size_t width) {
    const size_t start = bytes_.size();
    bytes_ += packed;
    if (order_ == std::endian::native) return;
    reverse_byte_groups(std::as_writable_bytes(std::span(bytes_)).subspan(start), width);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::endian order_;
  std::string bytes_;
};

// Each with its length.
Result<void> put_texts(HeaderBytes& header, const MetadataValue& value) {
  for (int64_t i = 0; i < value.size(); ++i) {
    QUERN_ASSIGN_OR_RETURN(const std::string_view text, value.text_at(i));
    header.text(text);
  }
  return {};
}

// Key, type, value. Errors: values that the format has no form for.
Result<void> put_key(HeaderBytes& header, const std::string& key, const MetadataValue& value) {
  if (!gguf::is_valid_name(key)) {
    return fail::invalid("The metadata key '{}' is empty, too long or holds a control character.",
                         gguf::shortened(key));
  }
  header.text(key);
  const uint32_t type_id = gguf::metadata_type_id(value.type());
  if (value.is_array()) {
    header.number(gguf::kArrayId);
    header.number(type_id);
    header.number(static_cast<uint64_t>(value.size()));
  } else {
    header.number(type_id);
  }
  if (value.type() == MetadataType::kString) return put_texts(header, value);
  header.numbers(value.bytes(), static_cast<size_t>(metadata_type_bytes(value.type())));
  return {};
}

// Bytes of the tensor. Errors: what the format cannot hold.
Result<int64_t> check_tensor(const WeightInfo& info) {
  const std::string name = gguf::shortened(info.name);
  if (!gguf::is_valid_name(info.name)) {
    return fail::invalid("The tensor name '{}' is empty, too long or holds a control character.",
                         name);
  }
  if (!gguf::tensor_type_id(info.dtype)) {
    return fail::unimplemented("Tensor '{}' is of dtype {}, which GGUF has not.", name,
                               dtype_name(info.dtype));
  }
  // The reader here takes 8 axes, others take 4: what we write, everybody can read.
  if (info.shape.rank() > kMaxWrittenRank || info.shape.num_elements() == 0) {
    return fail::invalid("Tensor '{}' has the shape {}; up to {} axes, none empty, are needed.",
                         name, info.shape.to_string(), kMaxWrittenRank);
  }
  const auto size = dense_size_bytes(info.dtype, info.shape);
  if (!size) return tl::unexpected(size.error().with_context(fmt::format("Tensor '{}'", name)));
  return *size;
}

// Extents stand in reverse: the first is the one that varies fastest.
void put_tensor(HeaderBytes& header, const WeightInfo& info, int64_t offset) {
  header.text(info.name);
  header.number(static_cast<uint32_t>(info.shape.rank()));
  for (int axis = info.shape.rank(); axis-- > 0;) header.number(info.shape[axis]);
  header.number(*gguf::tensor_type_id(info.dtype));
  header.number(static_cast<uint64_t>(offset));
}

}  // namespace

// Made by create().
GgufWriter::GgufWriter(AtomicFile file, std::endian order, int64_t alignment,
                       std::vector<Declared> tensors)
    : file_(std::move(file)), order_(order), alignment_(alignment), tensors_(std::move(tensors)) {}

// The header is written at once; offsets follow from the declared tensors.
Result<GgufWriter> GgufWriter::create(const std::string& path, const Metadata& metadata,
                                      std::vector<WeightInfo> tensors, std::endian order) {
  QUERN_ASSIGN_OR_RETURN(const int64_t alignment, gguf::read_alignment(metadata));
  HeaderBytes header(order);
  header.numbers(gguf::kMagic, 1);
  header.number(gguf::kVersion);
  header.number(static_cast<int64_t>(tensors.size()));
  header.number(metadata.size());
  for (int64_t i = 0; i < metadata.size(); ++i) {
    QUERN_TRY(put_key(header, metadata.key(i), metadata.value(i)));
  }
  std::vector<Declared> declared;
  std::set<std::string_view> names;
  int64_t offset = 0;
  for (const WeightInfo& info : tensors) {
    QUERN_ASSIGN_OR_RETURN(const int64_t size, check_tensor(info));
    if (!names.insert(info.name).second) {
      return fail::invalid("Tensor '{}' occurs twice.", gguf::shortened(info.name));
    }
    put_tensor(header, info, offset);
    const auto end = checked_add(offset, size);
    if (!end || *end >= int64_t{1} << 62) return fail::invalid("The file has 2^62 bytes or more.");
    // Cannot overflow: the end is below 2^62 and the alignment at most 2^30.
    offset = round_up(*end, alignment);
    declared.push_back({info, size});
  }
  QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  QUERN_TRY(file.write(header.bytes()));
  GgufWriter writer(std::move(file), order, alignment, std::move(declared));
  // The data begin at a multiple of the alignment, as the offsets in the header assume.
  QUERN_TRY(writer.pad());
  return writer;
}

// Zeros up to the alignment.
Result<void> GgufWriter::pad() {
  return file_.write_zeros(round_up(file_.size_bytes(), alignment_) - file_.size_bytes());
}

// Tensors come in the declared order. Errors name the one that is due.
Result<const GgufWriter::Declared*> GgufWriter::check_turn(std::string_view name) const {
  if (turn_ == tensors_.size()) {
    return fail::precondition("All {} tensors are written; '{}' comes too late.", turn_,
                              gguf::shortened(name));
  }
  const Declared& next = tensors_[turn_];
  if (next.info.name != name) {
    return fail::precondition("Tensor '{}' comes out of turn; '{}' is next and has {} of {} bytes.",
                              gguf::shortened(name), gguf::shortened(next.info.name), written_,
                              next.size_bytes);
  }
  return &next;
}

// Errors: another size than declared.
Result<void> GgufWriter::append(std::string_view name, std::span<const std::byte> bytes) {
  QUERN_ASSIGN_OR_RETURN(const Declared* tensor, check_turn(name));
  const auto size = static_cast<int64_t>(bytes.size());
  if (size > tensor->size_bytes - written_) {
    return fail::invalid("Tensor '{}' has {} bytes; {} come after {}.", gguf::shortened(name),
                         tensor->size_bytes, size, written_);
  }
  const int32_t block_bytes = dtype_info(tensor->info.dtype).block_bytes;
  // A piece that ends inside a block could not be swapped on its own.
  if (size % block_bytes != 0) {
    return fail::invalid("A piece of tensor '{}' has {} bytes, not whole blocks of {}.",
                         gguf::shortened(name), size, block_bytes);
  }
  if (order_ == std::endian::big) {
    swapped_.assign(bytes.begin(), bytes.end());
    const auto swapped = swap_byte_order(tensor->info.dtype, swapped_);
    if (!swapped) {
      const std::string context = fmt::format("Tensor '{}'", gguf::shortened(name));
      return tl::unexpected(swapped.error().with_context(context));
    }
    bytes = swapped_;
  }
  QUERN_TRY(file_.write(bytes));
  written_ += size;
  if (written_ < tensor->size_bytes) return {};
  ++turn_;
  written_ = 0;
  return pad();
}

// The same from a tensor of the declared type and shape.
Result<void> GgufWriter::append(std::string_view name, const Tensor& tensor) {
  QUERN_ASSIGN_OR_RETURN(const Declared* declared, check_turn(name));
  if (tensor.dtype() != declared->info.dtype || tensor.shape() != declared->info.shape) {
    return fail::invalid("Tensor '{}' was declared as {} {} and comes as {} {}.",
                         gguf::shortened(name), dtype_name(declared->info.dtype),
                         declared->info.shape.to_string(), dtype_name(tensor.dtype()),
                         tensor.shape().to_string());
  }
  const auto view = tensor.host_view();
  // The buffer of a tensor may be longer than the tensor.
  if (view) return append(name, view->first(static_cast<size_t>(declared->size_bytes)));
  QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.read());
  return append(name, std::span<const std::byte>(bytes));
}

// Errors: tensors that were not written.
Result<void> GgufWriter::finish(Durability durability) {
  if (turn_ < tensors_.size()) {
    return fail::precondition("The file is incomplete: tensor '{}' has {} of {} bytes.",
                              gguf::shortened(tensors_[turn_].info.name), written_,
                              tensors_[turn_].size_bytes);
  }
  return file_.commit(durability);
}

// Everything at once, for small files.
Result<void> write_gguf(const std::string& path, const Metadata& metadata,
                        const WeightSource& source, std::endian order) {
  const std::vector<WeightInfo> tensors = source.list();
  QUERN_ASSIGN_OR_RETURN(GgufWriter writer, GgufWriter::create(path, metadata, tensors, order));
  for (const WeightInfo& info : tensors) {
    QUERN_ASSIGN_OR_RETURN(const Tensor tensor, source.weight(info.name));
    QUERN_TRY(writer.append(info.name, tensor));
  }
  return writer.finish();
}

}  // namespace quern
