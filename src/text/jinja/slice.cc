// Slices of strings and sequences.
// Bounds are clamped as Python does it, for any step.
#include <algorithm>

#include "base/fail.h"
#include "text/jinja/characters.h"
#include "text/jinja/operators.h"

namespace quern::jinja {
namespace {

// A bound as Python takes it: none is the end that the step comes from. Errors: no integer.
Result<int64_t> bound(const Value& value, int64_t fallback) {
  if (value.is_none()) return fallback;
  if (value.is_integral()) return value.integer();
  if (value.is_undefined()) return fail::invalid("{}", value.undefined_reason());
  return fail::invalid("A bound of a slice is of type '{}'; it must be an integer",
                       type_name(value));
}

// The indices that Python's slice.indices(size) walks: `count` of them.
struct Walk {
  int64_t begin = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// A bound from the front, in [low, high].
int64_t from_front(int64_t index, int64_t size, int64_t low, int64_t high) {
  if (index < 0) index = std::max(index, -size - 1) + size;
  return std::clamp(index, low, high);
}

// Begin, end and step clamped to the size. Errors: a step of 0.
Result<Walk> make_walk(int64_t size, const Value& begin, const Value& end, const Value& step) {
  Walk walk;
  QUERN_ASSIGN_OR_RETURN(walk.step, bound(step, 1));
  if (walk.step == 0) return fail::invalid("The step of a slice is 0");
  const bool is_forward = walk.step > 0;
  // The bounds that Python's slice.indices() clamps to: 0 to size forwards, -1 to size - 1
  // backwards, where -1 is the place before the first item.
  const int64_t low = is_forward ? 0 : -1;
  const int64_t high = is_forward ? size : size - 1;
  QUERN_ASSIGN_OR_RETURN(const int64_t raw_begin, bound(begin, 0));
  QUERN_ASSIGN_OR_RETURN(const int64_t raw_end, bound(end, 0));
  walk.begin = begin.is_none() ? (is_forward ? low : high) : from_front(raw_begin, size, low, high);
  const int64_t stop =
      end.is_none() ? (is_forward ? high : low) : from_front(raw_end, size, low, high);
  const int64_t distance = is_forward ? stop - walk.begin : walk.begin - stop;
  // Steps past the size make one stop; the clamp keeps their negation in range.
  const int64_t stride = is_forward ? walk.step : -std::max(walk.step, -size - 1);
  walk.count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  return walk;
}

// Code points, not bytes.
Result<Value> slice_text(Heap& heap, const Value& value, const Value& begin, const Value& end,
                         const Value& step) {
  const std::string& text = value.text();
  QUERN_TRY(heap.spend_characters(text.size()));
  const int64_t size = count_characters(text);
  QUERN_ASSIGN_OR_RETURN(const Walk walk, make_walk(size, begin, end, step));
  // The usual case: one stretch of bytes, without a list of all characters.
  if (walk.step == 1) {
    const std::string_view rest = std::string_view(text).substr(character_offset(text, walk.begin));
    const size_t bytes = character_offset(rest, walk.count);
    return heap.text(std::string(rest.substr(0, bytes)), value.is_safe());
  }
  std::string out;
  QUERN_TRY(heap.reserve_items(text.size()));
  const auto characters = split_characters(text);
  QUERN_TRY(heap.spend_scan(text.size() * sizeof(std::string_view)));
  for (int64_t i = 0; i < walk.count; ++i) {
    out += characters[static_cast<size_t>(walk.begin + i * walk.step)];
  }
  return heap.text(std::move(out), value.is_safe());
}

}  // namespace

// Texts and sequences keep their kind.
Result<Value> slice(Heap& heap, const Value& value, const Value& begin, const Value& end,
                    const Value& step) {
  if (value.is_undefined()) return fail::invalid("{}", value.undefined_reason());
  if (value.is_string()) return slice_text(heap, value, begin, end, step);
  if (!value.is_list() || !value.list().is_indexable()) {
    return fail::invalid("A value of type '{}' has no slices", type_name(value));
  }
  const List& list = value.list();
  QUERN_ASSIGN_OR_RETURN(const Walk walk,
                         make_walk(static_cast<int64_t>(list.items.size()), begin, end, step));
  const auto count = static_cast<size_t>(walk.count);
  QUERN_TRY(heap.reserve_items(count));
  QUERN_TRY(heap.spend_scan(count * sizeof(Value)));
  std::vector<Value> items;
  items.reserve(count);
  for (int64_t i = 0; i < walk.count; ++i) {
    items.push_back(list.items[static_cast<size_t>(walk.begin + i * walk.step)]);
  }
  return heap.list(std::move(items), list.is_tuple() ? ListKind::kTuple : ListKind::kList);
}

}  // namespace quern::jinja
