// Moves that each add a node or a few to a graph; a move that does not fit is left out.
#include "passes/random_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ir/node_rules.h"
#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern::test {
namespace {

// SplitMix64 (Steele et al. 2014): the same numbers on every machine.
class Random {
 public:
  // Seeds that follow each other start from states far apart.
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[static_cast<size_t>(below(static_cast<int64_t>(values.size())))];
  }

 private:
  uint64_t state_;
};

// 1, extents that no vector width divides, and 32 and 64 for whole blocks of quantised formats.
const std::vector<int64_t> kExtents = {1, 2, 3, 4, 5, 7, 8, 16, 17, 32, 33, 64};

// Builds one graph. Moves pick among the values so far, so that later ones stand on earlier ones.
class GraphMaker {
 public:
  explicit GraphMaker(uint64_t seed) : random_(seed), builder_(builtin_ops()) {}

  Graph make() {
    // Two matrices, so that no move of floats finds nothing to work on.
    add_input(float_type(2));
    add_input(float_type(2));
    const int64_t count = 16 + random_.below(28);
    for (int64_t i = 0; i < count; ++i) move();
    add_outputs();
    auto graph = builder_.finish();
    EXPECT_TRUE(graph.has_value()) << (graph ? "" : graph.error().message);
    return graph ? std::move(*graph) : Graph();
  }

 private:
  const TensorType& type(ValueId value) const { return *builder_.type(value); }
  static Dim last(const TensorType& t) { return t.dims.back(); }

  // Six in ten f32, as in models; f64, and f16 and bf16, which round after each node.
  DType float_dtype() {
    const int64_t which = random_.below(10);
    if (which < 6) return DType::kF32;
    if (which < 8) return DType::kF64;
    return which == 8 ? DType::kF16 : DType::kBF16;
  }
  Dim extent() {
    // Tensors without elements are where kernels and sums of nothing go wrong.
    if (random_.one_in(20)) return Dim::constant(0);
    return Dim::constant(random_.of(kExtents));
  }
  TensorType float_type(int rank) {
    TensorType made{float_dtype(), {}};
    for (int axis = 0; axis < rank; ++axis) made.dims.push_back(extent());
    // In front, as the tokens of models are.
    if (rank > 0 && random_.one_in(3)) made.dims[0] = Dim::symbolic('T');
    return made;
  }

  // Makes the value one that later moves may pick; a move that did not fit passes through.
  ValueId keep(ValueId value) {
    if (value != kNoValue) values_.push_back(value);
    return value;
  }
  ValueId add_input(const TensorType& t) {
    return keep(builder_.input("x" + std::to_string(next_input_++), t));
  }
  ValueId add_weight(DType dtype, std::vector<Dim> dims) {
    return builder_.weight("w" + std::to_string(next_input_++), {dtype, std::move(dims)});
  }
  // Equal elements of the type; kNoValue where a symbol leaves the size open.
  ValueId constant_like(const TensorType& t, double value) {
    Shape shape;
    for (const Dim& dim : t.dims) {
      if (!dim.is_constant()) return kNoValue;
      shape.push_back(dim.factor);
    }
    // A failure prints the graph with its constants.
    if (shape.num_elements() > 4096) return kNoValue;
    const std::vector<double> values(static_cast<size_t>(shape.num_elements()), value);
    return builder_.constant("c" + std::to_string(next_input_++), t.dtype, shape, values);
  }

  // Appends the node if the rules allow it.
  ValueId add(std::string_view id, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const OpDef* op = builtin_ops().find(id);
    for (const ValueId input : inputs) {
      if (input < kNoValue || (input == kNoValue && op == nullptr)) return kNoValue;
    }
    if (op == nullptr || !check_ports(*op, inputs)) return kNoValue;
    const auto complete = complete_attributes(*op, attributes);
    if (!complete) return kNoValue;
    const auto types = infer_types(*op, builder_.so_far().values(), inputs, *complete, {});
    if (!types) return kNoValue;
    int64_t elements = 1;
    for (const TensorType& t : *types) {
      // Symbols count by their factor alone: they are small, see random_extent().
      for (const Dim& dim : t.dims) elements *= std::max<int64_t>(1, dim.factor);
    }
    // Concatenations and products could double their sizes with each move, and each graph runs in
    // some dozen settings.
    if (elements > 50000) return kNoValue;
    return builder_.add(id, inputs, std::move(attributes));
  }

  // A value for which `fits` holds, or kNoValue.
  template <class F>
  ValueId pick(F&& fits) {
    std::vector<ValueId> found;
    for (const ValueId value : values_) {
      if (fits(type(value))) found.push_back(value);
    }
    return found.empty() ? kNoValue : random_.of(found);
  }
  ValueId pick_float() {
    return pick([](const TensorType& t) { return is_float(t.dtype); });
  }
  ValueId pick_matrix() {
    return pick([](const TensorType& t) { return is_float(t.dtype) && t.rank() == 2; });
  }
  // A value of the type of another one, at times a new input.
  ValueId partner(ValueId value) {
    const TensorType wanted = type(value);
    if (random_.one_in(3)) return add_input(wanted);
    return pick([&](const TensorType& t) { return t == wanted; });
  }

  // Quarters from 0.25 to 2.25, exact in every dtype; a default is kept two times in three.
  Attributes attributes_for(const OpDef& op) {
    Attributes made;
    for (const AttributeDef& def : op.attributes) {
      if (def.kind == AttributeKind::kNumber && (!def.default_value || random_.one_in(3))) {
        made.set(def.name, 0.25 * static_cast<double>(1 + random_.below(9)));
      }
      if (!def.choices.empty() && random_.one_in(2)) made.set(def.name, random_.of(def.choices));
    }
    return made;
  }

  // Most values that nobody reads, and now and then one that somebody does.
  void add_outputs() {
    std::vector<bool> is_read(builder_.so_far().values().size(), false);
    for (const Node& node : builder_.so_far().nodes()) {
      for (const ValueId input : node.inputs) {
        if (input != kNoValue) is_read[static_cast<size_t>(input)] = true;
      }
    }
    int next = 0;
    const auto add_output = [&](ValueId value) {
      builder_.output("out" + std::to_string(next++), value);
    };
    for (const ValueId value : values_) {
      const bool is_sink = !is_read[static_cast<size_t>(value)];
      // One sink in five stays dead code; one value in 25 that others read is a result as well,
      // which no fusion may swallow.
      if (is_sink ? !random_.one_in(5) : random_.one_in(25)) add_output(value);
    }
    // A graph without a result would compare nothing.
    if (next == 0) add_output(values_.back());
  }

  void move();
  void unary();
  void binary();
  void bias();
  void neutral();
  void undo();
  void repeat();
  void dense_product();
  void linear();
  void gated();
  void normalise();
  void rows();
  void shapes();
  void cast();
  void written_out_attention();
  void integers();
  void random_numbers();
  void anything();

  // A projection of x with a new weight of `dtype` and `rows` rows; kNoValue where it does not fit.
  ValueId project(ValueId x, const Dim& rows, DType dtype);

  Random random_;
  GraphBuilder builder_;
  std::vector<ValueId> values_;
  int next_input_ = 0;
};

// Those of the registry, so that a new operation is in the graphs at once.
std::vector<std::string> elementwise_ids(size_t num_inputs) {
  std::vector<std::string> ids;
  for (const OpDef* op : builtin_ops().list()) {
    if (op->is_elementwise && op->inputs.size() == num_inputs) ids.push_back(op->id);
  }
  return ids;
}

void GraphMaker::unary() {
  static const std::vector<std::string> ids = elementwise_ids(1);
  const ValueId x = pick_float();
  const OpDef* op = builtin_ops().find(random_.of(ids));
  keep(add(op->id, {x}, attributes_for(*op)));
}

void GraphMaker::binary() {
  static const std::vector<std::string> ids = elementwise_ids(2);
  const ValueId x = pick_float();
  const ValueId y = partner(x);
  const OpDef* op = builtin_ops().find(random_.of(ids));
  keep(add(op->id, random_.one_in(2) ? std::vector{x, y} : std::vector{y, x}, attributes_for(*op)));
}

// A vector added to each row, under its own name or the alias that canonicalise replaces.
void GraphMaker::bias() {
  const ValueId x = pick([](const TensorType& t) { return is_float(t.dtype) && t.rank() > 1; });
  if (x == kNoValue) return;
  const ValueId b = add_input({type(x).dtype, {last(type(x))}});
  keep(add(random_.one_in(4) ? "Add" : "math.add", {x, b}));
}

// Constants that change nothing, or almost nothing.
void GraphMaker::neutral() {
  const ValueId x = pick_float();
  const TensorType t = type(x);
  // x + 0 is not x where x is -0, but x + -0 is; x * 0 is NaN or -0 for some x.
  static const std::vector<double> numbers = {0.0, -0.0, 1.0, -1.0, 2.0};
  const ValueId c = constant_like(t, random_.of(numbers));
  if (c == kNoValue) return;
  static const std::vector<std::string> ids = {"math.add",        "math.mul",
                                               "elementwise.sub", "elementwise.div",
                                               "elementwise.max", "elementwise.min"};
  const std::string& id = random_.of(ids);
  // On the left of a subtraction or division the constant is not neutral.
  keep(random_.one_in(3) ? add(id, {c, x}) : add(id, {x, c}));
}

// Two nodes that cancel, or that one could replace.
void GraphMaker::undo() {
  const ValueId x = pick_float();
  // Powers of two, whose product rounds nothing, and 3.
  static const std::vector<double> factors = {1.0, 2.0, -4.0, 0.5, 3.0};
  switch (random_.below(6)) {
    case 0:
      keep(add("elementwise.neg", {keep(add("elementwise.neg", {x}))}));
      break;
    case 1:
      keep(add("math.add", {x, keep(add("elementwise.neg", {partner(x)}))}));
      break;
    case 2: {
      const ValueId once = add("math.scale", {x}, {{"factor", random_.of(factors)}});
      keep(add("math.scale", {once}, {{"factor", random_.of(factors)}}));
      break;
    }
    case 3:
      // Swish, written out.
      keep(add("math.mul", {x, add("activation.sigmoid", {x})}));
      break;
    case 4:
      keep(add("elementwise.abs", {add("elementwise.neg", {x})}));
      break;
    default:
      keep(add("activation.relu", {add("activation.relu", {x})}));
  }
}

// A node that is there already, perhaps with its operands the other way round.
void GraphMaker::repeat() {
  const Graph& graph = builder_.so_far();
  const auto count = static_cast<int64_t>(graph.nodes().size());
  const Node node = graph.nodes()[static_cast<size_t>(random_.below(count))];
  if (node.inputs.empty()) return;
  std::vector<ValueId> inputs = node.inputs;
  if (inputs.size() == 2 && random_.one_in(2)) std::swap(inputs[0], inputs[1]);
  // Under a new name. Equal inputs and attributes make it the same value, unless it is random or
  // the operation does not commute.
  const ValueId made = add(node.op->id, inputs, node.attributes);
  if (made != kNoValue && builder_.last_outputs().size() == 1) keep(made);
}

void GraphMaker::dense_product() {
  const ValueId a = pick_matrix();
  if (a == kNoValue) return;
  const TensorType t = type(a);
  const ValueId b = add_input({t.dtype, {t.dims[1], extent()}});
  ValueId c = keep(add("math.matmul", {a, b}));
  if (c == kNoValue) return;
  // The composite of the same product, which becomes several nodes.
  if (random_.one_in(4)) {
    keep(add("Fused", {a, b}, {{"activation", random_.one_in(2) ? "relu" : "gelu"}}));
  }
  if (random_.one_in(2)) c = keep(add("math.add", {c, add_input({t.dtype, {last(type(c))}})}));
  if (random_.one_in(2)) c = keep(add("activation.gelu", {c}));
  if (random_.one_in(2)) keep(add("math.add", {partner(c), c}));
}

// A weight has rows of x's last extent. Formats of blocks are at times read by the product itself
// and at times through quant.dynamic, with 8 or 16 bits.
ValueId GraphMaker::project(ValueId x, const Dim& rows, DType dtype) {
  const Dim columns = last(type(x));
  const ValueId w = add_weight(dtype, {rows, columns});
  const ValueId bias = random_.one_in(3) ? add_weight(DType::kF32, {rows}) : kNoValue;
  if (!is_quantized(dtype) || random_.one_in(3)) return add("projection.linear", {x, w, bias});
  const int64_t bits = random_.one_in(2) ? 8 : 16;
  if (add("quant.dynamic", {x}, {{"block", int64_t{32}}, {"bits", bits}}) == kNoValue) {
    return kNoValue;
  }
  const std::vector<ValueId> q(builder_.last_outputs().begin(), builder_.last_outputs().end());
  return add("projection.linear", {q[0], w, bias, q[1]});
}

DType weight_dtype(Random& random, const TensorType& x) {
  if (x.dtype == DType::kF64) return DType::kF64;
  const Dim columns = x.dims.back();
  // Blocks of these formats hold 32 elements and do not cross rows.
  const bool is_whole = columns.is_constant() && columns.factor > 0 && columns.factor % 32 == 0;
  static const std::vector<DType> quantised = {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1};
  if (is_whole && !random.one_in(4)) return random.of(quantised);
  return random.one_in(3) ? DType::kF16 : DType::kF32;
}

void GraphMaker::linear() {
  ValueId x = pick([](const TensorType& t) {
    return is_float(t.dtype) && t.rank() >= 1 && t.dims.back().is_constant();
  });
  // A weight needs a known number of columns.
  if (x == kNoValue) return;
  if (random_.one_in(2)) {
    // A norm without a weight is one more form that fusions see.
    const ValueId w = random_.one_in(2) ? add_weight(DType::kF32, {last(type(x))}) : kNoValue;
    const ValueId n = add(random_.one_in(2) ? "math.rmsnorm" : "math.layernorm", {x, w});
    if (n != kNoValue) x = n;
  }
  const Dim rows = random_.one_in(3) ? last(type(x)) : extent();
  ValueId y = project(x, rows, weight_dtype(random_, type(x)));
  if (y == kNoValue) return;
  if (random_.one_in(2)) y = add(random_.one_in(2) ? "activation.swish" : "ReLU", {y});
  if (random_.one_in(2)) y = add("math.add", {partner(y), y});
  keep(y);
}

void GraphMaker::gated() {
  const ValueId x = pick([](const TensorType& t) {
    return is_float(t.dtype) && t.rank() == 2 && t.dims.back().is_constant();
  });
  if (x == kNoValue) return;
  const DType dtype = weight_dtype(random_, type(x));
  const Dim rows = extent();
  // Both read the same x: the pair becomes one node.
  const ValueId gate = project(x, rows, dtype);
  const ValueId up = project(x, rows, dtype);
  if (gate == kNoValue || up == kNoValue) return;
  const ValueId y = random_.one_in(2) ? add("activation.swiglu_tensors", {gate, up})
                                      : add("math.mul", {add("activation.gelu", {gate}), up});
  if (y != kNoValue) keep(y);
}

void GraphMaker::normalise() {
  const ValueId x = pick([](const TensorType& t) { return is_float(t.dtype) && t.rank() >= 1; });
  if (x == kNoValue) return;
  static const std::vector<std::string> ids = {"math.rmsnorm", "math.layernorm", "math.softmax",
                                               "activation.log_softmax"};
  const std::string& id = random_.of(ids);
  const bool has_weight = id.ends_with("norm") && random_.one_in(2);
  keep(has_weight ? add(id, {x, add_input({type(x).dtype, {last(type(x))}})}) : add(id, {x}));
}

// Reductions, choices and positions of rows.
// Over the last axis. The largest of no elements is an error; such graphs are left out.
void GraphMaker::rows() {
  const ValueId x = pick([](const TensorType& t) { return is_float(t.dtype) && t.rank() >= 1; });
  if (x == kNoValue) return;
  switch (random_.below(5)) {
    case 0:
      keep(add("reduction.sum", {x}));
      break;
    case 1:
      keep(add("reduction.mean", {x}));
      break;
    case 2:
      keep(add("math.logsumexp", {x}));
      break;
    case 3:
      keep(add("sort.top_k", {x}, {{"k", int64_t{1}}}));
      break;
    default:
      keep(add("reduction.argmax", {x}));
  }
}

void GraphMaker::shapes() {
  const ValueId x = pick_float();
  const TensorType t = type(x);
  switch (random_.below(7)) {
    case 0:
      keep(add("shape.reshape", {x}, {{"shape", std::vector<int64_t>{-1}}}));
      break;
    case 1: {
      const ValueId once =
          // The second one undoes the first.
          add("shape.transpose", {x}, {{"dim0", int64_t{-1}}, {"dim1", int64_t{0}}});
      if (once == kNoValue) break;
      keep(once);
      if (random_.one_in(2)) {
        keep(add("shape.transpose", {once}, {{"dim0", int64_t{0}}, {"dim1", int64_t{-1}}}));
      }
      break;
    }
    case 2:
      // From 0 the slice is the whole.
      keep(add("shape.slice", {x}, {{"dim", int64_t{-1}}, {"start", random_.below(2)}}));
      break;
    case 3:
      keep(add("shape.concat", {x, x}, {{"dim", random_.one_in(2) ? int64_t{0} : int64_t{-1}}}));
      break;
    case 4: {
      std::vector<int64_t> order;
      for (int axis = t.rank(); axis-- > 0;) order.push_back(axis);
      keep(add("shape.permute", {x}, {{"order", order}}));
      break;
    }
    case 5: {
      const ValueId flat = add("shape.reshape", {x}, {{"shape", std::vector<int64_t>{-1, 1}}});
      if (flat == kNoValue) break;
      // Only the last of two reshapes counts.
      keep(add("shape.reshape", {flat}, {{"shape", std::vector<int64_t>{1, -1}}}));
      break;
    }
    default:
      keep(add("math.inv_sqrt_dim_scale", {x}));
  }
}

void GraphMaker::cast() {
  static const std::vector<std::string> names = {"f32", "f64", "f16", "bf16"};
  const ValueId x = pick_float();
  const std::string back(dtype_name(type(x).dtype));
  const ValueId y = keep(add("math.cast", {x}, {{"to", random_.of(names)}}));
  // Back again: nothing is lost through a wider dtype, and something is through a narrower one.
  if (y != kNoValue && random_.one_in(2)) keep(add("math.cast", {y}, {{"to", back}}));
}

// softmax(q k^T * scale + mask) v, as exporters write it.
void GraphMaker::written_out_attention() {
  const ValueId q = pick_matrix();
  if (q == kNoValue) return;
  const TensorType t = type(q);
  const Dim keys = extent();
  const ValueId kt = random_.one_in(2)
                         ? add("shape.transpose", {add_input({t.dtype, {keys, t.dims[1]}})},
                               {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}})
                         : add_input({t.dtype, {t.dims[1], keys}});
  ValueId scores = add("math.matmul", {q, kt});
  if (scores == kNoValue) return;
  // No 1 / sqrt(d): the scale has to be carried over.
  if (random_.one_in(2)) scores = add("math.scale", {scores}, {{"factor", 0.37}});
  if (random_.one_in(2)) scores = add("math.add", {scores, add_input(type(scores))});
  const ValueId shares = add("math.softmax", {scores});
  if (shares == kNoValue) return;
  // Read by others too, the shares must stay a value.
  if (random_.one_in(5)) keep(shares);
  keep(add("math.matmul", {shares, add_input({t.dtype, {keys, extent()}})}));
}

// For integers 0 + y is y, without exceptions.
void GraphMaker::integers() {
  const ValueId x = add_input({DType::kI32, {extent(), extent()}});
  const ValueId y = add(random_.one_in(2) ? "math.add" : "math.mul", {x, x});
  const ValueId c = constant_like(type(x), 0.0);
  const ValueId z = c == kNoValue ? y : add("math.add", {c, y});
  keep(add("math.cast", {z}, {{"to", "f32"}}));
}

void GraphMaker::random_numbers() {
  const ValueId x = pick_float();
  if (random_.one_in(2)) {
    // Outside of training it is the identity.
    keep(add("math.dropout", {x}, {{"p", 0.3}, {"training", !random_.one_in(3)}}));
  } else {
    keep(add("random.normal", {x}, {{"seed", random_.below(100)}}));
  }
}

// Any pure operation whose rule takes values that are there.
void GraphMaker::anything() {
  const std::vector<const OpDef*> all = builtin_ops().list();
  // Most operations do not take most values; 40 tries find one nearly always.
  for (int attempt = 0; attempt < 40; ++attempt) {
    const OpDef* op = random_.of(all);
    const bool is_usable = op->effect == Effect::kPure && op->reference != nullptr &&
                           op->outputs.size() == 1 && !op->inputs.empty();
    if (!is_usable) continue;
    const ValueId x = random_.of(values_);
    std::vector<ValueId> inputs;
    for (const PortDef& port : op->inputs) {
      if (port.is_optional) break;
      inputs.push_back(inputs.empty() ? x : random_.of(values_));
    }
    const ValueId made = add(op->id, inputs, attributes_for(*op));
    if (made == kNoValue) continue;
    keep(made);
    return;
  }
}

void GraphMaker::move() {
  using Move = void (GraphMaker::*)();
  // A move that stands here several times is that much likelier.
  static const std::vector<Move> moves = {&GraphMaker::unary,    &GraphMaker::unary,
                                          &GraphMaker::unary,    &GraphMaker::binary,
                                          &GraphMaker::binary,   &GraphMaker::binary,
                                          &GraphMaker::bias,     &GraphMaker::neutral,
                                          &GraphMaker::undo,     &GraphMaker::repeat,
                                          &GraphMaker::repeat,   &GraphMaker::dense_product,
                                          &GraphMaker::linear,   &GraphMaker::linear,
                                          &GraphMaker::gated,    &GraphMaker::normalise,
                                          &GraphMaker::rows,     &GraphMaker::shapes,
                                          &GraphMaker::cast,     &GraphMaker::written_out_attention,
                                          &GraphMaker::integers, &GraphMaker::random_numbers,
                                          &GraphMaker::anything};
  (this->*random_.of(moves))();
}

}  // namespace

Graph random_graph(uint64_t seed) {
  return GraphMaker(seed).make();
}

// 0, 1 and small extents, one that no vector width divides.
int64_t random_extent(uint64_t seed) {
  static const std::vector<int64_t> extents = {0, 1, 2, 3, 8, 17};
  // Not the numbers that made the graph.
  return Random(seed + 0xABCDEF).of(extents);
}

}  // namespace quern::test
