// Small ONNX models of several nodes, and forms of quantised operators that ONNX's own cases have
// not: translated, run on the reference and on cpu, compared with the values of ONNX's reference
// evaluator (onnx 1.23).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "formats/onnx/node_context.h"
#include "formats/onnx/onnx_importer.h"
#include "quern/op.h"
#include "support/graph_runner.h"

namespace quern::onnx {
namespace {

using Tensors = std::map<std::string, Tensor, std::less<>>;

template <class T>
Tensor tensor_of(DType dtype, std::initializer_list<int64_t> dims, std::vector<T> values) {
  return Tensor::from<T>(dtype, Shape::make(std::vector<int64_t>(dims)).value(), values).value();
}
Tensor f32(std::initializer_list<int64_t> dims, std::vector<float> values) {
  return tensor_of(DType::kF32, dims, std::move(values));
}
Tensor u8(std::initializer_list<int64_t> dims, std::vector<uint8_t> values) {
  return tensor_of(DType::kU8, dims, std::move(values));
}
Tensor i64(std::initializer_list<int64_t> dims, std::vector<int64_t> values) {
  return tensor_of(DType::kI64, dims, std::move(values));
}

// A model, built without a file. Inputs are bound when it runs; initializers are part of it.
class Model {
 public:
  Model() { model_.opsets[""] = 21; }
  Model& input(const std::string& name, Tensor value) {
    const auto dims = value.shape().dims();
    OnnxValue declared{name, number_of(value.dtype()), {}};
    declared.dims.emplace(dims.begin(), dims.end());
    model_.inputs.push_back(std::move(declared));
    inputs_.insert_or_assign(name, std::move(value));
    return *this;
  }
  Model& initializer(const std::string& name, const Tensor& value) {
    const auto dims = value.shape().dims();
    OnnxTensor tensor;
    tensor.name = name;
    tensor.data_type = number_of(value.dtype());
    tensor.dims.assign(dims.begin(), dims.end());
    tensor.tensor = value;
    model_.initializers.push_back(std::move(tensor));
    return *this;
  }
  Model& node(const std::string& op, std::vector<std::string> inputs, const std::string& output,
              std::vector<OnnxAttribute> attributes = {}) {
    OnnxNode node;
    node.name = output + "_node";
    node.op_type = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.attributes = std::move(attributes);
    model_.nodes.push_back(std::move(node));
    return *this;
  }
  Model& output(const std::string& name) {
    model_.outputs.push_back({name, 0, {}});
    return *this;
  }

  // "f32[2]: 1 2" of an output on both backends, which must agree; or the error of the import.
  std::string run(const std::string& output_name = "y") {
    if (model_.outputs.empty()) output(output_name);
    const auto graph = import_model(model_, builtin_ops());
    if (!graph) return graph.error().message;
    std::string text;
    for (const char* backend : {"reference", "cpu"}) {
      auto loaded = test::load_graph(*graph, {.backend = backend});
      if (!loaded) return loaded.error().message;
      Tensors arguments;
      for (const NodeId id : graph->inputs()) {
        const std::string& name = graph->node(id).name;
        arguments.emplace(name, inputs_.at(name));
      }
      const auto result = loaded->run(std::move(arguments));
      if (!result) return result.error().message;
      const std::string found = shown(*result->find(output_name));
      EXPECT_TRUE(text.empty() || text == found) << text << " on reference, on cpu " << found;
      text = found;
    }
    return text;
  }

 private:
  static int32_t number_of(DType dtype) {
    // onnx.proto's numbers of what these models use.
    switch (dtype) {
      case DType::kU8:
        return 2;
      case DType::kI64:
        return 7;
      default:
        return 1;
    }
  }
  static std::string shown(const Tensor& tensor) {
    std::string text = std::string(dtype_name(tensor.dtype())) + tensor.shape().to_string() + ":";
    const std::vector<double> numbers = numbers_of(tensor).value();
    for (const double number : numbers) text += fmt::format(" {}", number);
    return text;
  }

  OnnxModel model_;
  Tensors inputs_;
};

OnnxAttribute ints(const std::string& name, std::vector<int64_t> values) {
  OnnxAttribute attribute;
  attribute.name = name;
  attribute.type = OnnxAttribute::Type::kInts;
  attribute.integers = std::move(values);
  return attribute;
}
OnnxAttribute integer(const std::string& name, int64_t value) {
  OnnxAttribute attribute;
  attribute.name = name;
  attribute.type = OnnxAttribute::Type::kInt;
  attribute.integer = value;
  return attribute;
}
OnnxAttribute value_of(const Tensor& value) {
  OnnxAttribute attribute;
  attribute.name = "value";
  attribute.type = OnnxAttribute::Type::kTensor;
  const auto dims = value.shape().dims();
  attribute.tensor.dims.assign(dims.begin(), dims.end());
  attribute.tensor.tensor = value;
  return attribute;
}

// Results that are known when the model is read ---------------------------------------------------

// Each operator whose result follows from shapes and constants feeds one that needs it now.
TEST(OnnxGraph, ResultsOfConstantsAndShapesAreKnown) {
  const Tensor x = f32({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(Model()
                .input("x", x)
                .input("b", f32({3, 2}, std::vector<float>(6)))
                .node("Shape", {"b"}, "s")
                .node("Reshape", {"x", "s"}, "y")
                .run(),
            "f32[3, 2]: 0 1 2 3 4 5");
  EXPECT_EQ(Model()
                .input("x", x)
                .node("Constant", {}, "s", {value_of(i64({2}, {3, -1}))})
                .node("Reshape", {"x", "s"}, "y")
                .run(),
            "f32[3, 2]: 0 1 2 3 4 5");
  EXPECT_EQ(Model()
                .input("x", x)
                .node("Constant", {}, "b", {ints("value_ints", {1})})
                .node("Constant", {}, "e", {ints("value_ints", {3})})
                .node("Slice", {"x", "b", "e", "b"}, "y")
                .run(),
            "f32[2, 2]: 1 2 4 5");
  EXPECT_EQ(Model()
                .input("v", f32({2}, {1, 2}))
                .node("Constant", {}, "n", {ints("value_ints", {3})})
                .node("ConstantOfShape", {"n"}, "s", {value_of(i64({1}, {2}))})
                .node("Expand", {"v", "s"}, "y")
                .run(),
            "f32[2, 2, 2]: 1 2 1 2 1 2 1 2");
}

// Size, then Range over it, then Slice at its numbers.
TEST(OnnxGraph, KnownResultsFeedEachOther) {
  std::vector<float> square(36);
  for (size_t i = 0; i < square.size(); ++i) square[i] = static_cast<float>(i);
  const auto model = [&] {
    return Model()
        .input("x", f32({2, 3}, {0, 1, 2, 3, 4, 5}))
        .input("square", f32({6, 6}, square))
        .initializer("ends", i64({2}, {2, 6}))
        .node("Size", {"x"}, "n")
        .node("Constant", {}, "zero", {integer("value_int", 0)})
        .node("Constant", {}, "four", {integer("value_int", 4)})
        .node("Range", {"zero", "n", "four"}, "r")
        .node("Slice", {"square", "r", "ends"}, "y");
  };
  EXPECT_EQ(model().run(), "f32[2, 2]: 4 5 10 11");
  // As results of the model they are constants.
  EXPECT_EQ(model().run("n"), "i64[]: 6");
  EXPECT_EQ(model().run("r"), "i64[2]: 0 4");
}

// A value that is known can be computed with as well.
TEST(OnnxGraph, KnownResultsAreValuesToo) {
  EXPECT_EQ(Model()
                .input("x", f32({2}, {1, 2}))
                .node("Constant", {}, "c", {value_of(f32({2}, {0.5, -8}))})
                .node("Add", {"x", "c"}, "y")
                .run(),
            "f32[2]: 1.5 -6");
  // The second output in rank 1, from the end, and a range of axes that holds none.
  EXPECT_EQ(Model()
                .input("x", f32({2, 3}, {0, 1, 2, 3, 4, 5}))
                .node("Shape", {"x"}, "y", {integer("start", -1)})
                .run(),
            "i64[1]: 3");
  EXPECT_EQ(Model()
                .input("x", f32({2, 3}, {0, 1, 2, 3, 4, 5}))
                .node("Shape", {"x"}, "y", {integer("start", 1), integer("end", 0)})
                .run(),
            "i64[0]:");
  // Too long for a list of arguments: one number, broadcast.
  EXPECT_EQ(Model()
                .initializer("s", i64({2}, {2, 4096}))
                .node("ConstantOfShape", {"s"}, "c", {value_of(f32({1}, {1}))})
                .node("ReduceSum", {"c"}, "y", {integer("keepdims", 0)})
                .run(),
            "f32[]: 8192");
}

// What a node computes of values is not known, nor is an input that passes through.
TEST(OnnxGraph, ComputedValuesAreNotKnown) {
  EXPECT_EQ(Model()
                .input("x", f32({2, 3}, {0, 1, 2, 3, 4, 5}))
                .input("n", i64({1}, {6}))
                .node("Abs", {"n"}, "s")
                .node("Reshape", {"x", "s"}, "y")
                .run(),
            "Node 'y_node' (Reshape): Input 's' of Reshape must be known when the model is read.");
  EXPECT_EQ(Model().input("y", f32({1}, {1})).run(),
            "Output 'y' is not computed by this translation.");
}

// A fraction is no extent: it was once cut off.
TEST(OnnxGraph, ArgumentsMustBeWholeNumbers) {
  const auto reshaped = [](float extent) {
    return Model()
        .input("x", f32({2}, {1, 2}))
        .initializer("s", f32({1}, {extent}))
        .node("Reshape", {"x", "s"}, "y")
        .run();
  };
  EXPECT_EQ(reshaped(2), "f32[2]: 1 2");
  EXPECT_EQ(reshaped(2.5F), "Node 'y_node' (Reshape): 2.5 is not an integer.");
  EXPECT_EQ(reshaped(-0.5F), "Node 'y_node' (Reshape): -0.5 is not an integer.");
  EXPECT_EQ(reshaped(1e16F), "Node 'y_node' (Reshape): 1.0000000272564224e+16 is not an integer.");
  EXPECT_EQ(reshaped(std::nanf("")), "Node 'y_node' (Reshape): nan is not an integer.");
}

// Quantised products ------------------------------------------------------------------------------

// [K] x [K, N]: a vector has no rows, but it has a zero point.
TEST(OnnxGraph, VectorsHaveAZeroPoint) {
  const Tensor a = u8({3}, {1, 2, 3}), b = u8({3, 2}, {1, 2, 3, 4, 5, 250});
  for (const Tensor& zero : {u8({}, {2}), u8({1}, {2})}) {
    EXPECT_EQ(Model()
                  .input("a", a)
                  .input("b", b)
                  .input("z", zero)
                  .node("MatMulInteger", {"a", "b", "z"}, "y")
                  .run(),
              "i32[2]: 4 248");
  }
  EXPECT_EQ(Model()
                .input("a", b)
                .input("b", u8({2}, {4, 7}))
                .input("z", u8({}, {5}))
                .node("MatMulInteger", {"a", "b", "", "z"}, "y")
                .run(),
            "i32[3]: 3 5 495");
}

// Several zero points are those of rows of a, of columns of b; a vector has neither.
TEST(OnnxGraph, ZeroPointsMustFit) {
  const auto product = [](const Tensor& a, const Tensor& zero) {
    return Model()
        .input("a", a)
        .input("b", u8({2, 2}, {1, 0, 0, 1}))
        .input("z", zero)
        .node("MatMulInteger", {"a", "b", "z"}, "y")
        .run();
  };
  const Tensor rows = u8({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(product(rows, u8({3}, {1, 2, 3})), "i32[3, 2]: 0 1 1 2 2 3");
  EXPECT_EQ(product(rows, u8({3, 1}, {1, 2, 3})), "i32[3, 2]: 0 1 1 2 2 3");
  EXPECT_EQ(product(rows, u8({2}, {1, 2})),
            "Node 'y_node' (MatMulInteger): A scale or zero point of shape [2] does not fit shape "
            "[3, 2].");
  // One row, which three zero points would have made three.
  EXPECT_EQ(product(u8({1, 2}, {1, 2}), u8({3}, {1, 2, 3})),
            "Node 'y_node' (MatMulInteger): A scale or zero point of shape [3] does not fit shape "
            "[1, 2].");
  EXPECT_EQ(product(u8({2}, {1, 2}), u8({2}, {1, 2})),
            "Node 'y_node' (MatMulInteger): A scale or zero point of shape [2] does not fit shape "
            "[2].");
}

// round(a_scale * b_scale / y_scale * product) + y_zero, by the formula in NumPy: scales of a go
// along the rows of the product, those of b along its columns.
TEST(OnnxGraph, ScalesOfRowsAndColumns) {
  const auto product = [](const Tensor& a, const Tensor& a_scale, const Tensor& a_zero,
                          const Tensor& b, const Tensor& b_scale, const Tensor& b_zero,
                          float y_scale) {
    return Model()
        .input("a", a)
        .input("as", a_scale)
        .input("az", a_zero)
        .input("b", b)
        .input("bs", b_scale)
        .input("bz", b_zero)
        .input("ys", f32({}, {y_scale}))
        .input("yz", u8({}, {3}))
        .node("QLinearMatMul", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"}, "y")
        .run();
  };
  const Tensor rows = u8({2, 3}, {1, 2, 3, 4, 5, 6}), columns = u8({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor vector = u8({3}, {1, 2, 3});
  const Tensor row_scales = f32({2}, {0.5, 0.25}), row_zeros = u8({2}, {1, 2});
  const Tensor column_scales = f32({2}, {1, 2}), column_zeros = u8({2}, {1, 2});
  EXPECT_EQ(product(rows, row_scales, row_zeros, columns, column_scales, column_zeros, 0.125F),
            "u8[2, 2]: 43 83 47 91");
  EXPECT_EQ(
      product(vector, f32({}, {0.5}), u8({}, {1}), columns, column_scales, column_zeros, 0.25F),
      "u8[2]: 23 43");
  EXPECT_EQ(product(rows, row_scales, row_zeros, vector, f32({}, {1}), u8({}, {1}), 0.25F),
            "u8[2]: 13 14");
}

// Resampling --------------------------------------------------------------------------------------

// The scale is checked before a size is made of it.
TEST(OnnxGraph, ScalesOfResizeHaveARange) {
  const auto resized = [](float scale) {
    return Model()
        .input("x", f32({1, 2}, {1, 2}))
        .initializer("s", f32({2}, {1, scale}))
        .node("Resize", {"x", "", "s"}, "y")
        .run();
  };
  EXPECT_EQ(resized(2), "f32[1, 4]: 1 1 2 2");
  EXPECT_EQ(resized(std::nanf("")), "Node 'y_node' (Resize): Resize has the scale nan.");
  EXPECT_EQ(resized(std::numeric_limits<float>::infinity()),
            "Node 'y_node' (Resize): Resize has the scale inf.");
  EXPECT_EQ(resized(-1), "Node 'y_node' (Resize): Resize has the scale -1.");
  EXPECT_EQ(resized(0), "Node 'y_node' (Resize): Resize has the scale 0.");
  EXPECT_EQ(resized(1e6F), "Node 'y_node' (Resize): Resize has the scale 1000000.");
}

}  // namespace
}  // namespace quern::onnx
