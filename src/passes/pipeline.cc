// The list of passes, the choice among them, and the loop that runs them.
#include "passes/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/fail.h"
#include "passes/canonicalise.h"
#include "passes/eliminate_common_subexpressions.h"
#include "passes/eliminate_dead_code.h"
#include "passes/expand_composites.h"
#include "passes/fuse_attention.h"
#include "passes/fuse_elementwise.h"
#include "passes/fuse_products.h"
#include "passes/fuse_quantize.h"
#include "passes/lower.h"
#include "passes/pin_random.h"
#include "passes/place.h"
#include "passes/simplify.h"
#include "passes/verify_graph.h"
#include "quern/op.h"

namespace quern {
namespace {

// The order matters: names and ids are fixed before anything moves, composites expand before
// nodes are compared, products fuse before elementwise groups take their parts.
constexpr Pass kDefaultPipeline[] = {
    {"verify", verify_graph, "a graph that breaks the rules must not reach a backend"},
    // After `verify`, which it may rely on, and before any pass that adds or removes nodes.
    {"pin_random", pin_random, "random numbers must not depend on the other passes"},
    // Before `expand_composites`, which asks the node's own backend for its kernels.
    {"place", place, "a node must not run elsewhere than asked"},
    {"canonicalise", canonicalise},
    // After `canonicalise`, so that an alias of a composite expands like the composite.
    {"expand_composites", expand_composites},
    {"simplify", simplify},
    // After `simplify`, which makes equal what was spelt differently.
    {"eliminate_common_subexpressions", eliminate_common_subexpressions},
    // The most specific pattern first: products that it takes are gone for the others.
    {"fuse_attention", fuse_attention},
    {"fuse_products", fuse_products},
    {"fuse_quantize", fuse_quantize},
    {"fuse_elementwise", fuse_elementwise},
    // Once, at the end: every pass leaves to it what nobody reads any more.
    {"eliminate_dead_code", eliminate_dead_code},
    {"lower", lower, "a node must not lose precision or its kernel in silence"},
};

// The pass of that name; null if there is none.
// Linear: a dozen names.
const Pass* find_pass(std::span<const Pass> pipeline, std::string_view name) {
  const auto found = std::ranges::find(pipeline, name, &Pass::name);
  return found == pipeline.end() ? nullptr : &*found;
}

// A misspelt name must not switch off nothing. plan_memory is no graph pass but can be named.
Result<void> check_names(std::span<const Pass> pipeline, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (find_pass(pipeline, name) != nullptr || name == kPlanMemory) continue;
    std::vector<std::string_view> known;
    for (const Pass& pass : pipeline) known.push_back(pass.name);
    known.push_back(kPlanMemory);
    return fail::not_found("There is no pass '{}'; the passes are {}.", name,
                           fmt::join(known, ", "));
  }
  return {};
}

// Runs one pass and reports it. Debug builds verify every graph that a pass makes.
Result<Graph> run_pass(const Graph& graph, const Pass& pass, const PassOptions& options,
                       const PassObserver& observer) {
  const auto start = std::chrono::steady_clock::now();
  auto next = pass.run(graph, options);
#ifndef NDEBUG
  // Release builds verify once, in the pass `verify`.
  if (next) {
    if (auto valid = verify(*next); !valid) next = tl::unexpected(valid.error());
  }
#endif
  if (!next) {
    return tl::unexpected(next.error().with_context(fmt::format("Pass {}", pass.name)));
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  if (observer) observer({pass.name, graph, *next, spent.count()});
  return next;
}

}  // namespace

// Whether somebody outside the graph reads a result of the node by name.
bool PassOptions::is_readable(const Graph& graph, const Node& node) const {
  if (readable.empty()) return false;
  // By the name of any output; readable lists are short (a handful of probes).
  return std::ranges::any_of(node.outputs, [&](ValueId output) {
    return std::ranges::find(readable, graph.value(output).name) != readable.end();
  });
}

std::span<const Pass> default_pipeline() {
  return kDefaultPipeline;
}

// `only` names the passes that stay on, `off` those that do not; an empty `only` means all.
bool is_pass_on(const PassSelection& selection, std::string_view name) {
  const auto has = [&](const std::vector<std::string>& list) {
    return std::ranges::find(list, name) != list.end();
  };
  // `off` wins over `only` where a name stands in both.
  return (selection.only.empty() || has(selection.only)) && !has(selection.off);
}

// The passes to run, in order. Required ones run in any case; asking to leave one out is an
// error that says why it is required.
Result<std::vector<Pass>> select_passes(std::span<const Pass> pipeline,
                                        const PassSelection& selection) {
  QUERN_TRY(check_names(pipeline, selection.only));
  QUERN_TRY(check_names(pipeline, selection.off));
  std::vector<Pass> passes;
  for (const Pass& pass : pipeline) {
    const bool is_required = !pass.why_required.empty();
    if (is_required && std::ranges::find(selection.off, pass.name) != selection.off.end()) {
      return fail::invalid("The pass '{}' cannot be switched off: {}.", pass.name,
                           pass.why_required);
    }
    if (is_required || is_pass_on(selection, pass.name)) passes.push_back(pass);
  }
  return passes;
}

// The observer sees the graph before and after each pass, with the seconds it took.
Result<Graph> run_passes(const Graph& graph, std::span<const Pass> passes,
                         const PassOptions& options, const PassObserver& observer) {
  // Passes are pure: the caller's graph stays as it was.
  Graph current = graph;
  for (const Pass& pass : passes) {
    QUERN_ASSIGN_OR_RETURN(current, run_pass(current, pass, options, observer));
  }
  return current;
}

}  // namespace quern
