// Every family of operations, once.
#include "ops/register_ops.h"

namespace quern {

// A local static: made once, by the first call of any thread, and never changed after. A second
// definition of an id ends the process here.
const OpRegistry& builtin_ops() {
  static const OpRegistry registry = [] {
    OpRegistry ops;
#define QUERN_ADD_FAMILY(name) register_##name(ops);
    QUERN_OP_FAMILIES(QUERN_ADD_FAMILY)
#undef QUERN_ADD_FAMILY
    // The list has no user beyond this point.
#undef QUERN_OP_FAMILIES
    return ops;
  }();
  return registry;
}

}  // namespace quern
