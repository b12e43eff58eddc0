// One node, and the nodes before it.
#include "conformance/case_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/fail.h"
#include "conformance/one_op.h"
#include "quern/graph_builder.h"

namespace quern {
namespace {

// What can be transposed: rank 2 or more, elements of whole bytes.
bool is_matrix(const Tensor& tensor) {
  return tensor.shape().rank() >= 2 && dtype_info(tensor.dtype()).block_size == 1;
}

// The tensor with its last two axes swapped.
Result<Tensor> swap_last_axes(const Tensor& tensor) {
  std::vector<int64_t> extents(tensor.shape().dims().begin(), tensor.shape().dims().end());
  const size_t rank = extents.size();
  std::swap(extents[rank - 1], extents[rank - 2]);
  QUERN_ASSIGN_OR_RETURN(const Shape shape, Shape::make(extents));
  QUERN_ASSIGN_OR_RETURN(Tensor swapped, Tensor::zeros(tensor.dtype(), shape));
  QUERN_ASSIGN_OR_RETURN(const auto from, tensor.host_view());
  QUERN_ASSIGN_OR_RETURN(const auto to, swapped.buffer().mutable_host_view());
  const auto size = static_cast<size_t>(dtype_info(tensor.dtype()).block_bytes);
  const auto rows = static_cast<size_t>(extents[rank - 1]),
             cols = static_cast<size_t>(extents[rank - 2]);
  // Element i stands at (r, c) of its matrix and goes to (c, r).
  for (size_t i = 0; i * size < from.size(); ++i) {
    const size_t matrix = i / (rows * cols), r = i % (rows * cols) / cols, c = i % cols;
    std::memcpy(to.data() + (matrix * rows * cols + c * rows + r) * size, from.data() + i * size,
                size);
  }
  return swapped;
}

// The first slab along the first axis, as a tensor of extent 1 there.
Result<Tensor> first_row(const Tensor& tensor) {
  std::vector<int64_t> extents(tensor.shape().dims().begin(), tensor.shape().dims().end());
  QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.host_view());
  const size_t size = bytes.size() / static_cast<size_t>(extents[0]);
  extents[0] = 1;
  QUERN_ASSIGN_OR_RETURN(const Shape shape, Shape::make(extents));
  return Tensor::from_bytes(tensor.dtype(), shape, bytes.subspan(0, size));
}

// Adds port `i` in the way of the variant and counts where it differs from the plain graph.
class PortBuilder {
 public:
  PortBuilder(GraphBuilder& builder, CaseGraph& made, GraphVariant variant)
      : builder_(builder), made_(made), variant_(variant) {}

  // The value that the operation reads at port `i`. Where the variant does not fit this tensor,
  // Counts nothing then, so that a graph without any change is told from one with some.
  // it is the input itself.
  Result<ValueId> add(size_t i, const std::string& port, const Tensor& tensor) {
    const std::string name = fmt::format("{}", i);
    switch (variant_) {
      case GraphVariant::kPlain:
        break;
      case GraphVariant::kCopied:
        if (!is_copyable(tensor)) break;
        ++num_changed_;
        // The slice makes a value that only the operation reads: one that it may compute into.
        return builder_.add("shape.slice", {input(name, tensor)});  // of everything: a copy
      case GraphVariant::kTransposed:
        if (is_matrix(tensor)) return transposed(name, tensor);
        break;
      case GraphVariant::kBroadcast:
        if (is_matrix(tensor) && tensor.shape()[0] > 1) return broadcast(name, tensor);
        break;
      case GraphVariant::kWeights:
        // The ports that models fill from files.
        if (port != "weight" && port != "bias") break;
        ++num_changed_;
        made_.weights.add(name, tensor);
        return builder_.weight(name, type_of(tensor));
    }
    return input(name, tensor);
  }
  int num_changed() const { return num_changed_; }

 private:
  static bool is_copyable(const Tensor& tensor) {
    return tensor.shape().rank() >= 1 && dtype_info(tensor.dtype()).block_size == 1;
  }
  ValueId input(const std::string& name, const Tensor& tensor) {
    made_.inputs.emplace(name, tensor);
    return builder_.input(name, type_of(tensor));
  }
  Result<ValueId> transposed(const std::string& name, const Tensor& tensor) {
    ++num_changed_;
    QUERN_ASSIGN_OR_RETURN(const Tensor swapped, swap_last_axes(tensor));
    // The input is stored swapped and swapped back, so that the values are those of the plain case.
    return builder_.add("shape.transpose", {input(name, swapped)},
                        {{"dim0", int64_t{-1}}, {"dim1", int64_t{-2}}});
  }
  Result<ValueId> broadcast(const std::string& name, const Tensor& tensor) {
    ++num_changed_;
    QUERN_ASSIGN_OR_RETURN(const Tensor row, first_row(tensor));
    const auto extents = tensor.shape().dims();
    return builder_.add("shape.broadcast", {input(name, row)},
                        {{"shape", std::vector<int64_t>(extents.begin(), extents.end())}});
  }

  GraphBuilder& builder_;
  CaseGraph& made_;
  GraphVariant variant_;
  int num_changed_ = 0;
};

}  // namespace

// The name in reports.
std::string_view graph_variant_name(GraphVariant variant) {
  switch (variant) {
    case GraphVariant::kPlain:
      return "plain";
    case GraphVariant::kCopied:
      return "in place";
    case GraphVariant::kTransposed:
      return "transposed";
    case GraphVariant::kBroadcast:
      return "broadcast";
    case GraphVariant::kWeights:
      return "weights";
  }
  return "unknown";
}

// Weights by name, as a weight source lists them.
std::vector<WeightInfo> CaseWeights::list() const {
  std::vector<WeightInfo> infos;
  for (const auto& [name, tensor] : tensors_) {
    infos.push_back({name, tensor.dtype(), tensor.shape()});
  }
  return infos;
}

Result<WeightInfo> CaseWeights::info(std::string_view name) const {
  QUERN_ASSIGN_OR_RETURN(const Tensor tensor, weight(name));
  return WeightInfo{std::string(name), tensor.dtype(), tensor.shape()};
}

Result<Tensor> CaseWeights::weight(std::string_view name) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) return fail::not_found("There is no weight '{}'.", name);
  return it->second;
}

// The graph of one node "op" with its outputs by their port names; nothing if the variant
// changes no input.
Result<std::optional<CaseGraph>> make_case_graph(const CasePattern& pattern,
                                                 const std::vector<Tensor>& inputs,
                                                 GraphVariant variant) {
  CaseGraph made;
  GraphBuilder builder(builtin_ops());
  PortBuilder ports(builder, made, variant);
  const std::vector<PortDef> defs = pattern.op->input_ports(pattern.attributes);
  std::vector<ValueId> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_empty()) {
      values.push_back(kNoValue);
      continue;
    }
    // A variadic port stands for all inputs from its place on.
    const std::string& port = defs[std::min(i, defs.size() - 1)].name;
    QUERN_ASSIGN_OR_RETURN(const ValueId value, ports.add(i, port, inputs[i]));
    values.push_back(value);
  }
  if (variant != GraphVariant::kPlain && ports.num_changed() == 0) return std::nullopt;
  builder.add(pattern.op->id, values, pattern.attributes, "op");
  const std::vector<ValueId> outputs(builder.last_outputs().begin(), builder.last_outputs().end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    builder.output(pattern.op->outputs[i].name, outputs[i]);
  }
  QUERN_ASSIGN_OR_RETURN(made.graph, builder.finish());
  return made;
}

}  // namespace quern
