// WordPiece ("bert" in files): cleaned words, each cut into the longest tokens from the left.
#pragma once

#include <memory>

#include "quern/error.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace quern {

// Tokens that begin a word start with ▁ in files; those that go on with one do not. A word without
// a cover of tokens, or of more than 100 characters, is one unknown token. Decoding gives the words
// with single spaces, not the text: the cleaning is not undone.
Result<std::unique_ptr<Tokenizer>> make_wordpiece_tokenizer(Vocabulary vocabulary);

}  // namespace quern
