// The pre-tokenizers of published byte-level vocabularies: name in the file -> splitting rules.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace quern {

// What becomes of a text's matches and of what lies between them.
enum class SplitKind {
  kMatches,       // each match is a piece, and so is each stretch between matches
  kDigitTriples,  // as kMatches, but a match is cut in groups of three characters from its end
  kTripleCuts,    // cuts only before each full group of three, counted from the end of a match
};

// One split of a pre-tokenizer. The pattern is PCRE2's with Unicode properties.
struct SplitRule {
  std::string_view pattern;  // see text/regex.h
  SplitKind kind = SplitKind::kMatches;
};

// Rules apply in order, each to all pieces that the ones before it left.
struct PreTokenizerSpec {
  std::string_view name;  // tokenizer.ggml.pre
  // A row of the table.
  std::span<const SplitRule> rules;
  bool ignore_merges = false;  // a piece that is a token as a whole is not merged
  bool add_bos = false;        // when the file does not say
};

// Null for an unknown name. An empty name is "default".
const PreTokenizerSpec* find_pre_tokenizer(std::string_view name);

// Immutable, for the life of the program.
std::span<const PreTokenizerSpec> pre_tokenizers();

// All names, sorted: "a, b, c".
std::string pre_tokenizer_names();

}  // namespace quern
