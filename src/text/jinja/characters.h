// Python's view of characters: classes, case and white space of code points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::jinja {

// Python's str.isprintable of one character: what repr() shows as it is.
bool is_printable(uint32_t code_point);
bool is_space(uint32_t code_point);   // str.isspace
bool is_letter(uint32_t code_point);  // str.isalpha
bool is_digit(uint32_t code_point);   // decimal digits of any script
// str.isdigit: also superscripts, circled digits and the like.
bool is_digit_sign(uint32_t code_point);
// str.isnumeric: also fractions, Roman numerals and the usual ideographs of numbers.
bool is_numeric(uint32_t code_point);
// Letters that have a case: str.isupper and the like look at these only.
bool is_cased(uint32_t code_point);
bool is_upper(uint32_t code_point);
bool is_lower(uint32_t code_point);
// "\w" of a regular expression.
bool is_word(uint32_t code_point);

// Python's str.upper and str.lower: full mappings of Unicode, so that lengths may change.
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
// The first character as a title, the rest in lower case.
std::string capitalize(std::string_view text);
// For comparisons without case: "ß" is "ss".
std::string fold_case(std::string_view text);
// Upper case to lower and the other way round; what has neither case stays.
std::string swap_case(std::string_view text);
// Each run of letters capitalised, as str.title().
std::string title(std::string_view text);

// The text by characters; bytes that are not UTF-8 count as one each.
std::vector<std::string_view> split_characters(std::string_view text);
// Code points of valid UTF-8.
int64_t count_characters(std::string_view text);
// Where in bytes character `index` begins; the size where there are no more.
size_t character_offset(std::string_view text, int64_t index);

// Without the characters of `set` at either side; without a set, white space.
std::string_view strip_left(std::string_view text, const std::string* set = nullptr);
// Removes whitespace, or the characters of `set`, from the end.
std::string_view strip_right(std::string_view text, const std::string* set = nullptr);

}  // namespace quern::jinja
