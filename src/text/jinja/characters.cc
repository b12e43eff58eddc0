// Classes and case of characters, from Unicode's data.
// Python's classes follow Unicode's properties, which are more than the general category.
#include "text/jinja/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "text/jinja/special_case_table.h"
#include "text/utf8.h"

namespace quern::jinja {
namespace {

// General category of Unicode.
utf8proc_category_t category(uint32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

// Which mapping append_mapped() takes.
enum class Case { kUpper, kLower, kTitle, kNone };

// Special cases first: they map to several characters.
void append_mapped(uint32_t code_point, Case to, std::string& out) {
  const auto signed_point = static_cast<utf8proc_int32_t>(code_point);
  if (to == Case::kNone) return append_utf8(code_point, out);
  if (to == Case::kLower) {
    if (code_point == 0x130) {
      out += "i\xCC\x87";  // the only letter whose lower case is two
    } else {
      append_utf8(static_cast<uint32_t>(utf8proc_tolower(signed_point)), out);
    }
    return;
  }
  if (const SpecialCase* special = find_special_case(code_point)) {
    out += to == Case::kUpper ? special->upper : special->title;
    return;
  }
  const auto mapped =
      to == Case::kUpper ? utf8proc_toupper(signed_point) : utf8proc_totitle(signed_point);
  append_utf8(static_cast<uint32_t>(mapped), out);
}

// A sigma at the end of a word has a lower case of its own (Unicode, Final_Sigma).
constexpr uint32_t kCapitalSigma = 0x3A3;
constexpr std::string_view kFinalSigma = "\xCF\x82";

// Greek writes a sigma that ends a word in another form. Marks and the like between letters and
// the sigma do not matter here: templates have no such text.
bool is_final_sigma(std::string_view before, std::string_view after) {
  if (before.empty()) return false;
  size_t begin = before.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(before[begin]) & 0xC0) == 0x80) --begin;
  if (!is_cased(decode_utf8(before.substr(begin)).code_point)) return false;
  return after.empty() || !is_cased(decode_utf8(after).code_point);
}

// Maps each character by what stands around it.
template <class CaseOf>
std::string map_case(std::string_view text, const CaseOf& case_of) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = decode_utf8(text.substr(i));
    if (step.status != Utf8Status::kValid) {
      out += text.substr(i, step.size);
    } else {
      const Case to = case_of(step.code_point);
      if (to == Case::kLower && step.code_point == kCapitalSigma &&
          is_final_sigma(text.substr(0, i), text.substr(i + step.size))) {
        out += kFinalSigma;
      } else {
        append_mapped(step.code_point, to, out);
      }
    }
    i += step.size;
  }
  return out;
}

// Code points, both ends included, in order.
struct Range {
  uint32_t first;
  uint32_t last;
};

// Unicode's Numeric_Type=Digit without the decimal digits.
constexpr Range kDigitSigns[] = {
    {0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
    {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
    {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};
// Ideographs of numbers up to 10^12: letters by their category.
constexpr uint32_t kNumberIdeographs[] = {0x4E00, 0x4E03, 0x4E07, 0x4E09, 0x4E5D, 0x4E8C,
                                          0x4E94, 0x4EBF, 0x5104, 0x5146, 0x516B, 0x516D,
                                          0x5341, 0x5343, 0x56DB, 0x767E, 0x842C, 0x96F6};
// Unicode's Other_Uppercase and Other_Lowercase: letters and numbers that have a case by their
// look.
constexpr Range kOtherUpper[] = {
    {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
constexpr Range kOtherLower[] = {
    {0xAA, 0xAA},     {0xBA, 0xBA},     {0x2B0, 0x2B8},   {0x2C0, 0x2C1},   {0x2E0, 0x2E4},
    {0x345, 0x345},   {0x37A, 0x37A},   {0x1D2C, 0x1D6A}, {0x1D78, 0x1D78}, {0x1D9B, 0x1DBF},
    {0x2071, 0x2071}, {0x207F, 0x207F}, {0x2090, 0x209C}, {0x2170, 0x217F}, {0x24D0, 0x24E9},
    {0x2C7C, 0x2C7D}, {0xA69C, 0xA69D}, {0xA770, 0xA770}, {0xA7F8, 0xA7F9}, {0xAB5C, 0xAB5F}};

bool is_among(std::span<const Range> ranges, uint32_t code_point) {
  return std::ranges::any_of(
      ranges, [&](const Range& r) { return code_point >= r.first && code_point <= r.last; });
}

// Whether the character is to be stripped: whitespace where there is no set.
bool in_set(uint32_t code_point, std::string_view character, const std::string* set) {
  return set == nullptr ? is_space(code_point) : set->find(character) != std::string::npos;
}

}  // namespace

// What Python's repr() does not escape: no controls, separators but the space, or unassigned
// points.
bool is_printable(uint32_t code_point) {
  if (code_point < 0x7F) return code_point >= ' ';
  switch (category(code_point)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

// Python's str.isspace: separators and the controls that end lines or words.
bool is_space(uint32_t code_point) {
  if (code_point < 0x80) {
    return code_point == ' ' || (code_point >= 9 && code_point <= 13) ||
           (code_point >= 0x1C && code_point <= 0x1F);
  }
  return code_point == 0x85 || category(code_point) == UTF8PROC_CATEGORY_ZS ||
         code_point == 0x2028 || code_point == 0x2029;
}

// Any letter, of any case.
bool is_letter(uint32_t code_point) {
  const auto kind = category(code_point);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

// Nd: characters that int() takes.
bool is_digit(uint32_t code_point) {
  return category(code_point) == UTF8PROC_CATEGORY_ND;
}

bool is_digit_sign(uint32_t code_point) {
  return is_digit(code_point) || is_among(kDigitSigns, code_point);
}

bool is_numeric(uint32_t code_point) {
  const auto kind = category(code_point);
  return (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO) ||
         std::ranges::find(kNumberIdeographs, code_point) != std::end(kNumberIdeographs);
}

// ASCII first: texts are mostly that, and it needs no table.
bool is_upper(uint32_t code_point) {
  if (code_point < 0x80) return code_point >= 'A' && code_point <= 'Z';
  return category(code_point) == UTF8PROC_CATEGORY_LU || is_among(kOtherUpper, code_point);
}

bool is_lower(uint32_t code_point) {
  if (code_point < 0x80) return code_point >= 'a' && code_point <= 'z';
  return category(code_point) == UTF8PROC_CATEGORY_LL || is_among(kOtherLower, code_point);
}

// Lu, Ll, Lt and the others with the property Cased.
bool is_cased(uint32_t code_point) {
  return is_upper(code_point) || is_lower(code_point) ||
         category(code_point) == UTF8PROC_CATEGORY_LT;
}

// What \w matches: letters, digits and the underscore.
bool is_word(uint32_t code_point) {
  const auto kind = category(code_point);
  return code_point == '_' || is_letter(code_point) ||
         (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO);
}

std::string to_upper(std::string_view text) {
  return map_case(text, [](uint32_t) { return Case::kUpper; });
}

std::string to_lower(std::string_view text) {
  return map_case(text, [](uint32_t) { return Case::kLower; });
}

std::string swap_case(std::string_view text) {
  return map_case(text, [](uint32_t c) {
    return is_upper(c) ? Case::kLower : is_lower(c) ? Case::kUpper : Case::kNone;
  });
}

// Case folding for comparisons without case: str.casefold, not lower.
std::string fold_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = decode_utf8(text.substr(i));
    // No character folds into more than three.
    utf8proc_int32_t folded[8] = {};
    int boundary = 0;
    const auto size = step.status != Utf8Status::kValid
                          ? 0
                          : utf8proc_decompose_char(static_cast<utf8proc_int32_t>(step.code_point),
                                                    folded, 8, UTF8PROC_CASEFOLD, &boundary);
    for (utf8proc_ssize_t k = 0; k < size && k < 8; ++k) {
      append_utf8(static_cast<uint32_t>(folded[k]), out);
    }
    if (size <= 0) out += text.substr(i, step.size);
    i += step.size;
  }
  return out;
}

// The first character in title case, the others in lower case.
std::string capitalize(std::string_view text) {
  bool is_first = true;
  return map_case(text, [&](uint32_t) {
    const bool was_first = std::exchange(is_first, false);
    return was_first ? Case::kTitle : Case::kLower;
  });
}

// Each word's first letter in title case; letters behind other letters in lower case.
std::string title(std::string_view text) {
  bool follows_letter = false;
  return map_case(text, [&](uint32_t code_point) {
    const bool followed = std::exchange(follows_letter, is_cased(code_point));
    return followed ? Case::kLower : Case::kTitle;
  });
}

// Views into `text`, a character each.
std::vector<std::string_view> split_characters(std::string_view text) {
  std::vector<std::string_view> characters;
  characters.reserve(text.size());
  while (!text.empty()) {
    const size_t size = decode_utf8(text).size;
    characters.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return characters;
}

// Continuation bytes are not counted.
int64_t count_characters(std::string_view text) {
  int64_t count = 0;
  for (size_t i = 0; i < text.size(); ++count) {
    i += static_cast<unsigned char>(text[i]) < 0x80 ? 1 : decode_utf8(text.substr(i)).size;
  }
  return count;
}

// Byte offset of the character `index`; the size of the text for one past its end.
size_t character_offset(std::string_view text, int64_t index) {
  size_t offset = 0;
  for (; index > 0 && offset < text.size(); --index) {
    offset += decode_utf8(text.substr(offset)).size;
  }
  return offset;
}

// Characters of `set`, or whitespace, from the begin.
std::string_view strip_left(std::string_view text, const std::string* set) {
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    if (!in_set(step.code_point, text.substr(0, step.size), set)) break;
    text.remove_prefix(step.size);
  }
  return text;
}

std::string_view strip_right(std::string_view text, const std::string* set) {
  while (!text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && text.size() - begin < 4 &&
           (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) {
      --begin;
    }
    Utf8Step step = decode_utf8(text.substr(begin));
    if (begin + step.size != text.size()) {
      begin = text.size() - 1;  // a stray continuation byte
      step = decode_utf8(text.substr(begin));
    }
    if (!in_set(step.code_point, text.substr(begin), set)) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

}  // namespace quern::jinja
