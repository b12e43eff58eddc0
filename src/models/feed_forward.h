// Feed-forward layers that several families share.
#pragma once

#include "models/model_builder.h"

namespace quern {

// down(silu(gate(h)) * up(h)), tensors blk.N.ffn_{gate,up,down}. h [T, hidden] -> [T, hidden]
ValueId swiglu_feed_forward(ModelBuilder& m, const DecoderConfig& config, int64_t layer, ValueId h);

// down(gelu_tanh(gate(h)) * up(h)).
ValueId geglu_feed_forward(ModelBuilder& m, const DecoderConfig& config, int64_t layer, ValueId h);

// down(gelu_tanh(up(h))), with biases where the file has them.
ValueId gelu_feed_forward(ModelBuilder& m, const DecoderConfig& config, int64_t layer, ValueId h);

}  // namespace quern
