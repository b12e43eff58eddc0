// Metadata values as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "formats/metadata_value.h"

namespace quern::cli {

// Arrays longer than `limit` show their first elements and their length.
nlohmann::ordered_json metadata_to_json(const MetadataValue& value, int64_t limit);

}  // namespace quern::cli
