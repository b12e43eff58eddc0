// Tokens that a grammar allows next, for the sampler.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "quern/error.h"
#include "text/grammar/grammar.h"
#include "text/grammar/grammar_automaton.h"
#include "text/grammar/token_mask.h"
#include "text/grammar/token_trie.h"

namespace quern {

// The text of one generation, held to a grammar token by token. Masks are remembered for each state
// of the grammar. Tokens that end a generation are allowed only where the grammar can end. One
// thread only; many constraints can share a trie and a grammar.
class TokenConstraint {
 public:
  // Begins at the empty text. One answer each.
  TokenConstraint(std::shared_ptr<const TokenTrie> trie, const Grammar& grammar);

  // What may come next; valid until the next call. Empty only when must_end() and the vocabulary
  // has no token that ends a generation.
  // Errors: kFailedPrecondition after an end token, or when the grammar can go on but with none of
  // the vocabulary's tokens; kResourceExhausted when the grammar is too ambiguous.
  Result<const TokenMask*> allowed();

  // Errors: kInvalidArgument for a token that is not allowed here; as of allowed().
  Result<void> accept(int32_t token);

  // Whether the text so far matches the grammar; whether nothing can follow it.
  bool can_end() const { return automaton_.can_end(state_); }
  // Whether only an end token may follow.
  bool must_end() const { return has_ended_ || automaton_.must_end(state_); }

  // Frees the masks; later ones are computed anew.
  void forget_masks() { masks_.clear(); }

 private:
  Result<TokenMask> compute_mask();
  bool allows_all(GrammarAutomaton::State state, const TokenTrie::Below& below);
  bool walk_trie(TokenMask& mask);
  void forget_all_but_state();
  void forget_if_filling();

  // Of the tokenizer, shared by all answers.
  std::shared_ptr<const TokenTrie> trie_;
  GrammarAutomaton automaton_;
  GrammarAutomaton::State state_;
  // After an end token.
  bool has_ended_ = false;
  std::unordered_map<GrammarAutomaton::State, std::unique_ptr<const TokenMask>> masks_;
  std::vector<GrammarAutomaton::State> path_;  // state at each depth of the walk
};

}  // namespace quern
