// Graphs written in YAML. The format is described in docs/manifest.md.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/manifest/manifest_files.h"
#include "formats/manifest/manifest_places.h"
#include "quern/graph.h"

namespace quern {

// What whoever reads a manifest may change.
struct ManifestOptions {
  std::map<std::string, std::string> variables = {};  // "model.layers" to "4": other values
};

// A manifest that was read. A plain value.
struct Manifest {
  std::string name;
  Graph graph;
  std::vector<std::string> weight_files;  // paths that can be opened
  ManifestPlaces places;                  // for errors of what is done with the graph
};

// Reads a manifest and the files it includes. Nodes keep their ids as names, ports their names.
// Node order is the manifest's where that is possible. Errors: kInvalidArgument and kNotFound, with
// file and line: see docs/manifest.md.
Result<Manifest> read_manifest(const std::string& path, const OpRegistry& registry,
                               const ManifestOptions& options = {});
// The same from memory; `file_name` is for errors, `load` reads included files. `weight_files` are
// as written.
Result<Manifest> parse_manifest(std::string_view text, std::string_view file_name,
                                const manifest::FileLoader& load, const OpRegistry& registry,
                                const ManifestOptions& options = {});

// The graph as a manifest; reading it gives the same graph back, names and order included.
// Errors: kInvalidArgument for a layout other than row-major.
Result<std::string> print_manifest(const Graph& graph, std::string_view name = {});

}  // namespace quern
