// Model files by their magic, manifests by their names, graphs by their text.
// Commands that look at graphs take any of them.
#include "cli/graph_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <fstream>
#include <set>

#include "base/fail.h"
#include "cli/text_file.h"
#include "formats/manifest/manifest.h"
#include "quern/op.h"

namespace quern::cli {
namespace {

// By the first four bytes, whatever the name says.
bool is_model_file(const std::string& path) {
  char magic[4] = {};
  // A file that cannot be read has no magic; the branch that reads it as text reports it.
  std::ifstream(path, std::ios::binary).read(magic, sizeof(magic));
  return std::string_view(magic, sizeof(magic)) == "GGUF";
}

}  // namespace

// Of all values; none has another one than the inputs that it is made of.
std::set<char> symbols_of(const Graph& graph) {
  std::set<char> symbols;
  for (const Value& value : graph.values()) {
    for (const Dim& dim : value.type.dims) {
      if (!dim.is_constant()) symbols.insert(dim.symbol);
    }
  }
  return symbols;
}

// For the head of reports.
std::string GraphSource::description() const {
  if (!files) return fmt::format("{}: a graph of {} nodes", path, graph().nodes().size());
  const LanguageModel& model = files->model;
  return fmt::format("{}: {}, {} parameters, {} activations", path, model.architecture,
                     model.num_parameters, activations_name(model.activations));
}

// Errors name the file.
Result<GraphSource> open_graph_source(const EngineFlags& flags) {
  GraphSource source{.path = flags.model, .files = {}, .text = {}};
  const auto load = [&]() -> Result<void> {
    if (is_model_file(flags.model)) {
      QUERN_ASSIGN_OR_RETURN(source.files, flags.open_files());
      return {};
    }
    if (flags.model.ends_with(".yaml") || flags.model.ends_with(".yml")) {
      // With the manifest's own values of its variables.
      QUERN_ASSIGN_OR_RETURN(Manifest manifest, read_manifest(flags.model, builtin_ops()));
      source.text = std::move(manifest.graph);
      return {};
    }
    QUERN_ASSIGN_OR_RETURN(const std::string text, read_text_file(flags.model));
    QUERN_ASSIGN_OR_RETURN(source.text, parse_graph(text, builtin_ops()));
    return {};
  };
  if (auto loaded = load(); !loaded) {
    return tl::unexpected(
        loaded.error().with_context(fmt::format("While loading '{}'", flags.model)));
  }
  return source;
}

// All symbols have a value afterwards; the last binding of a letter counts.
Result<SymbolValues> bind_symbols(const Graph& graph, const std::vector<std::string>& bindings,
                                  int64_t fallback) {
  const std::set<char> known = symbols_of(graph);
  SymbolValues symbols;
  // A graph may use any letter, and an unbound one would have no size.
  for (char symbol = 'A'; symbol <= 'Z'; ++symbol) symbols.set(symbol, fallback);
  for (const std::string& binding : bindings) {
    int64_t value = -1;
    const bool is_letter = binding.size() > 2 && binding[0] >= 'A' && binding[0] <= 'Z';
    if (is_letter && binding[1] == '=') {
      const char* end = binding.data() + binding.size();
      const auto parsed = std::from_chars(binding.data() + 2, end, value);
      // from_chars() takes a sign; a negative extent is refused with the rest.
      if (parsed.ec != std::errc{} || parsed.ptr != end) value = -1;
    }
    if (value < 0) return fail::invalid("--bind {} is no binding such as T=4.", binding);
    if (!known.contains(binding[0])) {
      return fail::invalid("--bind {}: the graph has no symbol {}; it has {}.", binding, binding[0],
                           known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
    }
    symbols.set(binding[0], value);
  }
  return symbols;
}

}  // namespace quern::cli
