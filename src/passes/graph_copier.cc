// Node-by-node copying.
#include "passes/graph_copier.h"

namespace quern {

GraphCopier::GraphCopier(const Graph& source)
    : source_(source), builder_(source.registry()), map_(source.values().size(), kNoValue) {
  for (const StateDecl& state : source.states()) builder_.state(state);
}

ValueId GraphCopier::mapped(ValueId source) const {
  return source == kNoValue ? kNoValue : map_[static_cast<size_t>(source)];
}

std::vector<ValueId> GraphCopier::mapped_inputs(const Node& node) const {
  std::vector<ValueId> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(mapped(input));
  return inputs;
}

void GraphCopier::copy(const Node& node) {
  builder_.add(node.op->id, mapped_inputs(node), node.attributes, node.name);
  const auto outputs = builder_.last_outputs();
  for (size_t i = 0; i < outputs.size(); ++i) replace(node.outputs[i], outputs[i]);
}

void GraphCopier::replace(ValueId source, ValueId replacement) {
  map_[static_cast<size_t>(source)] = replacement;
}

Result<Graph> GraphCopier::finish() {
  for (const GraphOutput& output : source_.outputs()) {
    builder_.output(output.name, mapped(output.value));
  }
  return builder_.finish();
}

}  // namespace quern
