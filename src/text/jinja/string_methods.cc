// Methods of strings that change them. The results are as safe as their string.
#include <algorithm>

#include "base/fail.h"
#include "text/jinja/characters.h"
#include "text/jinja/environment.h"
#include "text/jinja/format.h"
#include "text/jinja/text_building.h"

namespace quern::jinja {
namespace {

// A text that is as safe as the receiver.
Value like(Interpreter& interpreter, const Value& receiver, std::string text) {
  return interpreter.heap().text(std::move(text), receiver.is_safe());
}

// Methods that map the whole text.
template <std::string (*map)(std::string_view)>
Result<Value> mapped(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("a method", {}));
  // The longest case mapping makes three characters of one: 2 bytes of ΐ become 6. The factor is
  // generous.
  QUERN_TRY(interpreter.heap().reserve(6 * receiver.text().size()));
  QUERN_TRY(interpreter.heap().spend_characters(receiver.text().size()));
  return like(interpreter, receiver, map(receiver.text()));
}

// str.strip, lstrip and rstrip, with a set of characters.
template <bool strips_left, bool strips_right>
Result<Value> strip(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("strip", {"chars"}));
  QUERN_TRY(interpreter.heap().spend_characters(receiver.text().size()));
  std::string set;
  if (bound.is_given(0)) {
    QUERN_ASSIGN_OR_RETURN(set, bound.text(0, ""));
  }
  const std::string* chars = bound.is_given(0) ? &set : nullptr;
  std::string_view text = receiver.text();
  if (strips_left) text = strip_left(text, chars);
  if (strips_right) text = strip_right(text, chars);
  return like(interpreter, receiver, std::string(text));
}

// str.replace, with an optional count.
Result<Value> replace(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("replace", {"old", "new", "count"}, 2));
  QUERN_ASSIGN_OR_RETURN(const std::string_view from, bound.text(0, ""));
  QUERN_ASSIGN_OR_RETURN(const std::string_view to, bound.text(1, ""));
  QUERN_ASSIGN_OR_RETURN(const int64_t count, bound.integer(2, -1));
  QUERN_ASSIGN_OR_RETURN(std::string out,
                         replace_text(interpreter.heap(), receiver.text(), from, to, count));
  return like(interpreter, receiver, std::move(out));
}

// str.join of texts. Errors: an item that is no text, with its place.
Result<Value> join(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("join", {"iterable"}, 1));
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.items_of(bound.value(0)));
  // Known before anything is joined: the items may add little.
  if (!items.empty()) {
    QUERN_TRY(interpreter.heap().reserve_copies(items.size() - 1, receiver.text().size()));
  }
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_string()) {
      // Unlike the filter `join`, which turns items into text.
      return fail::invalid("Item {} of join is of type '{}'; it must be a string", i,
                           type_name(items[i]));
    }
    const size_t added = items[i].text().size() + receiver.text().size();
    QUERN_TRY(interpreter.heap().spend_scan(added));
    QUERN_TRY(interpreter.heap().reserve(out.size() + added));
    if (i > 0) out += receiver.text();
    out += items[i].text();
  }
  return like(interpreter, receiver, std::move(out));
}

// str.ljust, rjust and center.
template <Padding padding>
Result<Value> pad(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("a method", {"width", "fillchar"}, 1));
  QUERN_ASSIGN_OR_RETURN(const int64_t width, bound.integer(0, 0));
  QUERN_ASSIGN_OR_RETURN(const std::string_view fill, bound.text(1, " "));
  // Python's rule; it also keeps the width exact.
  if (count_characters(fill) != 1) {
    return fail::invalid("A string is filled up with '{}'; it must be one character", fill);
  }
  QUERN_ASSIGN_OR_RETURN(std::string out,
                         pad_text(interpreter.heap(), receiver.text(), width, fill, padding));
  return like(interpreter, receiver, std::move(out));
}

// str.zfill: zeros behind a sign.
Result<Value> zero_fill(Interpreter& interpreter, const Value& receiver,
                        const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("zfill", {"width"}, 1));
  QUERN_ASSIGN_OR_RETURN(const int64_t width, bound.integer(0, 0));
  std::string_view digits = receiver.text();
  std::string sign;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    sign = digits.substr(0, 1);
    digits.remove_prefix(1);
  }
  // May be negative, and then nothing is filled up. max() keeps the difference from overflowing.
  const int64_t rest = std::max(width, int64_t{0}) - static_cast<int64_t>(sign.size());
  QUERN_ASSIGN_OR_RETURN(const std::string out,
                         pad_text(interpreter.heap(), digits, rest, "0", Padding::kLeft));
  return like(interpreter, receiver, sign + out);
}

// str.removeprefix and removesuffix.
template <bool at_begin>
Result<Value> remove_affix(Interpreter& interpreter, const Value& receiver,
                           const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("a method", {"affix"}, 1));
  QUERN_ASSIGN_OR_RETURN(const std::string_view affix, bound.text(0, ""));
  std::string_view text = receiver.text();
  QUERN_TRY(interpreter.heap().spend_scan(text.size()));
  if (affix.size() <= text.size()) {
    const size_t at = at_begin ? 0 : text.size() - affix.size();
    if (text.substr(at, affix.size()) == affix) {
      if (at_begin) text.remove_prefix(affix.size());
      if (!at_begin) text.remove_suffix(affix.size());
    }
  }
  return like(interpreter, receiver, std::string(text));
}

// By name; environment.cc searches them.
constexpr NamedMethod kMethods[] = {
    {"capitalize", mapped<capitalize>},
    {"casefold", mapped<fold_case>},
    {"center", pad<Padding::kBoth>},
    {"format", format_braces},
    {"join", join},
    {"ljust", pad<Padding::kRight>},
    {"lower", mapped<to_lower>},
    {"lstrip", strip<true, false>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replace},
    {"rjust", pad<Padding::kLeft>},
    {"rstrip", strip<false, true>},
    {"strip", strip<true, true>},
    {"swapcase", mapped<swap_case>},
    {"title", mapped<title>},
    {"upper", mapped<to_upper>},
    {"zfill", zero_fill},
};

}  // namespace

std::span<const NamedMethod> string_methods() {
  return kMethods;
}

}  // namespace quern::jinja
