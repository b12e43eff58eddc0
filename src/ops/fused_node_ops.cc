// Nodes that the fusion passes make of several: chains of elementwise operations, products with
// what follows them, quantisation with what precedes it, attention over plain tensors. Each is by
// definition what its parts give one after the other, every result rounded as it stands.
#include <cstring>
#include <vector>

#include "base/fail.h"
#include "ops/fused_program.h"
#include "ops/linear_kernel.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"
#include "quern/tensor.h"

namespace quern {
namespace {

using namespace op_parts;
using namespace type_rules;
using Types = std::vector<TensorType>;

// Memory of a result between two parts of a fused node.
// Memory that the parts share: `view` points into `bytes`, which stays in place when the struct
// moves, since a vector's memory does.
struct Between {
  TensorView view;
  std::vector<std::byte> bytes;

  // `type` must be static. Errors: a size that does not fit.
  static Result<Between> make(const TensorType& type) {
    Between made;
    QUERN_ASSIGN_OR_RETURN(const Shape shape, type.resolve({}));
    QUERN_ASSIGN_OR_RETURN(const int64_t size, dense_size_bytes(type.dtype, shape));
    made.bytes.resize(static_cast<size_t>(size) + 1);  // an empty tensor is not an absent one
    made.view = {type.dtype, shape, made.bytes.data()};
    return made;
  }
};

// The type of a tensor at hand, whose extents are all known.
// For type rules inside kernels, which see tensors and not types.
TensorType type_of(const TensorView& view) {
  TensorType type{view.dtype, {}};
  for (const int64_t extent : view.shape.dims()) type.dims.push_back(Dim::constant(extent));
  return type;
}

// The parsed attribute; the text is small, and parsing it is cheap next to a reference kernel.
// Errors get "Attribute 'program'" in front, so that the author knows which text is meant.
Result<FusedProgram> program_of(const Attributes& attributes) {
  auto program = parse_fused_program(attributes.text("program"), builtin_ops());
  if (program) return program;
  return tl::unexpected(program.error().with_context("Attribute 'program'"));
}

// A program of elementwise operations.
// After a product, a backend runs the program on tiles of the result; anything that needs a whole
// row cannot be there.
Result<FusedProgram> elementwise_program_of(const Attributes& attributes) {
  QUERN_ASSIGN_OR_RETURN(FusedProgram program, program_of(attributes));
  if (program.is_elementwise()) return program;
  return fail::invalid("Attribute 'program' is '{}'; only elementwise operations may follow.",
                       attributes.text("program"));
}

// The products first, then the inputs from port `first` on.
// x0, x1, ... of the program: first what the node computed itself, then its operands. `first` is
// the number of the node's own ports.
template <class Item>
std::vector<Item> program_inputs(std::vector<Item> products, std::span<const Item> inputs,
                                 size_t first) {
  for (size_t port = first; port < inputs.size(); ++port) products.push_back(inputs[port]);
  return products;
}

// The type of the program's last result, given the products and the node's own operands.
Result<Types> infer_program(const FusedProgram& program, std::vector<const TensorType*> products,
                            const InferContext& context, size_t first) {
  QUERN_ASSIGN_OR_RETURN(
      TensorType y,
      infer_fused_program(program, program_inputs(std::move(products), context.inputs, first)));
  return Types{std::move(y)};
}

// Runs the program into the node's only output.
Result<void> run_program(const KernelContext& context, std::vector<TensorView> products,
                         size_t first) {
  QUERN_ASSIGN_OR_RETURN(const FusedProgram program, program_of(context.attributes));
  return run_fused_program(program, program_inputs(std::move(products), context.inputs, first),
                           context.outputs[0]);
}

// Every fused node carries its program as text, so that the text form of a graph shows it.
// No choices: any program that parses.
AttributeDef program_attribute(std::string doc) {
  return text("program", kRequired, std::move(doc));
}

// fused.elementwise -------------------------------------------------------------------------

// All inputs are operands of the program.
Result<Types> infer_elementwise(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const FusedProgram program, elementwise_program_of(context.attributes));
  return infer_program(program, {}, context, 0);
}

// The program on the node's inputs.
Result<void> run_elementwise(const KernelContext& context) {
  return run_program(context, {}, 0);
}

// fused.linear and fused.gated_linear -------------------------------------------------------

constexpr size_t kLinearOperands = 4;  // x, weight, bias, scale
constexpr size_t kGatedOperands = 6;   // x, gate, up, gate_bias, up_bias, scale

// The attributes of projection.linear; 0 takes the extents from the weight.
// Fused nodes keep only the scale of the weight; declared extents were checked before the fusion.
Attributes linear_attributes(double weight_scale) {
  return {
      {"in_features", int64_t{0}}, {"out_features", int64_t{0}}, {"weight_scale", weight_scale}};
}

// The type of one projection.
// `ports` is x, weight, bias, scale; null pointers are absent ones.
Result<TensorType> infer_product(std::vector<const TensorType*> ports, double weight_scale) {
  const Attributes attributes = linear_attributes(weight_scale);
  QUERN_ASSIGN_OR_RETURN(
      Types types, infer_linear({ports, attributes, {}, builtin_ops().find("projection.linear")}));
  return std::move(types.front());
}

// One projection into memory of its own.
// y is dense and f32, or f64 for f64 x, as projection.linear gives it.
Result<Between> run_product(std::vector<TensorView> ports, double weight_scale) {
  std::vector<TensorType> types;
  for (const TensorView& view : ports) types.push_back(type_of(view));
  std::vector<const TensorType*> pointers;
  for (size_t i = 0; i < ports.size(); ++i) {
    pointers.push_back(ports[i].is_present() ? &types[i] : nullptr);
  }
  QUERN_ASSIGN_OR_RETURN(const TensorType type, infer_product(pointers, weight_scale));
  QUERN_ASSIGN_OR_RETURN(Between y, Between::make(type));
  QUERN_TRY(run_linear(
      {.inputs = ports, .outputs = {&y.view, 1}, .attributes = linear_attributes(weight_scale)}));
  return y;
}

// Ports of projection.linear; `pick` names them in the fused node.
// An index names a port of the fused node; the order of the list is that of projection.linear.
template <class Item>
std::vector<Item> pick(std::span<const Item> inputs, std::initializer_list<size_t> ports) {
  std::vector<Item> picked;
  for (const size_t port : ports) picked.push_back(inputs[port]);
  return picked;
}

// The product is x0 of the program.
// Port 3 is the scale; operands follow.
Result<Types> infer_fused_linear(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const FusedProgram program, elementwise_program_of(context.attributes));
  QUERN_ASSIGN_OR_RETURN(
      const TensorType y,
      infer_product(pick(context.inputs, {0, 1, 2, 3}), context.attributes.number("weight_scale")));
  return infer_program(program, {&y}, context, kLinearOperands);
}

// Product, then program; the product is stored in its own type in between, as it would be
// unfused.
Result<void> run_fused_linear(const KernelContext& context) {
  QUERN_ASSIGN_OR_RETURN(const Between y, run_product(pick(context.inputs, {0, 1, 2, 3}),
                                                      context.attributes.number("weight_scale")));
  return run_program(context, {y.view}, kLinearOperands);
}

// The gate's product is x0, up's is x1.
// Both projections read the same x and, with quantised activations, the same scale (port 5).
Result<Types> infer_gated_linear(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const FusedProgram program, elementwise_program_of(context.attributes));
  QUERN_ASSIGN_OR_RETURN(
      const TensorType gate,
      infer_product(pick(context.inputs, {0, 1, 3, 5}), context.attributes.number("weight_scale")));
  QUERN_ASSIGN_OR_RETURN(const TensorType up,
                         infer_product(pick(context.inputs, {0, 2, 4, 5}),
                                       context.attributes.number("up_weight_scale")));
  return infer_program(program, {&gate, &up}, context, kGatedOperands);
}

// Both products, then the program.
Result<void> run_gated_linear(const KernelContext& context) {
  QUERN_ASSIGN_OR_RETURN(
      const Between gate,
      run_product(pick(context.inputs, {0, 1, 3, 5}), context.attributes.number("weight_scale")));
  QUERN_ASSIGN_OR_RETURN(const Between up,
                         run_product(pick(context.inputs, {0, 2, 4, 5}),
                                     context.attributes.number("up_weight_scale")));
  return run_program(context, {gate.view, up.view}, kGatedOperands);
}

// fused.matmul and fused.attention ----------------------------------------------------------

// Type rule and kernel of a registered operation without attributes.
// `inputs` are all ports of the operation. The id is one of this file, so it is in the registry.
Result<TensorType> infer_op(std::string_view id, std::vector<const TensorType*> inputs) {
  const OpDef* op = builtin_ops().find(id);
  const Attributes none;
  QUERN_ASSIGN_OR_RETURN(Types types, op->infer({inputs, none, {}, op}));
  return std::move(types.front());
}

// Runs a registered kernel that has no attributes.
Result<void> run_op(std::string_view id, std::vector<TensorView> inputs, const TensorView& output) {
  const Attributes none;
  return builtin_ops().find(id)->reference(
      {.inputs = inputs, .outputs = {&output, 1}, .attributes = none});
}

// The product is x0 of the program.
Result<Types> infer_fused_matmul(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const FusedProgram program, elementwise_program_of(context.attributes));
  QUERN_ASSIGN_OR_RETURN(const TensorType c,
                         infer_op("math.matmul", {context.inputs[0], context.inputs[1]}));
  return infer_program(program, {&c}, context, 2);
}

// The product into memory of its own.
// a [M, K], b [K, N] by the type rule.
Result<Between> run_matmul(const TensorView& a, const TensorView& b) {
  const TensorType type{a.dtype, {Dim::constant(a.shape[0]), Dim::constant(b.shape[1])}};
  QUERN_ASSIGN_OR_RETURN(Between c, Between::make(type));
  QUERN_TRY(run_op("math.matmul", {a, b}, c.view));
  return c;
}

// Product, then program.
Result<void> run_fused_matmul(const KernelContext& context) {
  QUERN_ASSIGN_OR_RETURN(const Between c, run_matmul(context.inputs[0], context.inputs[1]));
  return run_program(context, {c.view}, 2);
}

// Scores, program, softmax, values: each part's rule in turn.
// The softmax runs over the last axis of the finished scores, the keys S.
Result<Types> infer_fused_attention(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const FusedProgram program, elementwise_program_of(context.attributes));
  QUERN_ASSIGN_OR_RETURN(const TensorType scores,
                         infer_op("math.matmul", {context.inputs[0], context.inputs[1]}));
  QUERN_ASSIGN_OR_RETURN(const Types finished, infer_program(program, {&scores}, context, 3));
  // The kernel writes the finished scores where it writes scores; a program of operands alone, or
  // one that broadcasts them, could have another shape.
  if (finished.front() != scores) {
    return fail::invalid("The program gives {}; it must keep the type of the scores, {}.",
                         finished.front().to_string(), scores.to_string());
  }
  QUERN_ASSIGN_OR_RETURN(const TensorType shares, infer_op("math.softmax", {&finished.front()}));
  QUERN_ASSIGN_OR_RETURN(TensorType out, infer_op("math.matmul", {&shares, context.inputs[2]}));
  return Types{std::move(out)};
}

// The memory of the scores is used again for the shares, which have the same type.
// Two tensors of [T, S] at most.
Result<void> run_fused_attention(const KernelContext& context) {
  QUERN_ASSIGN_OR_RETURN(const FusedProgram program, program_of(context.attributes));
  QUERN_ASSIGN_OR_RETURN(const Between scores, run_matmul(context.inputs[0], context.inputs[1]));
  QUERN_ASSIGN_OR_RETURN(const Between finished, Between::make(type_of(scores.view)));
  QUERN_TRY(
      run_fused_program(program, program_inputs({scores.view}, context.inputs, 3), finished.view));
  QUERN_TRY(run_op("math.softmax", {finished.view}, scores.view));
  return run_op("math.matmul", {scores.view, context.inputs[2]}, context.outputs[0]);
}

// fused.quantize ----------------------------------------------------------------------------

// What the quantisation kernels can compute row by row before they quantise.
// Norms work row by row, as the quantisation does, so a backend can keep a row in registers or
// cache from the first to the last step.
bool may_precede_quantize(const FusedInstruction& instruction) {
  const std::string& id = instruction.op->id;
  return instruction.op->is_elementwise || id == "math.rmsnorm" || id == "math.layernorm";
}

// The parsed program, which may hold norms besides elementwise operations.
Result<FusedProgram> quantize_program_of(const Attributes& attributes) {
  QUERN_ASSIGN_OR_RETURN(FusedProgram program, program_of(attributes));
  for (const FusedInstruction& instruction : program.instructions) {
    if (may_precede_quantize(instruction)) continue;
    return fail::invalid("{} cannot precede a quantisation; norms and elementwise operations can.",
                         instruction.op->id);
  }
  return program;
}

// The attributes that the node hands on to quant.dynamic.
Attributes dynamic_attributes(const Attributes& attributes) {
  return {{"block", attributes.integer("block")}, {"bits", attributes.integer("bits")}};
}

// The program's result must be what quant.dynamic takes.
// No products in front: x0, x1, ... are the node's inputs.
Result<Types> infer_fused_quantize(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const FusedProgram program, quantize_program_of(context.attributes));
  QUERN_ASSIGN_OR_RETURN(const TensorType x, infer_fused_program(program, context.inputs));
  const OpDef* op = builtin_ops().find("quant.dynamic");
  const std::vector<const TensorType*> inputs{&x};
  const Attributes attributes = dynamic_attributes(context.attributes);
  return op->infer({inputs, attributes, {}, op});
}

// Program, then quantisation, each as it stands.
// Outputs are q and d of quant.dynamic.
Result<void> run_fused_quantize(const KernelContext& context) {
  QUERN_ASSIGN_OR_RETURN(const FusedProgram program, program_of(context.attributes));
  std::vector<TensorType> types;
  for (const TensorView& view : context.inputs) types.push_back(type_of(view));
  std::vector<const TensorType*> pointers;
  for (const TensorType& type : types) pointers.push_back(&type);
  QUERN_ASSIGN_OR_RETURN(const TensorType type, infer_fused_program(program, pointers));
  QUERN_ASSIGN_OR_RETURN(const Between x, Between::make(type));
  QUERN_TRY(run_fused_program(program, context.inputs, x.view));
  const Attributes attributes = dynamic_attributes(context.attributes);
  return builtin_ops()
      .find("quant.dynamic")
      ->reference({.inputs = {&x.view, 1}, .outputs = context.outputs, .attributes = attributes});
}

// No f32_bound of their own: the parts' bounds add up in ways that only the program knows.
constexpr char kFusedEdges[] =
    "As its parts, one after another, each with its error and a rounding to its type; also where "
    "there are no elements.";

// Tensors that the program reads besides the products; there may be none.
// The last port; it may have no tensors at all.
PortDef operands_port() {
  return {.name = "operands", .is_optional = true, .is_variadic = true};
}

// Nodes with a matrix product in front.
void register_products(OpRegistry& registry) {
  registry.add(
      {.id = "fused.linear",
       .doc = "projection.linear, then the program on its result (x0) and the operands "
              "(x1, ...): activation, residual, bias.",
       .shape_rule =
           "x, weight, bias and scale as in projection.linear; operands as the program takes them.",
       .edge_rule = kFusedEdges,
       .inputs = {port("x"), port("weight"), optional_port("bias"), optional_port("scale"),
                  operands_port()},
       .outputs = {port("y")},
       .attributes = {number("weight_scale", 1.0, "As in projection.linear."),
                      program_attribute("Elementwise operations after the product.")},
       .infer = infer_fused_linear,
       .reference = run_fused_linear});
  registry.add(
      {.id = "fused.gated_linear",
       .doc = "Two projection.linear of one x, then the program on their results (x0 of "
              "the gate, x1 of up) and the operands (x2, ...).",
       .shape_rule = "x, weights, biases and scale as in projection.linear; operands as the "
                     "program takes them.",
       .edge_rule = kFusedEdges,
       .inputs = {port("x"), port("gate_weight"), port("up_weight"), optional_port("gate_bias"),
                  optional_port("up_bias"), optional_port("scale"), operands_port()},
       .outputs = {port("y")},
       .attributes = {number("weight_scale", 1.0, "Of the gate, as in projection.linear."),
                      number("up_weight_scale", 1.0, "Of up."),
                      program_attribute("Elementwise operations after the products.")},
       .infer = infer_gated_linear,
       .reference = run_gated_linear});
  registry.add({.id = "fused.matmul",
                .doc = "math.matmul, then the program on its result (x0) and the operands (x1, "
                       "...).",
                .shape_rule =
                    "a [M, K] and b [K, N] of one float dtype; operands as the program takes them.",
                .edge_rule = kFusedEdges,
                .inputs = {port("a"), port("b"), operands_port()},
                .outputs = {port("c")},
                .attributes = {program_attribute("Elementwise operations after the product.")},
                .infer = infer_fused_matmul,
                .reference = run_fused_matmul});
}

}  // namespace

void register_fused_node_ops(OpRegistry& registry) {
  registry.add({.id = "fused.elementwise",
                .doc = "A program of elementwise operations on the inputs x0, x1, ..., each result "
                       "rounded to its type: \"math.mul(x0, x1); activation.relu(v0)\".",
                .shape_rule = "Inputs as the program takes them, each of them read; y has the type "
                              "of the last result.",
                .edge_rule = kFusedEdges,
                .inputs = {variadic_port("x")},
                .outputs = {port("y")},
                .attributes = {program_attribute("The operations, in order.")},
                .infer = infer_elementwise,
                .reference = run_elementwise,
                .in_place_input = 0});
  register_products(registry);
  registry.add({.id = "fused.attention",
                .doc = "math.matmul(q, kt), the program on the scores (x0) and the operands (x1, "
                       "...), math.softmax, math.matmul with v: in the order of the parts, not in "
                       "that of the attention operations.",
                .shape_rule = "q [T, D], kt [D, S] and v [S, E] of one float dtype; out [T, E].",
                .edge_rule = kFusedEdges,
                .inputs = {port("q"), port("kt"), port("v"), operands_port()},
                .outputs = {port("out")},
                .attributes = {program_attribute("Elementwise operations on the scores.")},
                .infer = infer_fused_attention,
                .reference = run_fused_attention});
  registry.add(
      {.id = "fused.quantize",
       .doc = "quant.dynamic of the result of a program of norms and elementwise "
              "operations on the inputs x0, x1, ....",
       .shape_rule =
           "Inputs as the program takes them, each of them read; q and d as in quant.dynamic.",
       .edge_rule = kFusedEdges,
       .inputs = {variadic_port("x")},
       .outputs = {port("q"), port("d")},
       .attributes = {integer("block", 32, "As in quant.dynamic."),
                      integer("bits", 8, "As in quant.dynamic."),
                      program_attribute("The operations before the quantisation.")},
       .infer = infer_fused_quantize,
       .reference = run_fused_quantize});
}

}  // namespace quern
