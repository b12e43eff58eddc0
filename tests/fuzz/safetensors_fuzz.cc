// libFuzzer target of the safetensors reader. Build with the preset `fuzz`; run
//   safetensors_fuzz -rss_limit_mb=512 -timeout=5 CORPUS [tests/data/safetensors]
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = quern::SafetensorsFile::parse(std::as_bytes(std::span(data, size)), nullptr);
  if (!file) return 0;
  // What was accepted can be read in full, with the type that the list promises.
  for (const quern::WeightInfo& info : (*file)->list()) {
    const auto tensor = (*file)->weight(info.name);
    QUERN_CHECK(tensor && tensor->dtype() == info.dtype && tensor->shape() == info.shape);
    const auto bytes = tensor->read();
    QUERN_CHECK(bytes && static_cast<int64_t>(bytes->size()) == tensor->size_bytes());
  }
  return 0;
}
