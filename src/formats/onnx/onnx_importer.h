// ONNX graphs to Quern's. Operators without an operation of their own become a few.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/onnx/onnx_model.h"
#include "quern/graph.h"

namespace quern::onnx {

// What whoever imports a model decides.
struct ImportOptions {
  // Values of inputs that shapes, axes or indices follow from. An input that is read as a value too
  // stays an input of the graph.
  std::map<std::string, Tensor, std::less<>> known = {};
};

// Inputs that no node reads as values are left out. All shapes must be constant; bools are u8.
// Errors: kUnimplemented for an operator, type or form without an equivalent, with the reason;
// kInvalidArgument for a malformed node; both name the node.
Result<Graph> import_model(const OnnxModel& model, const OpRegistry& registry,
                           const ImportOptions& options = {});

// Operators of all domains that have an equivalent, sorted.
std::vector<std::string> known_operators();

}  // namespace quern::onnx
