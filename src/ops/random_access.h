// The random numbers of a node, from its attribute `seed` and the run's counters.
#pragma once

#include "ops/op_parts.h"
#include "ops/philox.h"
#include "quern/op.h"

namespace quern {

// Philox keyed by the attribute `seed`, with the stream and node id of the context.
inline RandomWords random_words(const KernelContext& context) {
  return {.seed = static_cast<uint64_t>(context.attributes.integer("seed")),
          .stream = context.stream,
          .node_id = context.node_id};
}

// Element i of a standard normal sequence, in f32; elements 2j and 2j + 1 share their words.
float normal_f32(const RandomWords& random, uint64_t i);

inline AttributeDef seed_attribute() {
  return op_parts::integer("seed", 0, "Key of the generator, 64 bits.");
}

}  // namespace quern
