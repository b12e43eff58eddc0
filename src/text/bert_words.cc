// One pass over the code points; categories and decompositions are utf8proc's.
// The rules are those of the original BERT code, with its ranges of ideographs.
#include "text/bert_words.h"

#include <utf8proc.h>

#include <array>
#include <cstdint>

#include "text/utf8.h"

namespace quern {
namespace {

// Code points, both ends included.
struct Range {
  uint32_t first;
  uint32_t last;
};
// Ideographs as BERT's code lists them (the sixth range begins at 2B920 in the Rust port in use).
constexpr Range kIdeographs[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                 {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                 {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};

// CJK ideographs, each of which is a word of its own; the ranges are those of BERT's tokenizer.
bool is_ideograph(uint32_t c) {
  // Two comparisons for most letters: the first ranges hold nearly all ideographs in use.
  for (const Range& range : kIdeographs) {
    if (c >= range.first && c <= range.last) return true;
  }
  return false;
}

// Other control characters are removed, even those that are white space elsewhere (U+0085).
bool is_white_space(uint32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return true;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

// Controls and the replacement character leave no trace.
bool is_removed(uint32_t c) {
  if (c == 0 || c == 0xFFFD) return true;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

// Unicode's punctuation, and all ASCII signs, as BERT counts them.
bool is_punctuation(uint32_t c) {
  if (c < 0x80) {
    return (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) ||
           (c >= 0x7B && c <= 0x7E);
  }
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  // The seven P categories are neighbours in the library's enumeration: Pc, Pd, Ps, Pe, Pi, Pf, Po.
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

// Appends c decomposed, without the marks that take no space.
void push_without_accents(uint32_t c, std::vector<uint32_t>& out) {
  std::array<utf8proc_int32_t, 32> parts;  // the longest canonical decomposition is 4
  int boundary = 0;
  const auto count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(c), parts.data(), static_cast<utf8proc_ssize_t>(parts.size()),
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE), &boundary);
  for (utf8proc_ssize_t i = 0; i < count && i < static_cast<utf8proc_ssize_t>(parts.size()); ++i) {
    const utf8proc_int32_t part = parts[static_cast<size_t>(i)];
    // Mn: combining marks without width, which is what a decomposed accent is.
    if (utf8proc_category(part) != UTF8PROC_CATEGORY_MN) out.push_back(static_cast<uint32_t>(part));
  }
}

// Simple lower case of each letter, which may become several.
void lower(std::vector<uint32_t>& letters) {
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] == 0x130) {  // İ is the one letter that becomes two
      letters[i] = 'i';
      letters.insert(letters.begin() + static_cast<std::ptrdiff_t>(++i), 0x307);
    } else {
      letters[i] =
          static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(letters[i])));
    }
  }
}

// Collects letters into words. One thread only.
class Words {
 public:
  // Nothing is added for an empty word.
  void end_word() {
    if (!word_.empty()) words_.push_back(std::move(word_));
    word_.clear();
  }
  // A letter of the current word.
  void push(uint32_t c) {
    if (is_punctuation(c) || is_ideograph(c)) {
      end_word();
      append_utf8(c, word_);
      end_word();
    } else {
      append_utf8(c, word_);
    }
  }
  // The words, once, after the last letter.
  std::vector<std::string> take() {
    end_word();
    return std::move(words_);
  }

 private:
  std::string word_;
  std::vector<std::string> words_;
};

}  // namespace

// Cleans, lowers, strips accents, and splits at spaces, signs and ideographs (Devlin et al. 2018).
std::vector<std::string> bert_words(std::string_view text, const BertNormalization& options) {
  Words words;
  std::vector<uint32_t> letters;  // of one code point
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    text.remove_prefix(step.size);
    const uint32_t c = step.code_point;
    if (is_white_space(c)) {
      words.end_word();
      continue;
    }
    if (is_removed(c)) continue;
    letters.clear();
    // Accents before case: İ decomposes to I and a dot, and loses the dot before it is lowered.
    if (options.strip_accents) {
      push_without_accents(c, letters);
    } else {
      letters.push_back(c);
    }
    if (options.lowercase) lower(letters);
    for (const uint32_t letter : letters) words.push(letter);
  }
  return words.take();
}

}  // namespace quern
