// The random numbers of a node, from its attribute `seed` and the run's counters.
#pragma once

#include "ops/op_parts.h"
#include "ops/philox.h"
#include "quern/op.h"

namespace quern {

// The attribute `node_id` where it is given, else the node's index in its graph. Compilation fixes
// the attribute before it changes a graph, so that no pass can change random numbers.
inline uint32_t random_node_id(const KernelContext& context) {
  const int64_t fixed = context.attributes.integer("node_id");
  // The verifier keeps the attribute at -1 or in 32 bits, so the cast loses nothing.
  return fixed < 0 ? context.node_id : static_cast<uint32_t>(fixed);
}

// Philox keyed by the attribute `seed`, with the stream and node id of the context.
// A negative seed is its two's complement; all 64 bits are the key.
inline RandomWords random_words(const KernelContext& context) {
  return {.seed = static_cast<uint64_t>(context.attributes.integer("seed")),
          .stream = context.stream,
          .node_id = random_node_id(context)};
}

// Element i of a standard normal sequence, in f32; elements 2j and 2j + 1 share their words.
// At most sqrt(48 log 2) = 5.77 in size, since u1 is 2^-24 or more.
float normal_f32(const RandomWords& random, uint64_t i);

// Attributes of every random operation.
inline AttributeDef seed_attribute() {
  return op_parts::integer("seed", 0, "Key of the generator, 64 bits.");
}
inline AttributeDef node_id_attribute() {
  return op_parts::integer("node_id", -1,
                           "Node id of the counter, 32 bits; -1: the node's index in its graph.");
}

}  // namespace quern
