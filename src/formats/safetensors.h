// Tensors in a safetensors file, read in place and written.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors_header.h"
#include "quern/weight_source.h"

namespace quern {

// A whole file that was checked when it was opened. Tensors are mapped, not copied, and keep the
// file alive by themselves; one that is not aligned to its elements is copied. Bools are u8.
// Thread-safe for concurrent reads.
class SafetensorsFile final : public WeightSource {
 public:
  // Errors: kNotFound and kUnavailable (the file), kDataLoss (truncated), kInvalidArgument
  // (malformed). They name the path and the tensor.
  static Result<std::shared_ptr<SafetensorsFile>> open(const std::string& path);
  // The same from memory; `owner` keeps the bytes alive.
  static Result<std::shared_ptr<SafetensorsFile>> parse(std::span<const std::byte> bytes,
                                                        std::shared_ptr<const void> owner);

  // Text by key, of the file's "__metadata__".
  const std::map<std::string, std::string, std::less<>>& metadata() const {
    return header_.metadata;
  }
  // All tensors by ascending place in the file, those of types that Quern lacks included.
  const std::vector<safetensors::Entry>& entries() const { return header_.entries; }

  // Tensors of types that Quern has.
  std::vector<WeightInfo> list() const override;
  Result<WeightInfo> info(std::string_view name) const override;
  // Errors: kNotFound; kUnimplemented for an element type that Quern has no dtype for.
  Result<Tensor> weight(std::string_view name) const override;

 private:
  SafetensorsFile() = default;
  Result<const safetensors::Entry*> require(std::string_view name) const;

  // The whole file.
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  safetensors::Header header_;
  std::map<std::string, size_t, std::less<>> index_;  // name to place in header_.entries
};

// A tensor to write. `is_bool` marks u8 of 0 and 1 as the format's BOOL.
struct NamedTensor {
  // A tensor with its name in the file.
  std::string name;
  Tensor tensor;
  bool is_bool = false;
};

// Replaces the file at once when it is complete. Tensors are stored by falling type (of
// the format's list, and so by falling size, which keeps each aligned), then by name: the order and
// the bytes of the format's own library. Errors: kInvalidArgument (a name twice, the name
// "__metadata__", no UTF-8), kUnimplemented (a block-quantised dtype), those of AtomicFile.
Result<void> write_safetensors(
    const std::string& path, std::span<const NamedTensor> tensors,
    const std::map<std::string, std::string, std::less<>>& metadata = {});

}  // namespace quern
