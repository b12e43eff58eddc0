// Byte-level BPE (GPT-2 and its descendants; "gpt2" in files): words from a pre-tokenizer, bytes as
// first symbols, merges in the order of the file.
#pragma once

#include <memory>

#include "quern/error.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace quern {

// Invalid UTF-8: each longest run of bytes that is no UTF-8 is a word of its own, and the text
// before and behind it is split as if it ended and began there.
// A character with a byte that has no token becomes U+FFFD, and so does such a byte outside of
// UTF-8. So decode(encode(x)) == x for any bytes when the vocabulary has all 256.
Result<std::unique_ptr<Tokenizer>> make_bpe_tokenizer(Vocabulary vocabulary);

}  // namespace quern
