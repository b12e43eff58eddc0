// Metadata values as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "formats/metadata_value.h"

namespace quern::cli {

// Numbers, texts and truth values as such; arrays longer than `limit` as their first elements and a
// text that tells their length. Unsigned numbers past 2^63 become floats. Texts are passed as they
// are, valid UTF-8 or not: the writer decides.
nlohmann::ordered_json metadata_to_json(const MetadataValue& value, int64_t limit);

}  // namespace quern::cli
