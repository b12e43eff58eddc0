// Graphs that bring the inputs of a case to its operation in different ways.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conformance/case_pattern.h"
#include "quern/tensor.h"
#include "quern/weight_source.h"

namespace quern {

// All variants give the operation the same values; a backend may not tell them apart by its bits.
enum class GraphVariant {
  kPlain,       // every input is an input of the graph
  kCopied,      // each passes through a copy, which the operation may overwrite
  kTransposed,  // each of rank 2 and more comes with its last two axes swapped
  kBroadcast,   // each of rank 2 and more comes as its first row, which is repeated
  kWeights,     // the ports weight and bias come from the weight source
};
// "plain", "in place", "transposed", "broadcast", "weights".
std::string_view graph_variant_name(GraphVariant variant);

// Weights in memory.
class CaseWeights final : public WeightSource {
 public:
  void add(std::string name, Tensor tensor) {
    tensors_.insert_or_assign(std::move(name), std::move(tensor));
  }
  std::vector<WeightInfo> list() const override;
  Result<WeightInfo> info(std::string_view name) const override;
  Result<Tensor> weight(std::string_view name) const override;

 private:
  std::map<std::string, Tensor, std::less<>> tensors_;
};

// What a device runs. Inputs "0", "1", ... are the ports; the outputs have the operation's names.
struct CaseGraph {
  Graph graph;
  std::map<std::string, Tensor, std::less<>> inputs;
  CaseWeights weights;
};

// Nothing where the variant would be the plain graph.
// Errors: what the type rule says of these inputs.
Result<std::optional<CaseGraph>> make_case_graph(const CasePattern& pattern,
                                                 const std::vector<Tensor>& inputs,
                                                 GraphVariant variant);

}  // namespace quern
