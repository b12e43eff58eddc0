// Every family of operations, once.
#include "ops/register_ops.h"

namespace quern {

const OpRegistry& builtin_ops() {
  static const OpRegistry registry = [] {
    OpRegistry ops;
#define QUERN_ADD_FAMILY(name) register_##name(ops);
    QUERN_OP_FAMILIES(QUERN_ADD_FAMILY)
#undef QUERN_ADD_FAMILY
#undef QUERN_OP_FAMILIES
    return ops;
  }();
  return registry;
}

}  // namespace quern
