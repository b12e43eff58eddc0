// Key-value stores of a run, checked against the states that a graph declares.
#pragma once

#include <vector>

#include "quern/device.h"
#include "runtime/host_kv_store.h"

namespace quern::cpu {

// By state of the graph. Errors name the state: not bound, not in host memory, or with other
// layers, heads, dims or types than declared.
Result<std::vector<HostKvStore*>> bind_states(const Graph& graph, const RunArguments& arguments);

}  // namespace quern::cpu
