// The graph that a command works on: of a model file, a manifest, or in the text form of the IR.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "cli/engine_flags.h"
#include "generate/model_files.h"

namespace quern::cli {

// A graph, and the model files where it comes from one.
struct GraphSource {
  std::string path;
  std::optional<ModelFiles> files;  // of a model file
  std::optional<Graph> text;        // of a manifest or a file with a graph's text

  // One of the two is there: open_graph_source() gives nothing else.
  const Graph& graph() const { return files ? files->model.graph : *text; }
  // A line for people: what it is.
  std::string description() const;
};

// Reads flags.model: a GGUF file is a model (with the adapters and overrides of the flags), .yaml a
// manifest, anything else must be a graph's text. Weights are not read.
// Errors name the path.
Result<GraphSource> open_graph_source(const EngineFlags& flags);

// The letters of its symbolic extents.
std::set<char> symbols_of(const Graph& graph);

// Values for the symbols of `graph`: those given as "T=4", else `fallback`.
// Errors: a text that is no binding of a letter to a number of 0 or more; a letter that is no
// symbol of the graph, with those that are.
Result<SymbolValues> bind_symbols(const Graph& graph, const std::vector<std::string>& bindings,
                                  int64_t fallback);

}  // namespace quern::cli
