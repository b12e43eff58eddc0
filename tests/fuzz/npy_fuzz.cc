// libFuzzer target of the .npy reader. Build with the preset `fuzz`; run
//   npy_fuzz -rss_limit_mb=512 -timeout=5 CORPUS [SEEDS...]
// Any small .npy files are good seeds.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "formats/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto array = quern::parse_npy(std::as_bytes(std::span(data, size)), nullptr);
  if (!array) return 0;
  const auto bytes = array->tensor.read();
  // Sizes of header and data agree in whatever was accepted.
  QUERN_CHECK(bytes && static_cast<int64_t>(bytes->size()) == array->tensor.size_bytes());
  return 0;
}
