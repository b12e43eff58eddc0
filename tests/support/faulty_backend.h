// Backends that are wrong on purpose: another backend behind a change of what it is given.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "quern/device.h"

namespace quern::test {

// A graph with the same values by name, one of which means something else.
using GraphFault = std::function<Result<Graph>(const Graph& graph, const CompileOptions& options)>;

struct FaultyOptions {
  std::string name = "faulty";
  GraphFault fault = {};  // applied to each graph before it is compiled; empty: none
  // What its devices say of themselves instead.
  std::optional<bool> has_f64 = {};
  std::optional<CorrectnessClass> correctness = {};
};

// `inner` compiles and runs.
std::unique_ptr<Backend> make_faulty_backend(std::unique_ptr<Backend> inner, FaultyOptions options);

// The graph with another value of an attribute of one node; unchanged where it has no such node.
GraphFault change_attribute(std::string node, std::string attribute, AttributeValue value);

}  // namespace quern::test
