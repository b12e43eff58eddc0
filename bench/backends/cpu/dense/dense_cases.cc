// The table of cases and the graphs behind their names.
#include "dense_cases.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <sstream>

#include "base/fail.h"
#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern::bench {
namespace {

// A case name cut at blanks: operation, dtype, sizes, options.
using Words = std::vector<std::string>;

// All extents constant: a bench has one size.
TensorType type_of(DType dtype, const Shape& shape) {
  TensorType type{dtype, {}};
  for (int axis = 0; axis < shape.rank(); ++axis) type.dims.push_back(Dim::constant(shape[axis]));
  return type;
}

// Normal numbers, or their magnitudes plus 0.01 where an operation needs positive ones.
// `seed` is the number of the input, so that a case has the same values in every program.
Tensor random_tensor(DType dtype, const Shape& shape, uint32_t seed, bool is_positive) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const bool is_complex = dtype == DType::kComplex64;
  std::vector<float> values(static_cast<size_t>(shape.num_elements() * (is_complex ? 2 : 1)));
  for (float& value : values) {
    value = normal(random);
    if (is_positive) value = std::abs(value) + 0.01f;
  }
  if (is_complex) {
    Tensor tensor = *Tensor::zeros(dtype, shape);
    (void)tensor.buffer().write(0, std::as_bytes(std::span(values)));
    return tensor;
  }
  if (dtype == DType::kF32) return *Tensor::from<float>(dtype, shape, values);
  if (dtype == DType::kF64) {
    return *Tensor::from<double>(dtype, shape, std::vector<double>(values.begin(), values.end()));
  }
  std::vector<uint16_t> narrow(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    // bf16 by cutting off the low half of f32: any value is as good as the rounded one.
    narrow[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(values[i]) >> 16);
  }
  Tensor tensor = *Tensor::zeros(dtype, shape);
  (void)tensor.buffer().write(0, std::as_bytes(std::span(narrow)));
  return tensor;
}

// Collects the inputs of a graph while it is built.
// Inputs are called "0", "1", ...: peers find them by these names.
class CaseBuilder {
 public:
  CaseBuilder() : builder_(builtin_ops()) {}

  ValueId input(DType dtype, const Shape& shape, bool is_positive = false) {
    const std::string name = std::to_string(made_.inputs.size());
    Tensor tensor =
        random_tensor(dtype, shape, static_cast<uint32_t>(made_.inputs.size()), is_positive);
    made_.read_bytes += tensor.buffer().size_bytes();
    made_.inputs.emplace(name, std::move(tensor));
    return builder_.input(name, type_of(dtype, shape));
  }
  ValueId add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return builder_.add(op, std::move(inputs), std::move(attributes));
  }
  Result<DenseCase> finish(ValueId y) {
    builder_.output("y", y);
    QUERN_ASSIGN_OR_RETURN(made_.graph, builder_.finish());
    const auto shape = made_.graph.value(y).type.resolve(SymbolValues{});
    if (shape) {
      made_.written_bytes = dense_size_bytes(made_.graph.value(y).type.dtype, *shape).value_or(0);
    }
    return std::move(made_);
  }
  DenseCase& made() { return made_; }

 private:
  GraphBuilder builder_;
  DenseCase made_;
};

// A case of another dtype has to be added here on purpose.
Result<DType> dtype_of(const std::string& word) {
  if (word == "f32") return DType::kF32;
  if (word == "f64") return DType::kF64;
  if (word == "bf16") return DType::kBF16;
  return fail::invalid("'{}' is no dtype of a case.", word);
}

// matmul DTYPE SIZE NUMERICS
Result<DenseCase> matmul_case(const Words& words) {
  CaseBuilder b;
  QUERN_ASSIGN_OR_RETURN(const DType dtype, dtype_of(words.at(1)));
  const int64_t n = std::stoll(words.at(2));
  b.made().numerics = find_numerics(words.at(3)).value_or(Numerics::kStrict);
  const ValueId left = b.input(dtype, {n, n}), right = b.input(dtype, {n, n});
  // A multiplication and an addition for each of n^3 terms.
  b.made().flops = 2.0 * static_cast<double>(n * n * n);
  return b.finish(b.add("math.matmul", {left, right}));
}

// Cases that need nothing but a name, an operation and operands of one shape.
// is_positive: log and sqrt of negative numbers are NaN, whose speed says nothing.
struct NamedOp {
  std::string_view name;
  std::string_view op;
  int operands;
  bool is_positive = false;
};
constexpr NamedOp kElementwise[] = {
    {"add", "math.add", 2},
    {"mul", "math.mul", 2},
    {"relu", "activation.relu", 1},
    {"exp", "math.exp", 1},
    {"log", "math.log", 1, true},
    {"tanh", "activation.tanh", 1},
    {"erf", "math.erf", 1},
    {"sigmoid", "activation.sigmoid", 1},
    {"sin", "math.sin", 1},
    {"cos", "math.cos", 1},
    {"gelu", "activation.gelu", 1},
    {"silu", "activation.swish", 1},
    {"sqrt", "elementwise.sqrt", 1, true},
};
constexpr NamedOp kRows[] = {
    {"softmax", "math.softmax", 1},    {"log_softmax", "activation.log_softmax", 1},
    {"rmsnorm", "math.rmsnorm", 1},    {"layernorm", "math.layernorm", 1},
    {"argmax", "reduction.argmax", 1},
};

template <size_t kCount>
const NamedOp* find_named(const NamedOp (&ops)[kCount], const std::string& name) {
  const auto found = std::ranges::find(ops, name, &NamedOp::name);
  return found == std::end(ops) ? nullptr : found;
}

// NAME DTYPE ELEMENTS
Result<DenseCase> elementwise_case(const NamedOp& op, const Words& words) {
  CaseBuilder b;
  QUERN_ASSIGN_OR_RETURN(const DType dtype, dtype_of(words.at(1)));
  std::vector<ValueId> operands;
  for (int i = 0; i < op.operands; ++i) {
    operands.push_back(b.input(dtype, {std::stoll(words.at(2))}, op.is_positive));
  }
  return b.finish(b.add(op.op, operands));
}

// muladdrelu DTYPE ELEMENTS: relu(a * b + c), three nodes that the pipeline makes one pass of.
Result<DenseCase> chain_case(const Words& words) {
  CaseBuilder b;
  QUERN_ASSIGN_OR_RETURN(const DType dtype, dtype_of(words.at(1)));
  const Shape shape{std::stoll(words.at(2))};
  const ValueId x = b.input(dtype, shape), y = b.input(dtype, shape), z = b.input(dtype, shape);
  const ValueId sum = b.add("math.add", {b.add("math.mul", {x, y}), z});
  return b.finish(b.add("activation.relu", {sum}));
}

// NAME DTYPE ROWS COLUMNS
Result<DenseCase> rows_case(const NamedOp& op, const Words& words) {
  CaseBuilder b;
  QUERN_ASSIGN_OR_RETURN(const DType dtype, dtype_of(words.at(1)));
  const ValueId x = b.input(dtype, {std::stoll(words.at(2)), std::stoll(words.at(3))});
  return b.finish(b.add(op.op, {x}));
}

// sum|max DTYPE ROWS COLUMNS all|rows|columns
// "rows" reduces inside each row (axis 1), "columns" down the columns (axis 0).
Result<DenseCase> reduce_case(const Words& words) {
  CaseBuilder b;
  QUERN_ASSIGN_OR_RETURN(const DType dtype, dtype_of(words.at(1)));
  const ValueId x = b.input(dtype, {std::stoll(words.at(2)), std::stoll(words.at(3))});
  std::vector<int64_t> axes = {0, 1};
  if (words.at(4) == "rows") axes = {1};
  if (words.at(4) == "columns") axes = {0};
  return b.finish(
      b.add(words[0] == "sum" ? "reduction.sum" : "reduction.reduce_max", {x}, {{"axes", axes}}));
}

// conv2d DTYPE BATCH IN OUT SIZE KERNEL NUMERICS, padded to keep the size
Result<DenseCase> conv2d_case(const Words& words) {
  CaseBuilder b;
  QUERN_ASSIGN_OR_RETURN(const DType dtype, dtype_of(words.at(1)));
  const int64_t batch = std::stoll(words.at(2)), in = std::stoll(words.at(3)),
                out = std::stoll(words.at(4)), size = std::stoll(words.at(5)),
                kernel = std::stoll(words.at(6));
  b.made().numerics = find_numerics(words.at(7)).value_or(Numerics::kStrict);
  const ValueId x = b.input(dtype, {batch, in, size, size});
  const ValueId weight = b.input(dtype, {out, in, kernel, kernel});
  // Padding keeps the size, so that each output has all taps but at the border.
  b.made().flops = 2.0 * static_cast<double>(batch * in * out * size * size * kernel * kernel);
  return b.finish(b.add(
      "convolution.conv2d", {x, weight},
      {{"kernel_h", kernel}, {"kernel_w", kernel}, {"pad_h", kernel / 2}, {"pad_w", kernel / 2}}));
}

// maxpool DTYPE BATCH CHANNELS SIZE KERNEL STRIDE
Result<DenseCase> pool_case(const Words& words) {
  CaseBuilder b;
  QUERN_ASSIGN_OR_RETURN(const DType dtype, dtype_of(words.at(1)));
  const int64_t size = std::stoll(words.at(4)), kernel = std::stoll(words.at(5)),
                stride = std::stoll(words.at(6));
  const ValueId x = b.input(dtype, {std::stoll(words.at(2)), std::stoll(words.at(3)), size, size});
  return b.finish(b.add(
      "pooling.max_pool2d", {x},
      {{"kernel_h", kernel}, {"kernel_w", kernel}, {"stride_h", stride}, {"stride_w", stride}}));
}

// groupnorm DTYPE BATCH CHANNELS SIZE GROUPS
Result<DenseCase> groupnorm_case(const Words& words) {
  CaseBuilder b;
  QUERN_ASSIGN_OR_RETURN(const DType dtype, dtype_of(words.at(1)));
  const int64_t channels = std::stoll(words.at(3)), size = std::stoll(words.at(4));
  const ValueId x = b.input(dtype, {std::stoll(words.at(2)), channels, size, size});
  const ValueId weight = b.input(dtype, {channels}), bias = b.input(dtype, {channels});
  return b.finish(
      b.add("math.groupnorm", {x, weight, bias}, {{"groups", std::stoll(words.at(5))}}));
}

// fft c64 POINTS: a power of two, complex64.
Result<DenseCase> fft_case(const Words& words) {
  CaseBuilder b;
  return b.finish(b.add("physics.fft1d", {b.input(DType::kComplex64, {std::stoll(words.at(2))})}));
}

}  // namespace

// 4,194,304 floats are 16 MiB: with a result as large, beyond most last-level caches. 4096 x 1024
// are the same 16 MiB in rows. 56 x 56 x 64 is a layer of ResNet-50.
std::vector<std::string> dense_case_names() {
  std::vector<std::string> names;
  for (const char* size : {"512", "1024", "2048"}) {
    for (const char* numerics : {"strict", "deterministic"}) {
      names.push_back(std::string("matmul f32 ") + size + " " + numerics);
    }
    names.push_back(std::string("matmul bf16 ") + size + " fast");
  }
  names.push_back("matmul f64 1024 strict");
  names.push_back("matmul f64 1024 deterministic");
  for (const NamedOp& op : kElementwise) names.push_back(std::string(op.name) + " f32 4194304");
  names.push_back("muladdrelu f32 4194304");
  for (const NamedOp& op : kRows) names.push_back(std::string(op.name) + " f32 4096 1024");
  for (const char* over : {"all", "rows", "columns"}) {
    names.push_back(std::string("sum f32 4096 1024 ") + over);
    names.push_back(std::string("max f32 4096 1024 ") + over);
  }
  for (const char* numerics : {"strict", "deterministic"}) {
    names.push_back(std::string("conv2d f32 1 64 64 56 3 ") + numerics);
    names.push_back(std::string("conv2d f32 8 64 64 56 3 ") + numerics);
  }
  names.push_back("maxpool f32 8 64 112 3 2");
  names.push_back("maxpool f32 8 64 56 2 2");
  names.push_back("groupnorm f32 8 64 56 32");
  names.push_back("fft c64 1048576");
  return names;
}

// Words are numbers where a number belongs: names come from the list or from a developer.
Result<DenseCase> make_dense_case(std::string_view name) {
  std::istringstream stream{std::string(name)};
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  const auto make = [&]() -> Result<DenseCase> {
    if (words.size() < 3) return fail::invalid("There is no case '{}'.", name);
    if (words[0] == "matmul" && words.size() == 4) return matmul_case(words);
    if (words[0] == "muladdrelu") return chain_case(words);
    if ((words[0] == "sum" || words[0] == "max") && words.size() == 5) return reduce_case(words);
    if (words[0] == "conv2d" && words.size() == 8) return conv2d_case(words);
    if (words[0] == "maxpool" && words.size() == 7) return pool_case(words);
    if (words[0] == "groupnorm" && words.size() == 6) return groupnorm_case(words);
    if (words[0] == "fft") return fft_case(words);
    if (const NamedOp* op = find_named(kElementwise, words[0])) return elementwise_case(*op, words);
    const NamedOp* op = find_named(kRows, words[0]);
    if (op != nullptr && words.size() == 4) return rows_case(*op, words);
    return fail::invalid("There is no case '{}'.", name);
  };
  QUERN_ASSIGN_OR_RETURN(DenseCase made, make());
  made.name = name;
  return made;
}

Result<DenseSession> DenseSession::make(const DenseCase& dense_case, int num_threads,
                                        const std::string& isa) {
  const BackendRegistry registry = register_backends();
  QUERN_ASSIGN_OR_RETURN(const Backend* backend, registry.find("cpu"));
  DenseSession session;
  QUERN_ASSIGN_OR_RETURN(session.device_, backend->open({.num_threads = num_threads, .isa = isa}));
  CompileOptions options;
  options.numerics = dense_case.numerics;
  QUERN_ASSIGN_OR_RETURN(session.executable_, compile_and_load(dense_case.graph, *backend,
                                                               *session.device_, nullptr, options));
  session.arguments_.inputs = dense_case.inputs;
  return session;
}

Result<RunResult> DenseSession::run() {
  return executable_->run(arguments_);
}

Result<std::string> instruction_set(const std::string& isa) {
  const BackendRegistry registry = register_backends();
  QUERN_ASSIGN_OR_RETURN(const Backend* backend, registry.find("cpu"));
  QUERN_ASSIGN_OR_RETURN(const auto device, backend->open({.num_threads = 1, .isa = isa}));
  return device->capabilities().arch;
}

// The median, since a background process makes single runs late but few of them.
double median_microseconds(double seconds, const std::function<void()>& f) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  const auto start = Clock::now();
  f();  // warms caches and memory up; not counted
  // A slow case still gets three.
  while (times.size() < 3 ||
         std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
    const auto begin = Clock::now();
    f();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace quern::bench
