// Gated and plain feed-forward layers.
#include "models/feed_forward.h"

#include "base/fail.h"

namespace quern {

ValueId swiglu_feed_forward(ModelBuilder& m, const DecoderConfig& c, int64_t layer, ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  const ValueId gate = m.linear(h, blk + "ffn_gate", c.hidden, c.ffn);  // [T, ffn]
  const ValueId up = m.linear(h, blk + "ffn_up", c.hidden, c.ffn);      // [T, ffn]
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

ValueId gelu_feed_forward(ModelBuilder& m, const DecoderConfig& c, int64_t layer, ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  const ValueId up = m.linear(h, blk + "ffn_up", c.hidden, c.ffn);                  // [T, ffn]
  const ValueId y = m.graph().add("activation.gelu_tanh", {up}, {}, blk + "gelu");  // [T, ffn]
  return m.linear(y, blk + "ffn_down", c.ffn, c.hidden);
}

}  // namespace quern
