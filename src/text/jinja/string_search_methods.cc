// Methods of strings that look into them or take them apart.
#include <algorithm>
#include <optional>

#include "base/fail.h"
#include "text/jinja/characters.h"
#include "text/jinja/environment.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_building.h"
#include "text/utf8.h"

namespace quern::jinja {
namespace {

// Parts as new texts in a list.
Result<Value> parts_list(Interpreter& interpreter, const Value& receiver,
                         const std::vector<std::string_view>& parts) {
  Heap& heap = interpreter.heap();
  // Each part has a value and a text; the bytes of all parts together are no more than the
  // receiver's.
  QUERN_TRY(
      heap.reserve(parts.size() * (sizeof(Value) + sizeof(std::string)) + receiver.text().size()));
  QUERN_TRY(heap.spend(parts.size()));
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) {
    items.push_back(heap.text(std::string(part), receiver.is_safe()));
  }
  return heap.list(std::move(items));
}

// At most `limit` cuts; any number where limit < 0. From the end where is_reversed.
std::vector<std::string_view> split_at(std::string_view text, std::string_view separator,
                                       int64_t limit, bool is_reversed) {
  std::vector<std::string_view> parts;
  for (; limit != 0; --limit) {
    const size_t at = is_reversed ? text.rfind(separator) : text.find(separator);
    if (at == std::string_view::npos) break;
    if (is_reversed) {
      parts.push_back(text.substr(at + separator.size()));
      text = text.substr(0, at);
    } else {
      parts.push_back(text.substr(0, at));
      text.remove_prefix(at + separator.size());
    }
  }
  parts.push_back(text);
  if (is_reversed) std::reverse(parts.begin(), parts.end());
  return parts;
}

// The bytes up to the first (last: is_reversed) white space.
std::string_view word_at(std::string_view text, bool is_reversed) {
  size_t size = 0;
  while (size < text.size()) {
    size_t step = 1;
    if (is_reversed) {
      // Back over the bytes 10xxxxxx to the first one of the character.
      while (size + step < text.size() &&
             (static_cast<unsigned char>(text[text.size() - size - step]) & 0xC0) == 0x80) {
        ++step;
      }
      if (is_space(decode_utf8(text.substr(text.size() - size - step)).code_point)) break;
    } else {
      const Utf8Step decoded = decode_utf8(text.substr(size));
      if (is_space(decoded.code_point)) break;
      step = decoded.size;
    }
    size += step;
  }
  return is_reversed ? text.substr(text.size() - size) : text.substr(0, size);
}

// At whitespace, which is never part of a word; rsplit counts its limit from the end.
std::vector<std::string_view> split_words(std::string_view text, int64_t limit, bool is_reversed) {
  std::vector<std::string_view> parts;
  // Only the side that cutting begins at: the rest behind the last cut keeps its spaces at its far
  // end.
  text = is_reversed ? strip_right(text) : strip_left(text);
  for (; limit != 0 && !text.empty(); --limit) {
    const std::string_view word = word_at(text, is_reversed);
    parts.push_back(word);
    if (is_reversed) {
      text.remove_suffix(word.size());
      text = strip_right(text);
    } else {
      text.remove_prefix(word.size());
      text = strip_left(text);
    }
  }
  // What is left by the limit; without one the text is used up.
  if (!text.empty()) parts.push_back(text);
  if (is_reversed) std::reverse(parts.begin(), parts.end());
  return parts;
}

// str.split and rsplit. Errors: an empty separator.
template <bool is_reversed>
Result<Value> split(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("split", {"sep", "maxsplit"}));
  QUERN_ASSIGN_OR_RETURN(const int64_t limit, bound.integer(1, -1));
  QUERN_TRY(interpreter.heap().spend_characters(receiver.text().size()));
  // At most one part for each byte, before it is known how many there are.
  QUERN_TRY(interpreter.heap().reserve_items(receiver.text().size()));
  if (!bound.is_given(0)) {
    return parts_list(interpreter, receiver, split_words(receiver.text(), limit, is_reversed));
  }
  QUERN_ASSIGN_OR_RETURN(const std::string_view separator, bound.text(0, ""));
  if (separator.empty()) return fail::invalid("The separator of split is empty");
  return parts_list(interpreter, receiver,
                    split_at(receiver.text(), separator, limit, is_reversed));
}

// str.splitlines: at every line break that Unicode knows.
Result<Value> splitlines(Interpreter& interpreter, const Value& receiver,
                         const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("splitlines", {"keepends"}));
  QUERN_TRY(interpreter.heap().spend_characters(receiver.text().size()));
  QUERN_TRY(interpreter.heap().reserve_items(receiver.text().size()));
  return parts_list(interpreter, receiver, split_lines(receiver.text(), bound.truth(0, false)));
}

// (before, separator, after); where it is absent, the text and two empty strings.
template <bool is_reversed>
Result<Value> partition(Interpreter& interpreter, const Value& receiver,
                        const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("partition", {"sep"}, 1));
  QUERN_ASSIGN_OR_RETURN(const std::string_view separator, bound.text(0, ""));
  if (separator.empty()) return fail::invalid("The separator of partition is empty");
  const std::string_view text = receiver.text();
  QUERN_TRY(interpreter.heap().spend_characters(text.size()));
  const size_t at = is_reversed ? text.rfind(separator) : text.find(separator);
  std::vector<std::string_view> parts = {text, "", ""};
  if (at == std::string_view::npos && is_reversed) parts = {"", "", text};
  if (at != std::string_view::npos) {
    parts = {text.substr(0, at), separator, text.substr(at + separator.size())};
  }
  QUERN_ASSIGN_OR_RETURN(const Value list, parts_list(interpreter, receiver, parts));
  list.list().kind = ListKind::kTuple;
  return list;
}

// A bound of find() and the like: from the end where it is negative, none for the fallback.
Result<int64_t> place_of(const BoundArguments& bound, size_t i, int64_t size, int64_t fallback) {
  if (!bound.is_given(i) || bound.value(i).is_none()) return fallback;
  QUERN_ASSIGN_OR_RETURN(const int64_t place, bound.integer(i, 0));
  return place < 0 ? std::max<int64_t>(place + size, 0) : place;
}

// The part of the receiver between the optional arguments first and first + 1; nothing where they
// hold no place at all, where not even the empty text is found.
Result<std::optional<Value>> range_of(Interpreter& interpreter, const Value& receiver,
                                      const BoundArguments& bound, size_t first) {
  // The usual call without bounds counts no characters.
  if (!bound.is_given(first) && !bound.is_given(first + 1)) return receiver;
  QUERN_TRY(interpreter.heap().spend_characters(receiver.text().size()));
  const int64_t size = count_characters(receiver.text());
  QUERN_ASSIGN_OR_RETURN(const int64_t start, place_of(bound, first, size, 0));
  QUERN_ASSIGN_OR_RETURN(const int64_t end, place_of(bound, first + 1, size, size));
  // 'abc'.find('', 4) is -1 although the empty text is everywhere: 4 lies past the end.
  if (start > std::min(end, size)) return std::optional<Value>();
  QUERN_ASSIGN_OR_RETURN(const Value part, slice(interpreter.heap(), receiver, bound.value(first),
                                                 bound.value(first + 1), Value::none()));
  return std::optional(part);
}

// str.startswith and endswith, with a tuple of texts and bounds.
template <bool at_begin>
Result<Value> has_affix(Interpreter& interpreter, const Value& receiver,
                        const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("a method", {"affix", "start", "end"}, 1));
  QUERN_ASSIGN_OR_RETURN(const auto part, range_of(interpreter, receiver, bound, 1));
  std::vector<Value> affixes = {bound.value(0)};
  if (affixes[0].is_list() && affixes[0].list().is_tuple()) affixes = bound.value(0).list().items;
  const std::string_view text = part ? part->text() : std::string_view();
  for (const Value& affix : affixes) {
    if (!affix.is_string()) {
      return fail::invalid("A string cannot begin or end with a value of type '{}'",
                           type_name(affix));
    }
    QUERN_TRY(interpreter.heap().spend_scan(affix.text().size()));
    // The types of the other affixes are still checked.
    if (!part || affix.text().size() > text.size()) continue;
    const size_t at = at_begin ? 0 : text.size() - affix.text().size();
    if (text.substr(at, affix.text().size()) == affix.text()) return Value::boolean(true);
  }
  return Value::boolean(false);
}

// The first (last) position in characters, from the begin of the whole string; -1 where absent.
Result<int64_t> position_of(Interpreter& interpreter, const Value& receiver,
                            const Arguments& arguments, bool is_reversed) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("a method", {"sub", "start", "end"}, 1));
  QUERN_ASSIGN_OR_RETURN(const std::string_view wanted, bound.text(0, ""));
  QUERN_ASSIGN_OR_RETURN(const auto part, range_of(interpreter, receiver, bound, 1));
  if (!part) return -1;
  const std::string_view text = part->text();
  QUERN_TRY(interpreter.heap().spend_characters(text.size()));
  const size_t at = is_reversed ? text.rfind(wanted) : text.find(wanted);
  if (at == std::string_view::npos) return -1;
  QUERN_ASSIGN_OR_RETURN(const int64_t start,
                         place_of(bound, 1, count_characters(receiver.text()), 0));
  return start + count_characters(text.substr(0, at));
}

// str.find and rfind: in characters, -1 where it is not there.
template <bool is_reversed>
Result<Value> find(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const int64_t at,
                         position_of(interpreter, receiver, arguments, is_reversed));
  return Value::integer(at);
}

// str.index and rindex. Errors: it is not there.
template <bool is_reversed>
Result<Value> index(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const int64_t at,
                         position_of(interpreter, receiver, arguments, is_reversed));
  if (at < 0) return fail::invalid("The string does not hold the one searched for");
  return Value::integer(at);
}

// str.count of texts that do not overlap.
Result<Value> count(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("count", {"sub", "start", "end"}, 1));
  QUERN_ASSIGN_OR_RETURN(const std::string_view wanted, bound.text(0, ""));
  QUERN_ASSIGN_OR_RETURN(const auto part, range_of(interpreter, receiver, bound, 1));
  if (!part) return Value::integer(0);
  const std::string_view text = part->text();
  QUERN_TRY(interpreter.heap().spend_characters(text.size()));
  // Before each character and at the end.
  if (wanted.empty()) return Value::integer(count_characters(text) + 1);
  int64_t number = 0;
  for (size_t at = text.find(wanted); at != std::string_view::npos;
       at = text.find(wanted, at + wanted.size())) {
    ++number;
  }
  return Value::integer(number);
}

// Whether there are characters and all of them are of a class.
template <bool (*is_member)(uint32_t)>
Result<Value> all_are(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("a method", {}));
  QUERN_TRY(interpreter.heap().spend_characters(receiver.text().size()));
  std::string_view text = receiver.text();
  bool holds = !text.empty();
  while (holds && !text.empty()) {
    const Utf8Step step = decode_utf8(text);
    holds = is_member(step.code_point);
    text.remove_prefix(step.size);
  }
  return Value::boolean(holds);
}

// For isalnum.
bool is_letter_or_number(uint32_t code_point) {
  return code_point != '_' && is_word(code_point);
}
// Unlike the other classes, the empty string is of this one.
Result<Value> is_ascii(Interpreter& interpreter, const Value& receiver,
                       const Arguments& arguments) {
  QUERN_TRY(arguments.bind("a method", {}));
  const std::string& text = receiver.text();
  QUERN_TRY(interpreter.heap().spend_scan(text.size()));
  return Value::boolean(std::all_of(text.begin(), text.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

// isupper and islower are the tests of the same meaning.
template <bool is_upper_case>
Result<Value> is_case(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const bool holds, interpreter.apply_test(is_upper_case ? "upper" : "lower",
                                                                  receiver, arguments));
  return Value::boolean(holds);
}

// By name; environment.cc searches them.
constexpr NamedMethod kMethods[] = {
    {"count", count},
    {"endswith", has_affix<false>},
    {"find", find<false>},
    {"index", index<false>},
    {"isalnum", all_are<is_letter_or_number>},
    {"isalpha", all_are<is_letter>},
    {"isascii", is_ascii},
    {"isdecimal", all_are<is_digit>},
    {"isdigit", all_are<is_digit_sign>},
    {"islower", is_case<false>},
    {"isnumeric", all_are<is_numeric>},
    {"isspace", all_are<is_space>},
    {"isupper", is_case<true>},
    {"partition", partition<false>},
    {"rfind", find<true>},
    {"rindex", index<true>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"split", split<false>},
    {"splitlines", splitlines},
    {"startswith", has_affix<true>},
};

}  // namespace

std::span<const NamedMethod> string_search_methods() {
  return kMethods;
}

}  // namespace quern::jinja
