// SentencePiece unigram ("t5" in files): the pieces whose scores sum to the most.
#pragma once

#include <memory>

#include "quern/error.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace quern {

// The text is normalised by the rules of the vocabulary first, so decode() does not give it back in
// general. Control, unknown, unused and byte tokens never come from plain text. A character that no
// piece is costs the lowest score of a normal piece less 10; it becomes byte tokens where the
// vocabulary has all 256, else each run of such characters is one unknown token.
// Time is linear in the text, for pieces of at most kMaxPieceBytes. Scores sum in double.
// Errors: kInvalidArgument, also for a score that is not finite, a longer piece, or a broken
// character map.
Result<std::unique_ptr<Tokenizer>> make_unigram_tokenizer(Vocabulary vocabulary);

// Longer pieces would make the window, and the work for each character, too large.
inline constexpr size_t kMaxPieceBytes = 1024;

}  // namespace quern
