// Passes on graphs in short text, for tables of rewrites.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>

#include "passes/pipeline.h"
#include "quern/graph.h"
#include "quern/op.h"

namespace quern::test {

// A graph from "x f32[T, 4]; y f32[4]" (inputs) and lines of the text form.
inline Result<Graph> short_graph(std::string_view inputs, std::string_view body) {
  std::string text = "graph {\n";
  while (!inputs.empty()) {
    const size_t end = inputs.find(';');
    std::string_view part = inputs.substr(0, end);
    inputs.remove_prefix(end == std::string_view::npos ? inputs.size() : end + 1);
    while (part.starts_with(' ')) part.remove_prefix(1);
    const size_t space = part.find(' ');
    text += "%" + std::string(part.substr(0, space)) + " = Input() {type = \"" +
            std::string(part.substr(space + 1)) + "\"}\n";
  }
  return parse_graph(text + std::string(body) + "\n}\n", builtin_ops());
}

// The lines of a graph without its frame, inputs, types and blanks in front.
inline std::string short_text(const Graph& graph) {
  std::stringstream lines(print_graph(graph));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ") || line.find(" = Input()") != std::string::npos) continue;
    // Types follow from the inputs; without them a table row stays one line. States have no type.
    const size_t type = line.starts_with("  state") ? std::string::npos : line.rfind(" : ");
    text += line.substr(2, type == std::string::npos ? type : type - 2) + "\n";
  }
  return text;
}

inline const Pass* pass_named(std::string_view name) {
  const auto passes = default_pipeline();
  const auto found = std::ranges::find(passes, name, &Pass::name);
  return found == passes.end() ? nullptr : &*found;
}

// What the pass makes of the graph, or "error: " and the message.
inline std::string after_pass(std::string_view pass, const Graph& graph,
                              const PassOptions& options = {}) {
  const auto changed = pass_named(pass)->run(graph, options);
  return changed ? short_text(*changed) : "error: " + changed.error().message;
}

struct Rewrite {
  std::string_view inputs;
  std::string_view before;
  std::string_view after;  // "same": the pass leaves the graph as it is
};

// Checks each rewrite, and that a second run of the pass finds nothing more to do.
inline void expect_rewrites(std::string_view pass, std::initializer_list<Rewrite> rewrites,
                            // "same" is compared with the graph as parsed, so both sides are
                            // printed alike.
                            const PassOptions& options = {}) {
  for (const Rewrite& rewrite : rewrites) {
    const auto graph = short_graph(rewrite.inputs, rewrite.before);
    ASSERT_TRUE(graph) << graph.error().message << "\n" << rewrite.before;
    const auto changed = pass_named(pass)->run(*graph, options);
    ASSERT_TRUE(changed) << changed.error().message << "\n" << rewrite.before;
    const std::string expected =
        rewrite.after == "same" ? short_text(*graph) : std::string(rewrite.after) + "\n";
    EXPECT_EQ(short_text(*changed), expected);
    // A pass that finds work twice is not at its end, or two of its rules undo each other.
    const auto again = pass_named(pass)->run(*changed, options);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(short_text(*again), expected) << "a second run";
  }
}

}  // namespace quern::test
