// Writes GGUF version 3 files, one tensor in memory at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "formats/metadata.h"
#include "quern/weight_source.h"

namespace quern {

// The header is written first, so tensors are declared before their bytes come. The file appears
// under its name at finish(), complete or not at all. The alignment is general.alignment of the
// metadata, or 32. Movable. One thread only.
class GgufWriter {
 public:
  // `tensors` in the order of their bytes. Errors: kInvalidArgument (names that are empty, repeated
  // or hold control characters, a bad alignment, a shape without elements or of more than 4 axes),
  // kUnimplemented (a dtype that ggml has not), those of AtomicFile.
  static Result<GgufWriter> create(const std::string& path, const Metadata& metadata,
                                   std::vector<WeightInfo> tensors,
                                   std::endian order = std::endian::little);

  // The next bytes, little-endian, of the tensor whose turn it is; `name` says which the caller
  // means. Whole blocks; as many pieces as the caller likes.
  Result<void> append(std::string_view name, std::span<const std::byte> bytes);
  // A whole tensor, of the declared dtype and shape.
  Result<void> append(std::string_view name, const Tensor& tensor);
  // Errors: kFailedPrecondition when bytes are missing.
  Result<void> finish(Durability durability = Durability::kPowerLoss);

 private:
  // A tensor and its bytes in the file.
  struct Declared {
    WeightInfo info;
    int64_t size_bytes;
  };
  GgufWriter(AtomicFile file, std::endian order, int64_t alignment, std::vector<Declared> tensors);
  Result<const Declared*> check_turn(std::string_view name) const;
  Result<void> pad();

  // Replaces the target when it is whole.
  AtomicFile file_;
  std::endian order_;
  int64_t alignment_;
  std::vector<Declared> tensors_;
  size_t turn_ = 0;      // index of the tensor whose bytes come next
  int64_t written_ = 0;  // bytes of it
  // Kept between tensors: bytes in the other order.
  std::vector<std::byte> swapped_;
};

// A whole file from a source of weights.
Result<void> write_gguf(const std::string& path, const Metadata& metadata,
                        const WeightSource& source, std::endian order = std::endian::little);

}  // namespace quern
