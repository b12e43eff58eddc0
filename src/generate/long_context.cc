// Bookkeeping of sequences around the threshold.
// Rotary factors are part of cached keys: when they change, all keys of the sequence are computed
// again.
#include "generate/long_context.h"

#include <algorithm>

#include "base/fail.h"

namespace quern {

// The caller knows that the sequence will reach this length.
void LongContext::plan(int32_t sequence, int64_t length) {
  // One entry for each id that was ever planned; ids are recycled by the store.
  if (is_on()) sequences_[sequence].planned = length;
}

// Once in the life of a sequence: short rows do not fit long factors.
Result<bool> LongContext::must_restart(int32_t sequence, int64_t cached) {
  Sequence& s = sequences_[sequence];
  const bool was_long = s.is_long;
  // By the length that the sequence will have: a prompt that passes the threshold is long from its
  // first token on.
  s.is_long = s.planned > threshold_;
  if (cached == 0) {  // a fresh sequence, perhaps under a recycled id
    s.tokens.clear();
    return false;
  }
  if (s.is_long == was_long) return false;
  if (static_cast<int64_t>(s.tokens.size()) < cached) {
    // The rows in the cache stay what they are.
    s.is_long = was_long;
    return fail::precondition(
        "Sequence {} passes {} tokens, where the model's rotary factors "
        "change, and its first {} tokens are not known any more.",
        sequence, threshold_, cached);
  }
  // Tokens behind the cache were truncated or never run.
  s.tokens.resize(static_cast<size_t>(cached));
  return true;
}

// Tokens of the rows, in order.
std::span<const int32_t> LongContext::history(int32_t sequence) const {
  return sequences_.at(sequence).tokens;
}

// False for sequences that are not known.
bool LongContext::is_long(int32_t sequence) const {
  const auto it = sequences_.find(sequence);
  return it != sequences_.end() && it->second.is_long;
}

// For rows that came from elsewhere.
void LongContext::adopt(int32_t sequence, std::span<const int32_t> tokens, bool is_long) {
  if (!is_on()) return;
  // planned = 0 until somebody says more.
  sequences_[sequence] = {{tokens.begin(), tokens.end()}, 0, is_long};
}

// The same history and factors.
void LongContext::clone(int32_t sequence, int32_t clone) {
  if (is_on()) sequences_[clone] = sequences_[sequence];
}

// The tokens of dropped rows.
void LongContext::evict(int32_t sequence, int64_t start, int64_t count) {
  const auto it = sequences_.find(sequence);
  if (it == sequences_.end()) return;
  auto& tokens = it->second.tokens;
  const auto size = static_cast<int64_t>(tokens.size());
  // A history may be shorter than the cache: rows that were imported without tokens.
  const int64_t first = std::min(start, size);
  tokens.erase(tokens.begin() + first, tokens.begin() + std::min(start + count, size));
}

// Forgets what stood behind `cached` before.
void LongContext::append(int32_t sequence, int64_t cached, std::span<const int32_t> tokens) {
  Sequence& s = sequences_[sequence];
  // A cache that was truncated behind our back: the tokens behind its end are gone.
  s.tokens.resize(std::min(s.tokens.size(), static_cast<size_t>(cached)));
  s.tokens.insert(s.tokens.end(), tokens.begin(), tokens.end());
}

}  // namespace quern
