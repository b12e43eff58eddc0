// Which device runs each node; copies between devices are nodes.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// A node runs on the device it names, else on that of the first pattern of PassOptions::placement
// that matches its name, else on the default target. Inputs, weights and constants are everywhere.
// Where a value is read on another device than made, a graph.copy node moves it, once per device.
// With one device in use nodes name none.
// Runs first, so that no later pass joins nodes of two devices.
// Errors: an unknown device or one state used on two devices, with the node's name.
// Example, targets cpu and gpu, placement {"blk.1.*", "gpu"}:
//   %blk.0.y = math.exp(%x)                       %blk.0.y = math.exp(%x) @cpu
//   %blk.1.y = math.sin(%blk.0.y)           ->    %blk.0.y.on_gpu = graph.copy(%blk.0.y) @gpu
//                                                 %blk.1.y = math.sin(%blk.0.y.on_gpu) @gpu
Result<Graph> place(const Graph& graph, const PassOptions& options);

}  // namespace quern
