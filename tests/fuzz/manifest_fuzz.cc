// libFuzzer target of manifests. Build with the preset `fuzz`; run
//   manifest_fuzz -rss_limit_mb=1024 -timeout=10 CORPUS [tests/data/manifest]
// Parts of the input that a zero byte divides are the manifest, a.yaml, b.yaml, ...
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "formats/manifest/manifest.h"
#include "quern/op.h"

namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find('\0');
    // At most eight parts; the rest of the input is unused.
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos || parts.size() == 8) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parts = split({reinterpret_cast<const char*>(data), size});
  // Files exist in the input alone: nothing of the disk is read.
  const auto load = [&](const std::string& path) -> quern::Result<std::string> {
    // "a.yaml" is part 1, behind the manifest. A path may be anything, empty too.
    const size_t index =
        path.size() == 6 && path.ends_with(".yaml") ? static_cast<uint8_t>(path[0] - 'a') + 1U : 0U;
    if (index == 0 || index >= parts.size()) {
      return quern::fail::not_found("There is no file '{}'.", path);
    }
    return parts[index];
  };
  const auto manifest = quern::parse_manifest(parts[0], "m.yaml", load, quern::builtin_ops());
  if (!manifest) return 0;
  // What was read prints, and what was printed reads back to the same graph.
  const auto text = quern::print_manifest(manifest->graph, "");
  if (!text) return 0;
  const auto back = quern::parse_manifest(*text, "m.yaml", load, quern::builtin_ops());
  QUERN_CHECK(back);
  QUERN_CHECK(quern::print_graph(back->graph) == quern::print_graph(manifest->graph));
  return 0;
}
