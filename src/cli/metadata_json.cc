// One element or an array.
// JSON has fewer types than GGUF: all integers are one, all floats another.
#include "cli/metadata_json.h"

#include <fmt/core.h>

namespace quern::cli {
namespace {

// Element i, which exists and has the value's type: the look-ups cannot fail.
nlohmann::ordered_json element(const MetadataValue& value, int64_t i) {
  switch (value.type()) {
    case MetadataType::kString:
      return std::string(*value.text_at(i));
    case MetadataType::kBool:
      return *value.bool_at(i);
    case MetadataType::kFloat32:
    case MetadataType::kFloat64:
      return *value.number_at(i);
    default:
      break;
  }
  const auto integer = value.integer_at(i);
  // Unsigned values past 2^63 do not fit an integer here.
  // As a float, which loses low bits; JSON readers do so as well past 2^53.
  return integer ? nlohmann::ordered_json(*integer) : nlohmann::ordered_json(*value.number_at(i));
}

}  // namespace

// Long arrays are cut for people; programs ask for all.
nlohmann::ordered_json metadata_to_json(const MetadataValue& value, int64_t limit) {
  if (!value.is_array()) return element(value, 0);
  auto array = nlohmann::ordered_json::array();
  for (int64_t i = 0; i < std::min(limit, value.size()); ++i) array.push_back(element(value, i));
  if (value.size() > limit) array.push_back(fmt::format("... {} in all", value.size()));
  return array;
}

}  // namespace quern::cli
