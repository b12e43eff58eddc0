// One line per operation: id, kind, what makes its step.
#include "backends/cpu/op_table.h"

#include <algorithm>
#include <array>

#include "backends/cpu/steps/steps.h"
#include "quern/op.h"

namespace quern::cpu {
namespace {

using enum Support::Kind;

constexpr OpEntry kTable[] = {
    {.id = "Input", .kind = kGraphOnly},
    {.id = "embedding.token", .kind = kRegistry, .make = make_reference},
    {.id = "graph.constant", .kind = kGraphOnly},
    {.id = "graph.weight", .kind = kGraphOnly},
    {.id = "math.groupnorm", .kind = kRegistry, .make = make_reference},
    {.id = "math.layernorm", .kind = kRegistry, .make = make_reference},
    {.id = "math.matmul", .kind = kRegistry, .make = make_reference},
    {.id = "math.rmsnorm", .kind = kRegistry, .make = make_reference},
    {.id = "normalization.batch_norm_eval", .kind = kRegistry, .make = make_reference},
    {.id = "normalization.instance_norm", .kind = kRegistry, .make = make_reference},
    {.id = "projection.linear", .kind = kRegistry, .make = make_reference},
    {.id = "quant.dynamic", .kind = kRegistry, .make = make_reference},
    {.id = "shape.broadcast", .kind = kRegistry, .make = make_reference},
    {.id = "shape.concat", .kind = kRegistry, .make = make_reference},
    {.id = "shape.gather_rows", .kind = kRegistry, .make = make_reference},
    {.id = "shape.last_token", .kind = kRegistry, .make = make_reference},
    {.id = "shape.merge_heads", .kind = kRegistry, .make = make_reference},
    {.id = "shape.permute", .kind = kRegistry, .make = make_reference},
    {.id = "shape.reshape", .kind = kDirect, .is_view = true},
    {.id = "shape.slice", .kind = kRegistry, .make = make_reference},
    {.id = "shape.split", .kind = kRegistry, .make = make_reference},
    {.id = "shape.transpose", .kind = kRegistry, .make = make_reference},
    {.id = "shape.upsample_nearest2d", .kind = kRegistry, .make = make_reference},
    {.id = "shape.view_as_heads", .kind = kRegistry, .make = make_reference},
};

static_assert(std::ranges::is_sorted(kTable, {}, &OpEntry::id));

}  // namespace

std::span<const OpEntry> op_table() {
  return kTable;
}

const OpEntry* find_entry(const OpDef& op) {
  const std::string_view id = op.alias_of.empty() ? op.id : op.alias_of;
  const auto* found = std::ranges::lower_bound(kTable, id, {}, &OpEntry::id);
  return found != std::end(kTable) && found->id == id ? found : nullptr;
}

}  // namespace quern::cpu
