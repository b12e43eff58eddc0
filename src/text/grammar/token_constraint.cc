// A walk over the trie of tokens in step with the automaton of the grammar.
// Parts of the trie below which every byte is allowed are taken as a whole.
#include "text/grammar/token_constraint.h"

#include "base/fail.h"

namespace quern {
namespace {

using State = GrammarAutomaton::State;

constexpr size_t kMaxMasks = 1024;  // 6 MiB for 49,152 tokens

}  // namespace

// Shares the trie; an automaton of its own.
TokenConstraint::TokenConstraint(std::shared_ptr<const TokenTrie> trie, const Grammar& grammar)
    : trie_(std::move(trie)),
      automaton_(grammar),
      state_(automaton_.start()),
      path_(trie_->max_depth() + 1) {}

// Masks of forgotten states go too.
void TokenConstraint::forget_all_but_state() {
  masks_.clear();
  state_ = automaton_.keep_only(state_);
}

// Before a step, so that a long answer does not reach the limits.
void TokenConstraint::forget_if_filling() {
  if (automaton_.is_filling()) forget_all_but_state();
  if (masks_.size() >= kMaxMasks) masks_.clear();
}

// Whether no byte below a node can leave the path of main steps, at any depth. So most of the trie
// needs no steps of its own inside strings, counted ones too.
bool TokenConstraint::allows_all(State state, const TokenTrie::Below& below) {
  for (size_t depth = 0; depth < below.height; ++depth) {
    const GrammarAutomaton::MainStep& main = automaton_.main_step(state);
    // The bytes of all depths below stand for each depth: more than needed, so "true" is safe.
    if ((below.bytes & ~main.bytes).any()) return false;
    if (main.target == state) return true;
    state = main.target;
  }
  return true;
}

// False when a limit of the automaton was reached.
bool TokenConstraint::walk_trie(TokenMask& mask) {
  const TokenTrie& trie = *trie_;
  path_[0] = state_;
  for (size_t i = 0; i < trie.size();) {
    const TokenTrie::Node& node = trie.node(i);
    const State parent = path_[node.depth - 1];
    const State next = automaton_.step(parent, node.byte);
    if (next == GrammarAutomaton::kTooLarge) return false;
    size_t last = i + 1;
    if (next == GrammarAutomaton::kDead) {
      i = node.end;
      continue;
    }
    if (node.below != TokenTrie::kNone && allows_all(next, trie.below(node.below))) {
      last = node.end;
    }
    // Tokens of nodes i to last - 1 lie side by side: a whole subtree is one range.
    for (const int32_t token : trie.tokens(i, last)) mask.set(token);
    path_[node.depth] = next;
    i = last;
  }
  return true;
}

// Tokens of the trie that the automaton can take from here. Errors: kResourceExhausted.
Result<TokenMask> TokenConstraint::compute_mask() {
  const Tokenizer& tokenizer = trie_->tokenizer();
  TokenMask mask(tokenizer.vocab_size());
  if (!walk_trie(mask)) {
    // Once more with nothing but this state remembered.
    forget_all_but_state();
    mask = TokenMask(tokenizer.vocab_size());
    if (!walk_trie(mask)) {
      return fail::exhausted(
          "The grammar is too ambiguous: one token reaches over the limit of "
          "states.");
    }
  }
  if (can_end()) {
    for (const int32_t id : tokenizer.end_of_generation_ids()) mask.set(id);
  }
  if (mask.is_empty() && !must_end()) {
    return fail::precondition("The grammar can go on here, but with no token of the vocabulary.");
  }
  return mask;
}

// Remembered for each state.
Result<const TokenMask*> TokenConstraint::allowed() {
  if (has_ended_) return fail::precondition("The constrained text has ended.");
  forget_if_filling();
  const auto found = masks_.find(state_);
  if (found != masks_.end()) return found->second.get();
  QUERN_ASSIGN_OR_RETURN(TokenMask mask, compute_mask());
  auto& kept = masks_[state_];
  kept = std::make_unique<const TokenMask>(std::move(mask));
  return kept.get();
}

// Errors: kInvalidArgument for a token that is not allowed.
Result<void> TokenConstraint::accept(int32_t token) {
  if (has_ended_) return fail::precondition("The constrained text has ended.");
  const Tokenizer& tokenizer = trie_->tokenizer();
  if (tokenizer.is_end_of_generation(token) && can_end()) {
    has_ended_ = true;
    return {};
  }
  forget_if_filling();
  State next = GrammarAutomaton::kDead;
  const std::string_view bytes = tokenizer.token_bytes(token);
  const bool is_text = !tokenizer.is_special(token) && !tokenizer.is_end_of_generation(token);
  if (is_text && !bytes.empty()) next = automaton_.walk(state_, bytes);
  if (next == GrammarAutomaton::kTooLarge) {
    forget_all_but_state();
    next = automaton_.walk(state_, bytes);
  }
  if (next == GrammarAutomaton::kTooLarge) {
    return fail::exhausted(
        "The grammar is too ambiguous: token {} reaches over the limit of states.", token);
  }
  if (next == GrammarAutomaton::kDead) {
    return fail::invalid("The grammar does not allow token {} ('{}') here.", token,
                         tokenizer.token_text(token));
  }
  state_ = next;
  return {};
}

}  // namespace quern
