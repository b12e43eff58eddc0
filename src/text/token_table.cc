// Completion of what files leave out. The order matters: keys of the file, defaults of the kind,
// well-known texts; then the ends of generation from all three.
#include "text/token_table.h"

#include <algorithm>
#include <limits>

#include "base/fail.h"
#include "text/well_known_tokens_table.h"

namespace quern {
namespace {

// More tokens than any model has, and few enough for 32-bit ids with room to spare.
constexpr size_t kMaxTokens = size_t{1} << 28;
// Of one token.
constexpr size_t kMaxTokenBytes = size_t{1} << 20;

// Ids that files of a kind may leave out because everyone knows them.
SpecialIds default_ids(std::string_view model) {
  SpecialIds ids;
  if (model == "llama") {
    ids.unk = 0;
    ids.bos = 1;
    ids.eos = 2;
  } else if (model == "bert") {
    ids.pad = 0;
    ids.unk = 100;
    ids.bos = ids.cls = 101;
    ids.sep = 102;
    ids.mask = 103;
  } else if (model == "t5") {
    ids.pad = 0;
    ids.eos = 1;
    ids.unk = 2;
  }
  return ids;
}

// Every special id, to check them alike.
constexpr int32_t SpecialIds::*kAllRoles[] = {
    &SpecialIds::bos,     &SpecialIds::eos,     &SpecialIds::eot,     &SpecialIds::eom,
    &SpecialIds::unk,     &SpecialIds::sep,     &SpecialIds::pad,     &SpecialIds::cls,
    &SpecialIds::mask,    &SpecialIds::fim_pre, &SpecialIds::fim_suf, &SpecialIds::fim_mid,
    &SpecialIds::fim_pad, &SpecialIds::fim_rep, &SpecialIds::fim_sep};

// Lists of a vocabulary agree in length, and stay below the limits.
Result<void> check_sizes(const Vocabulary& v) {
  if (v.tokens.empty()) return fail::invalid("The vocabulary has no tokens.");
  if (v.tokens.size() > kMaxTokens) {
    return fail::invalid("The vocabulary has {} tokens; the limit is {}.", v.tokens.size(),
                         kMaxTokens);
  }
  if (!v.scores.empty() && v.scores.size() < v.tokens.size()) {
    return fail::invalid("The vocabulary has {} tokens but only {} scores.", v.tokens.size(),
                         v.scores.size());
  }
  if (!v.types.empty() && v.types.size() < v.tokens.size()) {
    return fail::invalid("The vocabulary has {} tokens but only {} token types.", v.tokens.size(),
                         v.types.size());
  }
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    if (v.tokens[i].size() > kMaxTokenBytes) {
      return fail::invalid("Token {} has {} bytes; the limit is {}.", i, v.tokens[i].size(),
                           kMaxTokenBytes);
    }
  }
  return {};
}

}  // namespace

// Moves the texts out of the vocabulary. Errors: kInvalidArgument.
Result<TokenTable> TokenTable::make(Vocabulary& vocabulary) {
  QUERN_TRY(check_sizes(vocabulary));
  TokenTable table;
  table.texts_ = std::move(vocabulary.tokens);
  table.types_ = std::move(vocabulary.types);
  table.types_.resize(table.texts_.size(), TokenType::kNormal);
  table.index_ = TextIndex(table.texts_.size());
  for (int32_t id = 0; id < table.size(); ++id) {
    if (!table.text(id).empty()) table.index_.insert(table.text(id), id);
  }
  table.resolve_special_ids(vocabulary);
  table.resolve_well_known_tokens();
  table.resolve_end_of_generation();
  return table;
}

// Ids of the file, where they are tokens.
void TokenTable::resolve_special_ids(const Vocabulary& vocabulary) {
  const SpecialIds defaults = default_ids(vocabulary.model);
  for (const auto role : kAllRoles) {
    const int32_t named = vocabulary.special.*role;
    // An id that is no token, such as -1 or one past the end, counts as absent.
    const int32_t id = contains(named) ? named : defaults.*role;
    special_.*role = contains(id) ? id : kNoToken;
  }
}

// Files without ids: tokens that everybody knows by their text.
void TokenTable::resolve_well_known_tokens() {
  for (const WellKnownToken& token : well_known_tokens()) {
    const int32_t id = find(token.text);
    if (id == kNoToken) continue;
    TokenType& type = types_[static_cast<size_t>(id)];
    // Texts such as "</s>" are markup in some vocabularies: the file's own type decides.
    if (token.effect == WellKnownEffect::kEndsIfControl && type != TokenType::kControl) continue;
    type = token.effect == WellKnownEffect::kShown ? TokenType::kUserDefined : TokenType::kControl;
    if (token.role && special_.*token.role == kNoToken) special_.*token.role = id;
    if (token.effect != WellKnownEffect::kNone && token.effect != WellKnownEffect::kShown) {
      end_ids_.push_back(id);
    }
  }
}

// All tokens at which models stop, whatever their role in the file.
void TokenTable::resolve_end_of_generation() {
  for (const auto role : {&SpecialIds::eos, &SpecialIds::eot, &SpecialIds::eom,
                          &SpecialIds::fim_pad, &SpecialIds::fim_rep, &SpecialIds::fim_sep}) {
    if (special_.*role != kNoToken) end_ids_.push_back(special_.*role);
  }
  const auto has = [&](std::string_view text) { return find(text) != kNoToken; };
  const auto spare = [&](std::string_view text, TokenType type) {
    const int32_t id = find(text);
    if (id == kNoToken) return;
    std::erase(end_ids_, id);
    types_[static_cast<size_t>(id)] = type;
  };
  // Where <|end|> closes a message of several (gpt-oss, Solar Open), it does not end the answer.
  if (has("<|return|>") && has("<|call|>")) spare("<|end|>", TokenType::kUserDefined);
  if (has("<|flush|>") && has("<|calls|>")) spare("<|end|>", TokenType::kUserDefined);
  // Gemma 4: </s> is HTML there.
  if (has("<|tool_response>")) spare("</s>", TokenType::kNormal);
  std::sort(end_ids_.begin(), end_ids_.end());
  end_ids_.erase(std::unique(end_ids_.begin(), end_ids_.end()), end_ids_.end());
}

// The ids are sorted.
bool TokenTable::is_end_of_generation(int32_t id) const {
  return std::binary_search(end_ids_.begin(), end_ids_.end(), id);
}

}  // namespace quern
