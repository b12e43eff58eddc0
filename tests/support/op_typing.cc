// Type rules as text.
#include "support/op_typing.h"

#include <gtest/gtest.h>

#include <vector>

#include "ir/tensor_type.h"
#include "ir/text_cursor.h"
#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern::test {
namespace {

// Adds an input for each type between semicolons; `_` adds none.
Result<std::vector<ValueId>> add_inputs(GraphBuilder& builder, std::string_view text) {
  std::vector<ValueId> ids;
  while (!text.empty()) {
    const size_t end = text.find(';');
    std::string_view part = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    if (part == "_") {
      ids.push_back(kNoValue);
      continue;
    }
    QUERN_ASSIGN_OR_RETURN(TensorType type, parse_tensor_type(part));
    ids.push_back(builder.input("x" + std::to_string(ids.size()), std::move(type)));
  }
  return ids;
}

Result<std::string> infer(std::string_view id, std::string_view inputs, std::string_view attributes,
                          std::string_view state) {
  GraphBuilder builder(builtin_ops());
  if (!state.empty()) {
    const std::string braces = "{" + std::string(state) + "}";
    QUERN_ASSIGN_OR_RETURN(Attributes declared, TextCursor(braces, 1).attributes());
    builder.state({"kv", "kv", std::move(declared)});
  }
  QUERN_ASSIGN_OR_RETURN(const std::vector<ValueId> ids, add_inputs(builder, inputs));
  QUERN_ASSIGN_OR_RETURN(Attributes given, TextCursor(attributes, 1).attributes());
  builder.add(id, ids, std::move(given), "n");
  std::string types;
  for (const ValueId output : builder.last_outputs()) {
    types += (types.empty() ? "" : "; ") + builder.type(output)->to_string();
  }
  QUERN_ASSIGN_OR_RETURN(const Graph graph, builder.finish());
  return types;
}

}  // namespace

std::string inferred_types(std::string_view id, std::string_view inputs,
                           std::string_view attributes, std::string_view state) {
  const auto types = infer(id, inputs, attributes, state);
  if (types) return *types;
  constexpr std::string_view kNode = "Node 'n': ";
  const std::string& message = types.error().message;
  return message.starts_with(kNode) ? message.substr(kNode.size()) : message;
}

void expect_types(std::initializer_list<TypeCase> cases) {
  expect_types_with_state("", cases);
}

void expect_types_with_state(std::string_view state, std::initializer_list<TypeCase> cases) {
  for (const TypeCase& c : cases) {
    EXPECT_EQ(inferred_types(c.id, c.inputs, c.attributes, state), c.expected)
        << c.id << " (" << c.inputs << ") " << c.attributes;
  }
}

}  // namespace quern::test
