// Whether the metadata of a language model makes sense, before a model or tokenizer is built on it.
#pragma once

#include "formats/metadata.h"

namespace quern {

// Checks what every family shares: general.architecture is there; the sizes under
// "<architecture>." are positive integers, or arrays of one per layer; heads are a multiple of
// key-value heads; the arrays of the tokenizer have one entry per token and special ids lie in the
// vocabulary. Keys that are absent are left to the model. Leaves no trace in the record of keys
// read. Errors: kInvalidArgument, kNotFound (the architecture).
Result<void> check_model_metadata(const Metadata& metadata);

}  // namespace quern
