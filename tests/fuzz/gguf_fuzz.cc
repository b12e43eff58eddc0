// libFuzzer target of the GGUF reader. Build with the preset `fuzz`; run
//   gguf_fuzz -rss_limit_mb=512 -timeout=5 CORPUS [SEEDS...]
// Good seeds are small whole files and the malformed ones of the suites: gguf_malformed, and the
// model files of stories260k and tiny_models cut to their first 4 KiB.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/exercise_gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  quern::test::exercise_gguf(std::as_bytes(std::span(data, size)));
  return 0;
}
