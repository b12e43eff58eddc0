// The tokens of a vocabulary: texts, types, roles, and which of them end a generation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "text/text_index.h"
#include "text/vocabulary.h"

namespace quern {

// Thread-safe after construction.
class TokenTable {
 public:
  // Takes tokens and types out of the vocabulary and completes its special ids: defaults of the
  // tokenizer kind, then well-known texts (well_known_tokens_table.cc).
  // Errors: kInvalidArgument when it has no tokens, too many, or lists of unequal length.
  static Result<TokenTable> make(Vocabulary& vocabulary);

  // Ids are 0 to size() - 1.
  int32_t size() const { return static_cast<int32_t>(texts_.size()); }
  bool contains(int32_t id) const { return id >= 0 && id < size(); }
  // The id must be in the table.
  std::string_view text(int32_t id) const { return texts_[static_cast<size_t>(id)]; }
  // Of an id that contains() has.
  TokenType type(int32_t id) const { return types_[static_cast<size_t>(id)]; }
  // Control and unknown tokens: they stand for no text.
  bool is_special(int32_t id) const {
    return type(id) == TokenType::kControl || type(id) == TokenType::kUnknown;
  }
  // The lowest id with this text, or kNoToken.
  int32_t find(std::string_view text) const { return index_.find(text); }

  // Resolved: kNoToken where the model has none.
  const SpecialIds& special() const { return special_; }
  // Sorted.
  std::span<const int32_t> end_of_generation_ids() const { return end_ids_; }
  // Whether generation stops at it.
  bool is_end_of_generation(int32_t id) const;

 private:
  TokenTable() = default;
  // In this order: later ones fill what is missing.
  void resolve_special_ids(const Vocabulary& vocabulary);
  void resolve_well_known_tokens();
  void resolve_end_of_generation();

  std::vector<std::string> texts_;
  std::vector<TokenType> types_;
  TextIndex index_;  // keys are in texts_
  // And all tokens that end an answer.
  SpecialIds special_;
  std::vector<int32_t> end_ids_;
};

}  // namespace quern
