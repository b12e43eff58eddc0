// What the translation of one ONNX node sees: its inputs, its attributes and the graph.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/onnx/onnx_model.h"
#include "formats/onnx/tensor_algebra.h"

namespace quern::onnx {

// Values that are known when a model is read: initializers, what the caller knows of inputs, and
// the results of nodes that hold a constant or ask for a shape. Shapes and axes must be among them.
using KnownTensors = std::map<std::string, Tensor, std::less<>>;
// The graph's value for each name of the model, so far, and the model's inputs that nothing has
// read yet: they become inputs of the graph when something does.
struct ValueNames {
  // Values by the names of the model.
  std::map<std::string, ValueId, std::less<>> values;
  std::map<std::string, TensorType, std::less<>> pending;
  std::map<std::string, int32_t, std::less<>> data_types;  // of inputs, as ONNX numbers them
};

// Integers of any plain dtype: i64 as they are, others exact up to 2^53.
// Errors: kInvalidArgument for numbers that are not whole, and for those past 2^53.
Result<std::vector<int64_t>> integers_of(const Tensor& tensor);
// All elements as floats of 64 bits.
Result<std::vector<double>> numbers_of(const Tensor& tensor);
// The tensor as a constant of the graph. Errors stay in the builder.
ValueId constant_of(TensorAlgebra& algebra, const Tensor& tensor);

// Lives as long as one node is translated.
class NodeContext {
 public:
  // Borrows everything. For one node.
  NodeContext(const OnnxNode& node, int64_t opset, TensorAlgebra& algebra, ValueNames& names,
              KnownTensors& known)
      : node_(node), opset_(opset), algebra_(algebra), names_(names), known_(known) {}

  // What the model says.
  const OnnxNode& node() const { return node_; }
  int64_t opset() const { return opset_; }  // of the node's domain
  TensorAlgebra& g() { return algebra_; }

  size_t num_inputs() const { return node_.inputs.size(); }
  bool has(size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  // The value of an input; kNoValue for an absent one. A known tensor becomes a constant.
  ValueId in(size_t i);
  // Every input, absent ones as kNoValue.
  std::vector<ValueId> all_inputs();
  // The ONNX type that the model declares for an input; 0 where it declares none. It tells bools
  // from other u8.
  int32_t data_type(size_t i) const;
  // An input whose values must be known now. Errors: kUnimplemented where they are not.
  Result<std::vector<int64_t>> ints(size_t i);
  // Values that must be known while the graph is built: shapes, axes, limits.
  Result<std::vector<double>> numbers(size_t i);
  Result<int64_t> known_int(size_t i);
  Result<double> known_number(size_t i);

  // Attributes; the fallback holds where there is none.
  bool has_attribute(std::string_view name) const { return node_.find(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t fallback) const;
  double number(std::string_view name, double fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> fallback = {}) const;
  // An axis attribute, counted from the front.
  Result<int64_t> axis(std::string_view name, int64_t fallback, int64_t rank) const;

  // Whether the model names the output.
  bool wants(size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }
  void out(size_t i, ValueId value);
  // An output that is known now: ints() and numbers() of later nodes can read it, and it is a
  // constant of the graph where a node wants it as a value.
  void out_known(size_t i, Tensor tensor);
  // The same from numbers in row-major order, which round to the dtype, and from i64.
  // Errors: kInvalidArgument for extents that no tensor has, and for another count.
  Result<void> out_numbers(size_t i, DType dtype, const Dims& dims, std::span<const double> values);
  Result<void> out_integers(size_t i, const Dims& dims, std::span<const int64_t> values);
  // Ends a translation: the error of the graph so far, if there is one.
  Result<void> done() { return finish(); }

 private:
  Result<void> finish();
  Result<Tensor> known(size_t i);

  // All outlive the context.
  const OnnxNode& node_;
  int64_t opset_;
  TensorAlgebra& algebra_;
  ValueNames& names_;
  KnownTensors& known_;
};

// An axis counted from the front. Errors: kInvalidArgument outside [-rank, rank).
Result<int64_t> normal_axis(int64_t axis, int64_t rank);

// Translates the nodes of one operator.
struct OpMapper {
  // A row of the tables: an operator and what builds it.
  std::string_view op_type;
  Result<void> (*map)(NodeContext& context);
  std::string_view domain = "";
};

// One list for each family of operators; op_mappers.cc joins them.
std::span<const OpMapper> elementwise_mappers();
// The tables, each in the file of its name.
std::span<const OpMapper> logic_mappers();
std::span<const OpMapper> reduction_mappers();
std::span<const OpMapper> shape_mappers();
std::span<const OpMapper> index_mappers();
std::span<const OpMapper> window_mappers();
std::span<const OpMapper> norm_mappers();
std::span<const OpMapper> attention_mappers();
std::span<const OpMapper> quantization_mappers();
std::span<const OpMapper> resampling_mappers();
std::span<const OpMapper> signal_mappers();
std::span<const OpMapper> training_mappers();

// Null for an operator without an equivalent.
const OpMapper* find_mapper(std::string_view domain, std::string_view op_type);
// A sentence on an operator that find_mapper() does not know.
std::string why_without_equivalent(std::string_view op_type);

}  // namespace quern::onnx
