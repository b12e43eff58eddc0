// Places tensors in the file and hands them out.
// Tensors point into the mapped file; only other byte orders make copies.
#include "formats/gguf_reader.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "formats/byte_order.h"

namespace quern {

// The file and, of a split model, the files beside it.
Result<std::shared_ptr<GgufFile>> GgufFile::open(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(auto file, open_part(path));
  const auto place = read_split_place(file->metadata_);
  if (!place) {
    return tl::unexpected(place.error().with_context(fmt::format("While reading '{}'", path)));
  }
  // The metadata of a set stand in its first file; the others hold keys of their place only.
  if (place->count > 1) QUERN_TRY(file->open_other_parts(path, *place));
  return file;
}

// For bytes that somebody else holds, as fuzzers do; `owner` keeps them alive.
Result<std::shared_ptr<GgufFile>> GgufFile::parse(std::span<const std::byte> bytes,
                                                  std::shared_ptr<const void> owner) {
  QUERN_ASSIGN_OR_RETURN(auto file, parse_part(bytes, std::move(owner)));
  QUERN_ASSIGN_OR_RETURN(const SplitPlace place, read_split_place(file->metadata_));
  if (place.count > 1) {
    return fail::unimplemented(
        "The model is split into {} files, of which this is one; open the first by its path.",
        place.count);
  }
  return file;
}

// One file, whole in itself.
Result<std::shared_ptr<GgufFile>> GgufFile::parse_part(std::span<const std::byte> bytes,
                                                       std::shared_ptr<const void> owner) {
  std::shared_ptr<GgufFile> file(new GgufFile());
  file->parts_.push_back({bytes, std::move(owner)});
  QUERN_TRY(file->read_all());
  return file;
}

// Maps it: weights are read when they are asked for.
Result<std::shared_ptr<GgufFile>> GgufFile::open_part(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(path));
  auto file = parse_part(mapped->bytes(), mapped);
  if (!file) {
    return tl::unexpected(file.error().with_context(fmt::format("While reading '{}'", path)));
  }
  (*file)->parts_.front().path = path;
  (*file)->parts_.front().stamp = mapped->stamp();
  return file;
}

std::string GgufFile::stamp() const {
  std::string stamps;
  for (const Part& part : parts_) {
    // One part that cannot be told apart makes the whole useless as a key of a cache.
    if (part.stamp.empty()) return {};
    stamps += part.stamp + ";";
  }
  return stamps;
}

Result<void> GgufFile::check_is_no_part(const std::string& path) const {
  for (const Part& part : parts_) {
    std::error_code error;  // a path that does not exist is no part
    // equivalent() compares device and inode: links and other spellings of the path are found.
    if (part.path.empty() || !std::filesystem::equivalent(path, part.path, error)) continue;
    return fail::invalid("'{}' is the file '{}' that the model is read from; write to another.",
                         path, part.path);
  }
  return {};
}

// Errors: a part is absent, or belongs to another model.
Result<void> GgufFile::open_other_parts(const std::string& path, const SplitPlace& place) {
  const auto prefix = split_prefix(path, place);
  if (place.index != 0) {
    return fail::invalid("'{}' is part {} of {} of a split model; open the first, '{}'.", path,
                         place.index + 1, place.count,
                         split_part_path(prefix.value_or("MODEL"), 0, place.count));
  }
  if (!prefix) {
    return fail::invalid(
        "'{}' is the first of {} parts, but its name does not end in '{}', so the others cannot be "
        "found.",
        path, place.count, split_part_path("", 0, place.count));
  }
  for (int64_t i = 1; i < place.count; ++i) {
    const std::string part_path = split_part_path(*prefix, i, place.count);
    // A part says its own place: a file that was renamed, or is of another set, is found here and
    // not as a missing tensor later.
    const SplitPlace expected = {i, place.count, place.num_tensors};
    const auto add = [&]() -> Result<void> {
      QUERN_ASSIGN_OR_RETURN(const auto part, open_part(part_path));
      auto adopted = adopt(std::move(*part), expected);
      if (adopted) return {};
      return tl::unexpected(adopted.error().with_context(fmt::format("Part '{}'", part_path)));
    };
    const auto added = add();
    if (!added) {
      return tl::unexpected(added.error().with_context(
          fmt::format("While reading part {} of {} of '{}'", i + 1, place.count, path)));
    }
  }
  const auto num_tensors = static_cast<int64_t>(tensors_.size());
  if (place.num_tensors.value_or(num_tensors) != num_tensors) {
    return fail::invalid("The {} parts of '{}' have {} tensors; 'split.tensors.count' says {}.",
                         place.count, path, num_tensors, *place.num_tensors);
  }
  return {};
}

// Moves the tensors over. Errors: place or count is not as expected.
Result<void> GgufFile::adopt(GgufFile part, const SplitPlace& expected) {
  QUERN_ASSIGN_OR_RETURN(const SplitPlace place, read_split_place(part.metadata_));
  if (place.index != expected.index || place.count != expected.count) {
    return fail::invalid("The file says that it is part {} of {}; part {} of {} is expected.",
                         place.index + 1, place.count, expected.index + 1, expected.count);
  }
  if (place.num_tensors && expected.num_tensors && *place.num_tensors != *expected.num_tensors) {
    return fail::invalid("'split.tensors.count' is {}; the first part says {}.", *place.num_tensors,
                         *expected.num_tensors);
  }
  for (GgufTensor& tensor : part.tensors_) {
    // The part is appended to parts_ below, so this is its index.
    tensor.part = num_parts();
    const auto [existing, is_new] = index_.try_emplace(tensor.name, tensors_.size());
    if (!is_new) {
      return fail::invalid("Tensor '{}' is in part {} already.", gguf::shortened(tensor.name),
                           tensors_[existing->second].part + 1);
    }
    tensors_.push_back(std::move(tensor));
  }
  parts_.push_back(std::move(part.parts_.front()));
  return {};
}

// Header, metadata, tensors, in the order of the file.
Result<void> GgufFile::read_all() {
  QUERN_ASSIGN_OR_RETURN(const gguf::Preamble preamble, gguf::read_preamble(parts_.front().bytes));
  version_ = preamble.version;
  parts_.front().order = preamble.order;
  ByteCursor cursor(parts_.front().bytes, preamble.order);
  std::string_view skipped;
  cursor.take_bytes(preamble.size_bytes, skipped);
  QUERN_ASSIGN_OR_RETURN(metadata_, gguf::read_metadata(cursor, preamble.num_keys));
  QUERN_ASSIGN_OR_RETURN(alignment_, gguf::read_alignment(metadata_));
  QUERN_ASSIGN_OR_RETURN(auto entries, gguf::read_tensor_entries(cursor, preamble.num_tensors));
  const int64_t data_start = round_up(static_cast<int64_t>(cursor.offset()), alignment_);
  QUERN_TRY(place_tensors(data_start, std::move(entries)));
  return check_overlap();
}

// Absolute offsets. Errors: past the end, not aligned, sizes that overflow.
Result<void> GgufFile::place_tensors(int64_t data_start, std::vector<gguf::TensorEntry> entries) {
  const auto file_size = static_cast<int64_t>(parts_.front().bytes.size());
  for (gguf::TensorEntry& entry : entries) {
    const auto name = gguf::shortened(entry.name);
    const auto dense_size = dense_size_bytes(entry.dtype, entry.shape);
    if (!dense_size) {
      return tl::unexpected(dense_size.error().with_context(fmt::format("Tensor '{}'", name)));
    }
    const int64_t size = *dense_size;
    if (entry.offset % static_cast<uint64_t>(alignment_) != 0) {
      return fail::invalid("Tensor '{}' has the offset {}, which is not a multiple of {}.", name,
                           entry.offset, alignment_);
    }
    const int64_t room = std::max<int64_t>(file_size - data_start, 0);
    // No sum of outside numbers: size is at most room here, so the difference cannot wrap.
    if (size > room || entry.offset > static_cast<uint64_t>(room - size)) {
      return fail::data_loss(
          "Tensor '{}' has {} bytes at offset {} of the data, which starts at byte {}; the file "
          "has {} bytes.",
          name, size, entry.offset, data_start, file_size);
    }
    const auto [place, is_new] = index_.try_emplace(entry.name, tensors_.size());
    if (!is_new) return fail::invalid("Tensor '{}' occurs twice.", name);
    tensors_.push_back({std::move(entry.name), entry.dtype, entry.shape,
                        data_start + static_cast<int64_t>(entry.offset), size});
  }
  return {};
}

// Sorted by offset: neighbours must not share bytes.
Result<void> GgufFile::check_overlap() const {
  std::vector<const GgufTensor*> sorted;
  sorted.reserve(tensors_.size());
  for (const GgufTensor& tensor : tensors_) sorted.push_back(&tensor);
  std::ranges::sort(sorted, {}, &GgufTensor::offset);
  for (size_t i = 1; i < sorted.size(); ++i) {
    const GgufTensor& first = *sorted[i - 1];
    // Neighbours suffice, since every tensor has at least one byte: extents of 0 were refused.
    if (first.offset + first.size_bytes > sorted[i]->offset) {
      return fail::invalid("Tensors '{}' and '{}' overlap at byte {}.", gguf::shortened(first.name),
                           gguf::shortened(sorted[i]->name), sorted[i]->offset);
    }
  }
  return {};
}

// By the index, in logarithmic time.
const GgufTensor* GgufFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

// Errors: kNotFound with the name.
Result<const GgufTensor*> GgufFile::require(std::string_view name) const {
  const GgufTensor* tensor = find(name);
  if (tensor == nullptr) {
    return fail::not_found("The file has no tensor '{}' among its {}.", name, tensors_.size());
  }
  return tensor;
}

// In the order of the file.
std::vector<WeightInfo> GgufFile::list() const {
  std::vector<WeightInfo> result;
  result.reserve(tensors_.size());
  for (const GgufTensor& tensor : tensors_) {
    result.push_back({tensor.name, tensor.dtype, tensor.shape});
  }
  return result;
}

Result<WeightInfo> GgufFile::info(std::string_view name) const {
  QUERN_ASSIGN_OR_RETURN(const GgufTensor* tensor, require(name));
  return WeightInfo{tensor->name, tensor->dtype, tensor->shape};
}

// Points into the mapping where the byte order is the host's; else a copy.
Result<Tensor> GgufFile::weight(std::string_view name) const {
  QUERN_ASSIGN_OR_RETURN(const GgufTensor* tensor, require(name));
  const Part& part = parts_[static_cast<size_t>(tensor->part)];
  const auto bytes = part.bytes.subspan(static_cast<size_t>(tensor->offset),
                                        static_cast<size_t>(tensor->size_bytes));
  // The blocks of kernels are little-endian bytes, whatever the host is.
  if (part.order == std::endian::little) {
    return Tensor::make(tensor->dtype, tensor->shape, Buffer::wrap_host(bytes, part.owner));
  }
  QUERN_ASSIGN_OR_RETURN(Tensor copy, Tensor::from_bytes(tensor->dtype, tensor->shape, bytes));
  QUERN_ASSIGN_OR_RETURN(const auto view, copy.buffer().mutable_host_view());
  const auto swapped = swap_byte_order(tensor->dtype, view);
  if (!swapped) {
    return tl::unexpected(swapped.error().with_context(fmt::format("Tensor '{}'", name)));
  }
  return copy;
}

}  // namespace quern
