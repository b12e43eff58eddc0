// GGUF files do not say which tokens swallow white space; the few models that have such tokens are
// known by name.
#include "text/special_splitter.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace quern {
namespace {

// ASCII whitespace, as the flags of tokens mean it.
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// ASCII.
std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Which tokens swallow white space, by the name of the model.
class StripRules {
 public:
  // Which families strip spaces around special tokens.
  explicit StripRules(const Vocabulary& v) {
    const std::string name = lower(v.model_name);
    const auto has = [](std::string_view text, std::string_view part) {
      return text.find(part) != std::string_view::npos;
    };
    is_phi3_ = has(name, "phi-3") || has(name, "phi3");
    strips_mask_ = has(name, "modern-bert") || has(v.pre_tokenizer, "jina-v2-de") ||
                   has(v.pre_tokenizer, "jina-v2-es") || has(v.pre_tokenizer, "jina-v2-code") ||
                   v.architecture == "nomic-bert-moe" || v.architecture == "jina-bert-v3";
  }
  // Whether spaces before the token go with it.
  bool left(std::string_view text) const {
    return strips_mask_ && (text == "<mask>" || text == "[MASK]");
  }
  bool right(std::string_view text) const {
    return is_phi3_ && text != "<unk>" && text != "<s>" && text != "<|endoftext|>";
  }

 private:
  bool is_phi3_ = false;
  bool strips_mask_ = false;
};

}  // namespace

// Longer tokens win over shorter ones that begin alike.
SpecialSplitter::SpecialSplitter(const TokenTable& table, const Vocabulary& vocabulary) {
  const StripRules rules(vocabulary);
  for (int32_t id = 0; id < table.size(); ++id) {
    const bool is_user_defined = table.type(id) == TokenType::kUserDefined;
    const std::string_view text = table.text(id);
    if (text.empty() || !(is_user_defined || table.is_special(id))) continue;
    const Entry entry{text, id, rules.left(text), rules.right(text)};
    all_.add(entry);
    if (is_user_defined) user_defined_.add(entry);
  }
  all_.finish();
  user_defined_.finish();
}

// Sorted by text, after all entries.
void SpecialSplitter::Matcher::finish() {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.text != b.text ? a.text < b.text : a.id < b.id;
  });
  for (const Entry& entry : entries_) ++first_[static_cast<uint8_t>(entry.text[0]) + 1U];
  // Counts to offsets: entries that begin with byte b are [first_[b], first_[b + 1]).
  for (size_t b = 1; b < first_.size(); ++b) first_[b] += first_[b - 1];
}

// The longest entry that begins the text; null for none.
const SpecialSplitter::Entry* SpecialSplitter::Matcher::match(std::string_view text) const {
  const auto lead = static_cast<uint8_t>(text[0]);
  auto low = entries_.begin() + first_[lead];
  auto high = entries_.begin() + first_[lead + 1U];
  const Entry* best = nullptr;
  for (size_t depth = 1; low != high; ++depth) {
    // All of [low, high) begin with the first `depth` bytes of the text; the shortest is first.
    if (low->text.size() == depth) {
      best = &*low;
      while (low != high && low->text.size() == depth) ++low;  // texts that stand twice
    }
    if (depth == text.size()) break;
    const auto byte = [depth](const Entry& e) { return static_cast<uint8_t>(e.text[depth]); };
    const auto wanted = static_cast<uint8_t>(text[depth]);
    low = std::partition_point(low, high, [&](const Entry& e) { return byte(e) < wanted; });
    high = std::partition_point(low, high, [&](const Entry& e) { return byte(e) == wanted; });
  }
  return best;
}

// Ordinary text and special tokens in turn; control tokens only where they are asked for.
std::vector<TextPart> SpecialSplitter::split(std::string_view text, bool parse_special) const {
  const Matcher& matcher = parse_special ? all_ : user_defined_;
  std::vector<TextPart> parts;
  size_t begin = 0;  // of the text not yet in a part
  for (size_t i = 0; i < text.size();) {
    const Entry* entry = matcher.match(text.substr(i));
    if (!entry) {
      ++i;
      continue;
    }
    size_t end = i;
    if (entry->strips_left) {
      // Not before `begin`: the space may belong to a token that was found already.
      while (end > begin && is_space(text[end - 1])) --end;
    }
    if (end > begin) parts.push_back({text.substr(begin, end - begin), kNoToken});
    parts.push_back({entry->text, entry->id});
    i += entry->text.size();
    if (entry->strips_right) {
      while (i < text.size() && is_space(text[i])) ++i;
    }
    begin = i;
  }
  if (begin < text.size()) parts.push_back({text.substr(begin), kNoToken});
  return parts;
}

}  // namespace quern
