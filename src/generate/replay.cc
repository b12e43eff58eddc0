// A divergent node as files.
// One node with its inputs is small enough for a bug report, and runs by itself.
#include "generate/replay.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "formats/gguf_writer.h"
#include "formats/manifest/manifest.h"
#include "formats/safetensors.h"
#include "passes/extract_nodes.h"
#include "quern/op.h"

namespace quern {
namespace {

// A short name for the library's.
namespace fs = std::filesystem;

// The node, and before it the nodes that wrote what it reads of a state: the same state and layer.
std::vector<NodeId> nodes_to_replay(const Graph& graph, NodeId culprit) {
  std::vector<NodeId> nodes;
  const Node& node = graph.node(culprit);
  if (node.op->find_attribute("state") != nullptr) {
    // Writers behind the node cannot have changed what it read.
    for (NodeId id = 0; id < culprit; ++id) {
      const Node& other = graph.node(id);
      const bool shares_state = other.op->find_attribute("state") != nullptr &&
                                other.attributes.text("state") == node.attributes.text("state");
      const AttributeValue* layer = node.attributes.find("layer");
      const AttributeValue* other_layer = other.attributes.find("layer");
      // A node of another layer reads other rows of the store.
      const bool shares_layer = layer && other_layer && *layer == *other_layer;
      if (shares_state && shares_layer && other.op->effect == Effect::kStateWrite)
        nodes.push_back(id);
    }
  }
  nodes.push_back(culprit);
  return nodes;
}

// Replaces an older file.
Result<void> write_text(const std::string& path, std::string_view text) {
  QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  QUERN_TRY(file.write(text));
  return file.commit(Durability::kProcess);
}

// Those of the names that have a value.
Result<void> write_values(const std::string& path,
                          const std::map<std::string, Tensor, std::less<>>& values,
                          const std::vector<std::string>& names) {
  std::vector<NamedTensor> tensors;
  for (const std::string& name : names) {
    if (const auto it = values.find(name); it != values.end())
      tensors.push_back({name, it->second});
  }
  return write_safetensors(path, tensors);
}

// The weights that the graph names, in a file of their own; whether there are any.
Result<bool> write_weights(const std::string& path, const Graph& graph,
                           const WeightSource* weights) {
  std::vector<WeightInfo> infos;
  std::set<std::string> names;
  for (const Node& node : graph.nodes()) {
    // A tied weight is in the graph twice and in the file once.
    if (node.op->id != "graph.weight" || !names.insert(node.attributes.text("weight")).second)
      continue;
    QUERN_ASSIGN_OR_RETURN(WeightInfo info, weights->info(node.attributes.text("weight")));
    infos.push_back(std::move(info));
  }
  if (infos.empty()) return false;
  Metadata metadata;
  // The writer wants the key; nothing of a replay looks at it.
  metadata.set("general.architecture", MetadataValue::text("replay"));
  QUERN_ASSIGN_OR_RETURN(GgufWriter writer, GgufWriter::create(path, metadata, infos));
  for (const WeightInfo& info : infos) {
    QUERN_ASSIGN_OR_RETURN(const Tensor tensor, weights->weight(info.name));
    QUERN_TRY(writer.append(info.name, tensor));
  }
  // For files that the next run makes again.
  QUERN_TRY(writer.finish(Durability::kProcess));
  return true;
}

// In the order of the graph.
std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphOutput& output : graph.outputs()) names.push_back(output.name);
  return names;
}

}  // namespace

// For people; see replay.h.
std::string describe_divergence(const Graph& graph, const GraphComparison& comparison,
                                std::string_view device, std::string_view against) {
  const Divergence& first = *comparison.first;
  const TensorDifference& d = first.difference;
  const Node& node = graph.node(first.node);
  std::string text = fmt::format(
      "Node '{}' ({}) is the first that differs: value '{}' {}, element {} is {:.9g} on {} and "
      "{:.9g} "
      "on {}. {} of {} elements differ, by at most {:.4g} ({:.3g} of the largest value, {:.0f} "
      "ulp).",
      node.name, node.op->id, graph.value(first.value).name,
      graph.value(first.value).type.to_string(), element_position(first.shape, d.worst_index),
      d.worst_actual, device, d.worst_expected, against, d.num_different, d.num_elements,
      d.max_absolute, d.max_relative, d.max_ulp);
  if (node.op->find_attribute("state") != nullptr) {
    text += fmt::format(" It uses the state '{}'; nodes that write it have no values of their own.",
                        node.attributes.text("state"));
  }
  if (first.needs_whole_graph) {
    text +=
        " It differs only where the values around it are not kept: look at what the device makes "
        "of several nodes together.";
  }
  return text;
}

// A folder that a bug report can carry.
Result<void> save_replay(const std::string& folder, const Graph& graph,
                         const GraphComparison& comparison, const WeightSource* weights,
                         std::string_view device, std::string_view description) {
  // Devices that agree leave nothing to repeat.
  if (!comparison.first) return fail::precondition("There is no divergence to save.");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail::unavailable("'{}' cannot be made: {}.", folder, error.message());
  const auto path = [&](std::string_view name) { return (fs::path(folder) / name).string(); };
  QUERN_ASSIGN_OR_RETURN(const Graph part,
                         extract_nodes(graph, nodes_to_replay(graph, comparison.first->node)));
  QUERN_ASSIGN_OR_RETURN(const std::string manifest,
                         print_manifest(part, graph.node(comparison.first->node).name));
  QUERN_TRY(write_text(path("node.yaml"), manifest));
  std::vector<std::string> inputs;
  for (const NodeId id : part.inputs()) inputs.push_back(part.node(id).name);
  // Holds inputs and values: a value before the node is right on both sides.
  QUERN_TRY(write_values(path("inputs.safetensors"), comparison.expected, inputs));
  QUERN_ASSIGN_OR_RETURN(const bool has_weights,
                         write_weights(path("weights.gguf"), part, weights));
  const auto outputs = output_names(part);
  QUERN_TRY(write_values(path("expected.safetensors"), comparison.expected, outputs));
  QUERN_TRY(write_values(path("actual.safetensors"), comparison.actual, outputs));
  return write_text(
      path("README.txt"),
      fmt::format(
          "{}\n\nTo repeat it:\n  quern exec {} --inputs {}{} --device {} --outputs "
          "again.safetensors\n"
          "expected.safetensors and actual.safetensors hold what the two devices computed.\n",
          description, path("node.yaml"), path("inputs.safetensors"),
          has_weights ? " --weights " + path("weights.gguf") : "", device));
}

}  // namespace quern
