// Gated and plain feed-forward layers.
#include "models/feed_forward.h"

#include "base/fail.h"

namespace quern {

// down(silu(gate(h)) * up(h)), all products without bias in Llama; gate and up read one h, so that
// their `quant.dynamic` nodes are equal and common subexpressions leave one.
ValueId swiglu_feed_forward(ModelBuilder& m, const DecoderConfig& c, int64_t layer, ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  const ValueId gate = m.linear(h, blk + "ffn_gate", c.hidden, c.ffn);  // [T, ffn]
  const ValueId up = m.linear(h, blk + "ffn_up", c.hidden, c.ffn);      // [T, ffn]
  // One operation and not silu followed by mul: backends fuse it into the products before it, and
  // its rounding order is stated once.
  const ValueId y =
      m.graph().add("activation.swiglu_tensors", {gate, up}, {}, blk + "swiglu");  // [T, ffn]
  return m.linear(y, blk + "ffn_down", c.ffn, c.hidden);
}

ValueId geglu_feed_forward(ModelBuilder& m, const DecoderConfig& c, int64_t layer, ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  const ValueId gate = m.linear(h, blk + "ffn_gate", c.hidden, c.ffn);  // [T, ffn]
  const ValueId up = m.linear(h, blk + "ffn_up", c.hidden, c.ffn);      // [T, ffn]
  // The operation's GELU is on its second port.
  const ValueId y =
      m.graph().add("activation.geglu_tanh_tensors", {up, gate}, {}, blk + "geglu");  // [T, ffn]
  return m.linear(y, blk + "ffn_down", c.ffn, c.hidden);
}

// down(gelu(up(h))), h being the output of the second norm of the block.
ValueId gelu_feed_forward(ModelBuilder& m, const DecoderConfig& c, int64_t layer, ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  const ValueId up = m.linear(h, blk + "ffn_up", c.hidden, c.ffn);                  // [T, ffn]
  // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the form that GPT-2 and StarCoder2 trained
  // with; the erf form is up to 5e-4 away.
  const ValueId y = m.graph().add("activation.gelu_tanh", {up}, {}, blk + "gelu");  // [T, ffn]
  return m.linear(y, blk + "ffn_down", c.ffn, c.hidden);
}

}  // namespace quern
