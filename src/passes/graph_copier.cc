// Node-by-node copying.
#include "passes/graph_copier.h"

#include <fmt/format.h>

#include "base/fail.h"

namespace quern {

GraphCopier::GraphCopier(const Graph& source) : source_(source), builder_(source.registry()) {}

// Begins the new graph with what was copied so far.
void GraphCopier::start() {
  // Everything visited before was copied as it is, so replaying it gives the same prefix.
  if (has_changed_) return;
  has_changed_ = true;
  map_.assign(source_.values().size(), kNoValue);
  // States carry no values: they come over whole, used or not.
  for (const StateDecl& state : source_.states()) builder_.state(state);
  for (size_t i = 0; i < num_visited_; ++i) append(source_.nodes()[i]);
}

// The value of the new graph that stands for one of the source.
ValueId GraphCopier::mapped(ValueId source) const {
  // Until a change the graph so far is the source, whose ids stand for themselves.
  if (source == kNoValue || !has_changed_) return source;
  return map_[static_cast<size_t>(source)];
}

// All inputs of a node in the new graph; absent ones stay absent.
std::vector<ValueId> GraphCopier::mapped_inputs(const Node& node) const {
  std::vector<ValueId> inputs;
  inputs.reserve(node.inputs.size());
  for (const ValueId input : node.inputs) inputs.push_back(mapped(input));
  return inputs;
}

// The rules run again only where an input has another type than in the source.
void GraphCopier::append(const Node& node) {
  const std::vector<ValueId> inputs = mapped_inputs(node);
  bool is_same = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    // An absent optional input has no type to compare.
    if (node.inputs[i] == kNoValue) continue;
    const TensorType* type = builder_.type(inputs[i]);
    is_same &= type != nullptr && *type == source_.value(node.inputs[i]).type;
  }
  if (is_same) {
    std::vector<TensorType> types;
    for (const ValueId output : node.outputs) types.push_back(source_.value(output).type);
    // The rules need not run: they are functions of types and attributes, and both are equal.
    builder_.add_known(node, inputs, std::move(types));
  } else {
    // A changed input type (a cast removed above, a symbol made known) can change the output's.
    builder_.add(node.op->id, inputs, node.attributes, node.name);
    builder_.set_device(node.device);
  }
  const auto outputs = builder_.last_outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    map_[static_cast<size_t>(node.outputs[i])] = outputs[i];
  }
}

// Copies the source's next node. As long as nothing has changed it only counts: finish() then
// returns the source itself.
void GraphCopier::copy(const Node& node) {
  // Passes may hand in a changed copy of the node, which is not a node of the source.
  const bool is_own =
      num_visited_ < source_.nodes().size() && &node == &source_.nodes()[num_visited_];
  if (!is_own) return emit(node, node.op->id, mapped_inputs(node), node.attributes);
  if (has_changed_) append(node);
  ++num_visited_;
}

// Leaves a node out; nobody may read its values any more.
void GraphCopier::drop(const Node&) {
  start();
  ++num_visited_;
}

// Lets the users of `node` read the results of `same`.
void GraphCopier::merge(const Node& node, const Node& same) {
  start();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    map_[static_cast<size_t>(node.outputs[i])] = mapped(same.outputs[i]);
  }
  ++num_visited_;
}

// Lets the users of a node's only result read another value.
void GraphCopier::replace(const Node& node, ValueId replacement) {
  start();
  map_[static_cast<size_t>(node.outputs[0])] = replacement;
  ++num_visited_;
}

// Adds another operation in place of the node, under its name and on its device. The rules infer
// the new types.
void GraphCopier::emit(const Node& node, std::string_view op, std::span<const ValueId> inputs,
                       Attributes attributes) {
  start();
  ++num_visited_;
  builder_.add(op, inputs, std::move(attributes), node.name);
  builder_.set_device(node.device);
  const auto outputs = builder_.last_outputs();
  // A replacement may have more outputs than the node, for later readers that it has not yet.
  for (size_t i = 0; i < outputs.size() && i < node.outputs.size(); ++i) {
    map_[static_cast<size_t>(node.outputs[i])] = outputs[i];
  }
}

// Adds a node that the source does not have, named after one near it.
ValueId GraphCopier::insert(const Node& near, std::string_view suffix, std::string_view op,
                            std::span<const ValueId> inputs, Attributes attributes) {
  start();
  const std::string name = fresh_name(fmt::format("{}.{}", near.name, suffix));
  const ValueId value = builder_.add(op, inputs, std::move(attributes), name);
  builder_.set_device(near.device);
  return value;
}

// Adds the nodes of a composite's expansion. They live in a scope of their own; the last one
// takes the name of the composite, which outputs and readers know.
Result<void> GraphCopier::expand(const Node& node) {
  start();
  ++num_visited_;
  Node mapped = node;
  // The expansion adds to the new graph, so that it must see the new ids.
  mapped.inputs = mapped_inputs(node);
  const size_t first = builder_.so_far().nodes().size();
  builder_.push_scope(fresh_name(node.name + ".expansion") + ".");
  const auto outputs = node.op->expand(builder_, mapped);
  builder_.pop_scope();
  if (!outputs) {
    // The rule of a part knows only the part; the user wrote the composite.
    return tl::unexpected(outputs.error().with_context(fmt::format("Node '{}'", node.name)));
  }
  for (size_t i = 0; i < outputs->size() && i < node.outputs.size(); ++i) {
    map_[static_cast<size_t>(node.outputs[i])] = (*outputs)[i];
  }
  // After an error of the builder there is nothing to place or name; finish() gives the error.
  if (builder_.has_error()) return {};
  builder_.place_from(first, node.device);
  // Of several outputs none is "the" node; their parts keep scoped names.
  if (outputs->size() != 1 || outputs->front() == kNoValue) return {};
  const NodeId last = builder_.so_far().value(outputs->front()).producer;
  // An expansion may give one of the node's inputs back: that node has a name already.
  if (static_cast<size_t>(last) >= first) builder_.rename(last, node.name);
  return {};
}

// A name that no node has: `base`, else `base2`, `base3` and so on.
std::string GraphCopier::fresh_name(std::string_view base) {
  // Filled on the first insert only: most passes never need it.
  if (names_.empty()) {
    for (const Node& node : source_.nodes()) names_.insert(node.name);
  }
  std::string name(base);
  // Deterministic, so that two compilations of one graph print alike.
  for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}{}", base, i);
  return name;
}

// The new graph with the outputs of the source; the source itself if nothing was changed.
Result<Graph> GraphCopier::finish() {
  if (!has_changed_) return source_;
  for (const GraphOutput& output : source_.outputs()) {
    builder_.output(output.name, mapped(output.value));
  }
  return builder_.finish();
}

}  // namespace quern
