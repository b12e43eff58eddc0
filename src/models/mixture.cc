// Routing and expert layers.
#include "models/mixture.h"

#include "base/fail.h"

namespace quern {

// 0 experts: a dense model.
Result<MixtureConfig> read_mixture_config(const Metadata& m, const DecoderConfig& c) {
  MixtureConfig x;
  QUERN_ASSIGN_OR_RETURN(x.num_experts, m.integer_or(c.arch + ".expert_count", 0));
  QUERN_ASSIGN_OR_RETURN(x.num_used, m.integer_or(c.arch + ".expert_used_count", 0));
  QUERN_ASSIGN_OR_RETURN(x.ffn, m.integer_or(c.arch + ".expert_feed_forward_length", c.ffn));
  // The other keys may stand in a dense file; read, so that finish() knows them, but not judged.
  if (x.num_experts == 0) return x;
  if (x.num_experts < 0 || x.num_experts > (1 << 16)) {
    return fail::invalid("Key '{}.expert_count' is {}; it must be from 0 to 65536.", c.arch,
                         x.num_experts);
  }
  if (x.num_used < 1 || x.num_used > x.num_experts) {
    return fail::invalid("Key '{}.expert_used_count' is {}; it must be from 1 to the {} experts.",
                         c.arch, x.num_used, x.num_experts);
  }
  if (x.ffn < 1 || x.ffn > (1 << 26)) {
    return fail::invalid("Key '{}.expert_feed_forward_length' is {}; it must be from 1 to {}.",
                         c.arch, x.ffn, 1 << 26);
  }
  return x;
}

Routing route(ModelBuilder& m, const DecoderConfig& c, const MixtureConfig& x, int64_t layer,
              ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  GraphBuilder& g = m.graph();
  const ValueId logits =
      // A linear like any other: a router in float, as files have it, takes h in float.
      m.linear(h, blk + "ffn_gate_inp", c.hidden, x.num_experts);  // [T, experts]
  // A softmax over the chosen logits equals one over all, cut and renormalised.
  // Equal logits go to the lower expert, as sort.top_k defines: the choice is the same on every
  // backend.
  const ValueId best =  // f32[T, used]
      g.add("sort.top_k", {logits}, {{"k", x.num_used}}, blk + "ffn_best");
  // last_outputs() is empty after an error.
  if (g.has_error()) return {kNoValue, kNoValue};
  const ValueId experts = g.last_outputs()[1];  // i32[T, used]
  return {experts, g.add("math.softmax", {best}, {}, blk + "ffn_weights")};
}

ValueId swiglu_mixture(ModelBuilder& m, const DecoderConfig& c, const MixtureConfig& x,
                       int64_t layer, ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  GraphBuilder& g = m.graph();
  const Routing routing = route(m, c, x, layer, h);
  const ValueId gate = m.expert_linear(h, routing.experts, blk + "ffn_gate_exps", x.num_experts,
                                       c.hidden, x.ffn);  // [T, used, ffn]
  const ValueId up = m.expert_linear(h, routing.experts, blk + "ffn_up_exps", x.num_experts,
                                     c.hidden, x.ffn);  // [T, used, ffn]
  // [T, used, ffn]; each of the used experts has its own gate and up.
  const ValueId y = g.add("activation.swiglu_tensors", {gate, up}, {}, blk + "swiglu");
  const ValueId down = m.expert_linear(y, routing.experts, blk + "ffn_down_exps", x.num_experts,
                                       x.ffn, c.hidden);  // [T, used, hidden]
  // Sum over the used experts in their order, best first. -> [T, hidden]
  return g.add("experts.combine", {down, routing.weights}, {}, blk + "ffn_sum");
}

}  // namespace quern
