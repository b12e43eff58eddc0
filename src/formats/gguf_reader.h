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
#include "formats/gguf_split.h"
#include "formats/metadata.h"
#include "quern/weight_source.h"

namespace quern {

// Where a tensor lies. `offset` counts from the start of its file; the bytes are in it.
struct GgufTensor {
  // As in the file; unique.
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  // row-major, outermost first (ggml's dims reversed)
  // From the begin of its file.
  int64_t offset = 0;
  int64_t size_bytes = 0;
  int part = 0;  // of a split model, from 0
};

// Versions 2 and 3, little- and big-endian. Everything in the header is checked before it is
// believed: a parsed file has unique keys and tensors, whose bytes lie in the file and do not
// overlap. Weights of little-endian files are mapped, not copied, and keep the file alive by
// themselves; those of big-endian files are copied and swapped. Thread-safe for concurrent reads.
//
// A model that is split over files "x-00001-of-00003.gguf", ... is one GgufFile: open the first.
// Metadata, version, byte order and alignment are those of the first; tensors are those of all.
class GgufFile final : public WeightSource {
 public:
  // Errors: kNotFound and kUnavailable (the file), kDataLoss (truncated), kInvalidArgument
  // (malformed, a set of files that do not belong together), kUnimplemented (version 1, removed
  // types). They name the path, the key or tensor, and the byte offset.
  static Result<std::shared_ptr<GgufFile>> open(const std::string& path);
  // The same from memory; `owner` keeps the bytes alive. kUnimplemented for a part of a set.
  static Result<std::shared_ptr<GgufFile>> parse(std::span<const std::byte> bytes,
                                                 std::shared_ptr<const void> owner);

  // Of the first part.
  const Metadata& metadata() const { return metadata_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }  // in the file's order
  const GgufTensor* find(std::string_view name) const;                 // null when absent
  int num_parts() const { return static_cast<int>(parts_.size()); }
  // Errors: kInvalidArgument where `path` is, under any name, a file that this model is read from:
  // writing there would destroy what is still to be read.
  Result<void> check_is_no_part(const std::string& path) const;
  uint32_t version() const { return version_; }
  // Of the first part; parts may differ.
  std::endian byte_order() const { return parts_.front().order; }
  int64_t alignment() const { return alignment_; }

  std::vector<WeightInfo> list() const override;
  Result<WeightInfo> info(std::string_view name) const override;
  Result<Tensor> weight(std::string_view name) const override;
  // Those of the files; empty for one in memory.
  std::string stamp() const override;

 private:
  // One file of the model.
  struct Part {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
    std::endian order = std::endian::little;
    std::string path = {};  // empty for one in memory
    std::string stamp = {};
  };
  GgufFile() = default;
  // One file, whole model or part of one.
  static Result<std::shared_ptr<GgufFile>> parse_part(std::span<const std::byte> bytes,
                                                      std::shared_ptr<const void> owner);
  // See .cc; each step trusts only what the ones before it have checked.
  static Result<std::shared_ptr<GgufFile>> open_part(const std::string& path);
  Result<void> read_all();
  Result<void> open_other_parts(const std::string& path, const SplitPlace& place);
  Result<void> adopt(GgufFile part, const SplitPlace& expected);
  Result<void> place_tensors(int64_t data_start, std::vector<gguf::TensorEntry> entries);
  Result<void> check_overlap() const;
  Result<const GgufTensor*> require(std::string_view name) const;

  std::vector<Part> parts_;  // at least one
  // Facts of the first part.
  uint32_t version_ = 0;
  int64_t alignment_ = 0;
  Metadata metadata_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace quern
