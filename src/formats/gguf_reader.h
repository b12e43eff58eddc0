// A GGUF model file, read in place.
#pragma once

#include <bit>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf_header.h"
#include "formats/metadata.h"
#include "quern/weight_source.h"

namespace quern {

// Where a tensor lies. `offset` counts from the start of the file; the bytes are in it.
struct GgufTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  // row-major, outermost first (ggml's dims reversed)
  int64_t offset = 0;
  int64_t size_bytes = 0;
};

// Versions 2 and 3, little- and big-endian. Everything in the header is checked before it is
// believed: a parsed file has unique keys and tensors, whose bytes lie in the file and do not
// overlap. Weights of little-endian files are mapped, not copied, and keep the file alive by
// themselves; those of big-endian files are copied and swapped. Thread-safe for concurrent reads.
class GgufFile final : public WeightSource {
 public:
  // Errors: kNotFound and kUnavailable (the file), kDataLoss (truncated), kInvalidArgument
  // (malformed), kUnimplemented (version 1, split files, removed types). They name the path, the
  // key or tensor, and the byte offset.
  static Result<std::shared_ptr<GgufFile>> open(const std::string& path);
  // The same from memory; `owner` keeps the bytes alive.
  static Result<std::shared_ptr<GgufFile>> parse(std::span<const std::byte> bytes,
                                                 std::shared_ptr<const void> owner);

  const Metadata& metadata() const { return metadata_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }  // in the file's order
  const GgufTensor* find(std::string_view name) const;                 // null when absent
  uint32_t version() const { return version_; }
  std::endian byte_order() const { return order_; }
  int64_t alignment() const { return alignment_; }

  std::vector<WeightInfo> list() const override;
  Result<WeightInfo> info(std::string_view name) const override;
  Result<Tensor> weight(std::string_view name) const override;

 private:
  GgufFile() = default;
  Result<void> read_all();
  Result<void> place_tensors(int64_t data_start, std::vector<gguf::TensorEntry> entries);
  Result<void> check_overlap() const;
  Result<const GgufTensor*> require(std::string_view name) const;

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  uint32_t version_ = 0;
  std::endian order_ = std::endian::little;
  int64_t alignment_ = 0;
  Metadata metadata_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace quern
