// Feed-forward layers that several families share.
#pragma once

#include "models/model_builder.h"

namespace quern {

// down(silu(gate(h)) * up(h)), tensors blk.N.ffn_{gate,up,down}. h [T, hidden] -> [T, hidden]
// SwiGLU (Shazeer 2020, arXiv:2002.05202).
ValueId swiglu_feed_forward(ModelBuilder& m, const DecoderConfig& config, int64_t layer, ValueId h);

// down(gelu_tanh(gate(h)) * up(h)).
// GeGLU of the same paper. h [T, hidden] -> [T, hidden]
ValueId geglu_feed_forward(ModelBuilder& m, const DecoderConfig& config, int64_t layer, ValueId h);

// down(gelu_tanh(up(h))), with biases where the file has them.
// The plain layer of GPT-2. h [T, hidden] -> [T, hidden]
ValueId gelu_feed_forward(ModelBuilder& m, const DecoderConfig& config, int64_t layer, ValueId h);

}  // namespace quern
