// Descriptions by kind of step.
#include "backends/cpu/kernel_choice.h"

#include <fmt/format.h>

#include "backends/cpu/op_table.h"
#include "backends/cpu/steps/activation_kind.h"
#include "ops/fused_program.h"
#include "quern/op.h"

namespace quern::cpu {
namespace {

bool is_loaded_weight(const Graph& graph, ValueId value) {
  return graph.node(graph.value(value).producer).op->id == "graph.weight";
}

// "q4_1 x int16 product"
std::string product_name(const Graph& graph, const Node& node, size_t weight) {
  const DType x = graph.value(node.inputs[0]).type.dtype;
  return fmt::format("{} x {} product", dtype_name(graph.value(node.inputs[weight]).type.dtype),
                     activation_kind_name(activation_kind_of(x)));
}

size_t count_instructions(const Graph& graph, const Node& node) {
  const auto program = parse_fused_program(node.attributes.text("program"), graph.registry());
  return program ? program->instructions.size() : 0;
}

std::string operations(size_t count) {
  return fmt::format("{} operation{}", count, count == 1 ? "" : "s");
}

KernelChoice choose_product(const Graph& graph, const Node& node) {
  const bool is_packed = is_loaded_weight(graph, node.inputs[1]);
  KernelChoice choice{product_name(graph, node, 1),
                      is_packed ? "The weight is packed for this instruction set at load."
                                : "The weight is computed in the run and packed each time."};
  if (node.op->id == "fused.linear") {
    choice.kernel +=
        fmt::format(", then {} in the store", operations(count_instructions(graph, node)));
    choice.reason += " Nobody else reads the product, so what follows it is fused.";
  } else if (node.op->id == "fused.gated_linear") {
    choice.kernel = "two " + choice.kernel + "s, then the gate in the store";
    choice.reason += " Both products have the same activations, and only the gate reads them.";
  }
  return choice;
}

KernelChoice choose_fused(const Graph& graph, const Node& node) {
  const std::string count = operations(count_instructions(graph, node));
  if (node.op->id == "fused.elementwise") {
    return {count + " in one pass", "A chain whose results nobody else reads."};
  }
  if (node.op->id == "fused.quantize") {
    return {count + " and quantisation in one pass over rows",
            "Only the quantisation reads the rows, so they need no memory."};
  }
  if (node.op->id == "fused.attention") {
    return {"blocks of 64 query rows through both products",
            "Only softmax and product read the scores; the order of their parts is kept."};
  }
  return {"f32 product, then " + count + " in the store",
          "Nobody else reads the product, so what follows it is fused."};
}

}  // namespace

KernelChoice choose_kernel(const Graph& graph, const Node& node, const Capabilities& capabilities) {
  const OpEntry* entry = find_entry(*node.op);
  if (entry == nullptr) return {"none", "The backend has no kernel for it."};
  if (entry->kind == Support::Kind::kGraphOnly) {
    return {"none", "The value is there when a run starts."};
  }
  if (entry->is_view) return {"view", "It shares the memory of its input."};
  if (entry->kind == Support::Kind::kRegistry) {
    return {"reference loops", "There is no kernel of its own: plain loops define it."};
  }
  KernelChoice choice{std::string(entry->id), "There is a kernel of its own."};
  if (entry->packed_weight >= 0 && entry->id != "experts.linear") {
    choice = choose_product(graph, node);
  } else if (entry->id == "experts.linear") {
    choice = {product_name(graph, node, 1), "Tokens are sorted by expert; weights are packed."};
  } else if (entry->refuse != nullptr) {
    choice = choose_fused(graph, node);
  }
  choice.kernel += ", " + capabilities.arch;
  return choice;
}

}  // namespace quern::cpu
