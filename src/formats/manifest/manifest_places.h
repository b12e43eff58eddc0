// Where a manifest declares what a later error names.
#pragma once

#include <map>
#include <string>

#include "formats/manifest/yaml_tree.h"
#include "quern/graph.h"

namespace quern {

// Places of a manifest's declarations, kept for errors that come up when the graph is compiled,
// loaded or run. A plain value.
struct ManifestPlaces {
  using Map = std::map<std::string, manifest::Place, std::less<>>;
  Map values;  // inputs, weights, constants and nodes, by id
  Map outputs;
  Map states;
  manifest::Place weight_files;  // of the section
};

// The error with "mlp.yaml:14" in front, the place of the first thing that its message names and
// the manifest declares: "Node 'h2' ...", "(node 'h2')", "Input 'x' ...", "weight 'w.0'" by the
// name in files, "output", "state". Nodes that the reader or a pass made for another one
// ("h2.cast.x") have its place. The error as it is where the message names nothing of the kind.
Error at_declaration(const ManifestPlaces& places, const Graph& graph, const Error& error);

}  // namespace quern
