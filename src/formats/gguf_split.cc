// Keys and names of split models, as llama.cpp's gguf-split writes them.
// A part's name and its metadata must agree, or it belongs to another set.
#include "formats/gguf_split.h"

#include <limits>

#include "base/fail.h"

namespace quern {
namespace {

// Keys that splitting adds, as llama.cpp names them.
constexpr std::string_view kIndexKey = "split.no";
constexpr std::string_view kCountKey = "split.count";
constexpr std::string_view kTensorsKey = "split.tensors.count";

// A count in the type that its key has in files.
template <class T>
Result<T> narrowed(std::string_view key, int64_t value) {
  constexpr int64_t kLargest = std::numeric_limits<T>::max();
  if (value >= 0 && value <= kLargest) return static_cast<T>(value);
  return fail::invalid("Metadata key '{}' would be {}; 0 to {} can be written.", key, value,
                       kLargest);
}

}  // namespace

// Errors: numbers that make no place, such as part 3 of 2.
Result<SplitPlace> read_split_place(const Metadata& metadata) {
  SplitPlace place;
  QUERN_ASSIGN_OR_RETURN(place.count, metadata.integer_or(kCountKey, 1));
  if (place.count == 0 || place.count == 1) return SplitPlace{};
  QUERN_ASSIGN_OR_RETURN(place.index, metadata.integer_or(kIndexKey, 0));
  if (place.count < 1 || place.count > kMaxSplitParts) {
    return fail::invalid("Metadata key '{}' is {}; 0 to {} are possible.", kCountKey, place.count,
                         kMaxSplitParts);
  }
  if (place.index < 0 || place.index >= place.count) {
    return fail::invalid("Metadata key '{}' is {}; the set has {} parts, numbered from 0.",
                         kIndexKey, place.index, place.count);
  }
  if (metadata.has(kTensorsKey)) {
    QUERN_ASSIGN_OR_RETURN(place.num_tensors, metadata.integer(kTensorsKey));
  }
  return place;
}

// All three are checked before the first is set.
Result<void> set_split_place(Metadata& metadata, const SplitPlace& place) {
  QUERN_ASSIGN_OR_RETURN(const auto index, narrowed<uint16_t>(kIndexKey, place.index));
  QUERN_ASSIGN_OR_RETURN(const auto count, narrowed<uint16_t>(kCountKey, place.count));
  QUERN_ASSIGN_OR_RETURN(const auto tensors,
                         narrowed<int32_t>(kTensorsKey, place.num_tensors.value_or(0)));
  metadata.set(std::string(kIndexKey), MetadataValue::number(index));
  metadata.set(std::string(kCountKey), MetadataValue::number(count));
  metadata.set(std::string(kTensorsKey), MetadataValue::number(tensors));
  return {};
}

// For the merged model.
Metadata without_split_keys(const Metadata& metadata) {
  Metadata result;
  for (int64_t i = 0; i < metadata.size(); ++i) {
    if (!metadata.key(i).starts_with("split.")) result.set(metadata.key(i), metadata.value(i));
  }
  return result;
}

// Parts are counted from 1 in names and from 0 in metadata.
std::string split_part_path(std::string_view prefix, int64_t index, int64_t count) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, index + 1, count);
}

// Nothing where the path does not have the name of this part.
std::optional<std::string> split_prefix(std::string_view path, const SplitPlace& place) {
  const std::string ending = split_part_path("", place.index, place.count);
  if (!path.ends_with(ending)) return std::nullopt;
  return std::string(path.substr(0, path.size() - ending.size()));
}

}  // namespace quern
