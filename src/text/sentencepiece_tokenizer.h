// SentencePiece BPE: a space is written ▁, and characters without a token become <0xNN> byte
// tokens. "llama" in files: neighbours join when the joined text is a token, highest score first.
// "gemma4", and the pre-tokenizers of "gpt2" that names_text_merges() knows: neighbours join by a
// list of merges, in its order; no begin token but for gemma4 and no space in front unless the file
// says so.
#pragma once

#include <memory>
#include <string_view>

#include "quern/error.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace quern {

// Control, unknown and byte tokens never come from plain text. Invalid UTF-8: each byte becomes its
// byte token. Errors: kInvalidArgument, also for a score that is not a number or a merge
// that does not join two tokens to a third.
Result<std::unique_ptr<Tokenizer>> make_sentencepiece_tokenizer(Vocabulary vocabulary);

// Whether a pre-tokenizer of the kind "gpt2" stands for merges over text instead of byte letters.
bool names_text_merges(std::string_view pre_tokenizer);

}  // namespace quern
