// What runs a node where a backend says nothing more than its support. Here and not with the rest of
// the contract in runtime: passes are the first to ask a backend, and this is what makes its class.
#include "quern/device.h"
#include "quern/op.h"

namespace quern {

// By support alone, which is all that a backend with one kernel per operation can say.
KernelChoice Backend::choose_kernel(const Graph&, const Node& node, const Capabilities&) const {
  const Support support = supports(*node.op);
  switch (support.kind) {
    case Support::Kind::kDirect:
      return {node.op->id, "The backend has a kernel of its own."};
    case Support::Kind::kRegistry:
      return {"reference kernel", "The backend lists no kernel of its own."};
    case Support::Kind::kComposite:
      return {"expansion", "The operation is made of others."};
    case Support::Kind::kGraphOnly:
      return {"none", "The value is there when a run starts."};
    case Support::Kind::kMissing:
      break;
  }
  return {"none", support.reason};
}

}  // namespace quern
