// The list of passes.
#include "passes/pipeline.h"

#include <array>

#include "base/fail.h"
#include "passes/eliminate_common_subexpressions.h"
#include "passes/eliminate_dead_code.h"

namespace quern {
namespace {

constexpr std::array kDefaultPipeline = {
    Pass{"eliminate_common_subexpressions", eliminate_common_subexpressions},
    Pass{"eliminate_dead_code", eliminate_dead_code},
};

}  // namespace

std::span<const Pass> default_pipeline() {
  return kDefaultPipeline;
}

Result<Graph> run_passes(const Graph& graph, std::span<const Pass> passes,
                         const PassOptions& options) {
  Graph current = graph;
  for (const Pass& pass : passes) {
    auto next = pass.run(current, options);
    if (!next) {
      return tl::unexpected(next.error().with_context(fmt::format("Pass {}", pass.name)));
    }
    current = std::move(*next);
#ifndef NDEBUG
    QUERN_TRY(verify(current));
#endif
  }
  return current;
}

}  // namespace quern
