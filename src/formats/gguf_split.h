// Models split over several GGUF files: names of the files and the keys that number them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/metadata.h"

namespace quern {

// What a file says of its place in a set. Absent keys mean a whole model, and so does a count of 0,
// which tools that merge parts leave behind.
struct SplitPlace {
  int64_t index = 0;                   // split.no, from 0
  int64_t count = 1;                   // split.count
  std::optional<int64_t> num_tensors;  // split.tensors.count, of the whole set
};

inline constexpr int64_t kMaxSplitParts = 99999;  // names have five digits

// Errors: kInvalidArgument for a count outside 0 to kMaxSplitParts, an index outside the count.
Result<SplitPlace> read_split_place(const Metadata& metadata);
// Adds the keys of a part, with the widths that other tools read: u16, u16 and i32.
// Errors: kInvalidArgument for a number that is negative or does not fit; nothing is set then.
Result<void> set_split_place(Metadata& metadata, const SplitPlace& place);
// Everything but the keys of a part.
Metadata without_split_keys(const Metadata& metadata);

// "prefix-00001-of-00003.gguf" for index 0.
std::string split_part_path(std::string_view prefix, int64_t index, int64_t count);
// The prefix of a path that is named like this part; nothing for other names.
std::optional<std::string> split_prefix(std::string_view path, const SplitPlace& place);

}  // namespace quern
