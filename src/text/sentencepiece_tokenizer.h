// SentencePiece BPE ("llama" in files): a space is written ▁, neighbours join when the joined text
// is a token, highest score first; characters without a token become <0xNN> byte tokens.
#pragma once

#include <memory>

#include "quern/error.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace quern {

// Control, unknown and byte tokens never come from plain text. Invalid UTF-8: each byte becomes its
// byte token. Errors: kInvalidArgument, also for a score that is not a number.
Result<std::unique_ptr<Tokenizer>> make_sentencepiece_tokenizer(Vocabulary vocabulary);

}  // namespace quern
