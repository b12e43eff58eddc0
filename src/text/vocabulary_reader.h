// The vocabulary that stands in a model file's metadata (keys of GGUF).
#pragma once

#include "formats/metadata.h"
#include "quern/error.h"
#include "text/vocabulary.h"

namespace quern {

// Errors: kNotFound (no tokenizer in the file), kInvalidArgument (a key with a wrong type), both
// with the key in the message. Sizes and ids are checked by make_tokenizer().
Result<Vocabulary> read_vocabulary(const Metadata& metadata);

}  // namespace quern
