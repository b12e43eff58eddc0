#include "text/jinja/heap.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/jinja/arguments.h"
#include "text/jinja/json.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_building.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {
namespace {

// A template may not compute for ever.
TEST(Heap, StepsRunOut) {
  Heap heap({.max_steps = 10});
  EXPECT_TRUE(heap.spend(4));
  EXPECT_TRUE(heap.spend(6));
  const auto spent = heap.spend(1);
  ASSERT_FALSE(spent);
  EXPECT_EQ(spent.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(spent.error().message, "The template takes over 10 steps");
  // Once exhausted it stays so, even for what costs nothing.
  EXPECT_FALSE(heap.spend(0));
}

// Long texts cost as much as many small steps.
TEST(Heap, ScansCostAStepPer64BytesAndClassesPer8) {
  Heap scan({.max_steps = 3});
  EXPECT_TRUE(scan.spend_scan(63));  // 1
  EXPECT_TRUE(scan.spend_scan(64));  // 2
  EXPECT_FALSE(scan.spend_scan(0));
  Heap classes({.max_steps = 3});
  EXPECT_TRUE(classes.spend_characters(16));  // 3
  EXPECT_FALSE(classes.spend_characters(0));
}

// The check comes before the allocation.
TEST(Heap, MemoryIsCountedAndChecked) {
  Heap heap({.max_bytes = 1 << 20});
  EXPECT_TRUE(heap.reserve(1 << 20));
  EXPECT_FALSE(heap.reserve((1 << 20) + 1));
  // A sum with what is counted already must not wrap.
  EXPECT_FALSE(heap.reserve(SIZE_MAX));
  heap.count(1 << 19);
  EXPECT_TRUE(heap.reserve(1 << 19));
  const auto refused = heap.reserve((1 << 19) + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "The template takes over 1 MiB of memory");
  // Here the product with the size of an item would wrap.
  EXPECT_FALSE(heap.reserve_items(SIZE_MAX));
  EXPECT_FALSE(heap.reserve_items(SIZE_MAX / sizeof(Value) + 1));
  EXPECT_TRUE(heap.reserve_items(0));
}

// Makers have no error to give; the next step reports it.
TEST(Heap, MakersDoNotFailButTheNextStepDoes) {
  Heap heap({.max_bytes = 1000});
  const Value text = heap.text(std::string(2000, 'x'));
  EXPECT_EQ(text.text().size(), 2000U);
  EXPECT_FALSE(heap.spend(0));
  EXPECT_FALSE(heap.reserve(0));
}

// Values hold pointers: growing must not move anything.
TEST(Heap, ValuesStayWhereTheyAre) {
  Heap heap{Limits{}};
  const Value first = heap.text("first");
  const Value list = heap.list({first});
  for (int i = 0; i < 10'000; ++i) {
    heap.text(std::to_string(i));
    heap.list({});
    heap.dict();
  }
  EXPECT_EQ(first.text(), "first");
  EXPECT_EQ(list.list().items[0].text(), "first");
}

// Lists and dicts can change and are no keys.
TEST(Heap, KeysMustBeHashable) {
  Heap heap{Limits{}};
  const Value dict = heap.dict();
  const auto set = heap.set(dict.dict(), heap.list({}), Value::none());
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().message, "A value of type 'list' cannot be a key of a dict");
  EXPECT_EQ(dict.dict().size(), 0U);
}

// Lookups go outwards, assignments stay inside.
TEST(Scope, InnerNamesHideOuterOnes) {
  Heap heap{Limits{}};
  Scope& outer = heap.scope(nullptr);
  Scope& inner = heap.scope(&outer);
  outer.set("a", Value::integer(1));
  EXPECT_EQ(inner.find_here("a"), nullptr);
  inner.set("a", Value::integer(2));
  inner.set("a", Value::integer(3));
  EXPECT_EQ(inner.find_here("a")->integer(), 3);
  EXPECT_EQ(outer.find_here("a")->integer(), 1);
  EXPECT_EQ(inner.size(), 1U);
  inner.clear();
  EXPECT_EQ(inner.find_here("a"), nullptr);
  EXPECT_EQ(inner.parent(), &outer);
}

// A macro may look into them after their block has ended.
TEST(Scope, CapturingMarksTheScopesOutside) {
  Scope root(nullptr);
  Scope middle(&root);
  Scope leaf(&middle);
  Scope other(&root);
  leaf.mark_captured();
  EXPECT_TRUE(leaf.is_captured());
  EXPECT_TRUE(middle.is_captured());
  EXPECT_TRUE(root.is_captured());
  EXPECT_FALSE(other.is_captured());
}

// Binding of arguments as Python binds them.
class ArgumentsTest : public ::testing::Test {
 protected:
  std::string bound(size_t num_required = 1) {
    const auto result = arguments.bind("f", {"a", "b"}, num_required);
    if (!result) return result.error().message;
    const auto show = [&](size_t i) {
      return result->has(i) ? std::to_string(result->value(i).integer()) : std::string("-");
    };
    return show(0) + show(1);
  }
  void name(const std::string& key, int64_t value) {
    arguments.named.push_back({heap.name(key), Value::integer(value)});
  }

  Heap heap{Limits{}};
  Arguments arguments;
};

// As Python binds them.
TEST_F(ArgumentsTest, PositionalThenNamed) {
  EXPECT_EQ(bound(), "f needs argument 'a'");
  EXPECT_EQ(bound(0), "--");
  arguments.positional = {Value::integer(1)};
  EXPECT_EQ(bound(), "1-");
  EXPECT_EQ(bound(2), "f needs argument 'b'");
  name("b", 2);
  EXPECT_EQ(bound(2), "12");
  name("b", 3);
  EXPECT_EQ(bound(), "f gets argument 'b' twice");
}

TEST_F(ArgumentsTest, TooManyAndUnknown) {
  arguments.positional = {Value::integer(1), Value::integer(2), Value::integer(3)};
  EXPECT_EQ(bound(), "f takes at most 2 arguments and gets 3");
  arguments.positional.clear();
  name("c", 1);
  EXPECT_EQ(bound(), "f has no parameter 'c'");
  arguments.named.clear();
  arguments.positional = {Value::integer(1)};
  name("a", 1);
  EXPECT_EQ(bound(), "f gets argument 'a' twice");
}

TEST_F(ArgumentsTest, GettersCheckTypes) {
  arguments.positional = {heap.text("x"), Value::integer(5)};
  const auto got = arguments.bind("f", {"a", "b", "c"});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->integer(0, 1).error().message,
            "Argument 'a' of f is of type 'str'; it must be an integer");
  EXPECT_EQ(got->text(1, "").error().message,
            "Argument 'b' of f is of type 'int'; it must be a string");
  EXPECT_EQ(*got->integer(1, 1), 5);
  EXPECT_EQ(*got->integer(2, 7), 7);
  EXPECT_EQ(*got->text(2, "d"), "d");
  EXPECT_TRUE(got->truth(0, false));
  EXPECT_TRUE(got->truth(2, true));
  EXPECT_TRUE(got->value(2).is_none());
  EXPECT_FALSE(got->is_given(2));
}

// Objects keep the order of their keys.
TEST(FromJson, EveryKindOfValue) {
  Heap heap{Limits{}};
  const auto json = nlohmann::ordered_json::parse(
      // 2^64 - 1 does not fit in int64 and becomes the nearest float.
      R"({"z": null, "a": [true, -1, 18446744073709551615, 9223372036854775807, 0.5, "é"]})");
  const auto value = from_json(heap, json);
  ASSERT_TRUE(value);
  std::string out;
  ASSERT_TRUE(append_repr(heap, *value, out));
  EXPECT_EQ(out,
            "{'z': None, 'a': [True, -1, 1.8446744073709552e+19, 9223372036854775807, 0.5, 'é']}");
}

// Documents come from users of a service.
TEST(FromJson, DepthAndSizeAreLimited) {
  const auto nested = [](int depth) {
    nlohmann::ordered_json json = 1;
    for (int i = 0; i < depth; ++i) json = nlohmann::ordered_json::array({json});
    return json;
  };
  Heap heap{Limits{}};
  EXPECT_TRUE(from_json(heap, nested(kMaxValueDepth)));
  const auto deep = from_json(heap, nested(kMaxValueDepth + 1));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().message, "The JSON nests over 100 levels deep");
  Heap small({.max_bytes = 100});
  EXPECT_FALSE(from_json(small, std::string(200, 'x')));
  // A list and its three items are four values.
  Heap slow({.max_steps = 3});
  EXPECT_FALSE(from_json(slow, nlohmann::ordered_json::parse("[1,2,3]")));
}

// Written text reads back as the same JSON, in every layout.
TEST(AppendJson, ReadsBack) {
  const auto json = nlohmann::ordered_json::parse(
      R"({"a": [1, -2.5, true, null, "q\"\\\u0001é🙂"], "b": {}, "c": [], "d": {"e": [[]]}})");
  for (const bool is_ascii : {false, true}) {
    for (const auto& indent : {std::optional<std::string>(), std::optional<std::string>(""),
                               std::optional<std::string>("\t")}) {
      Heap heap{Limits{}};
      const auto value = from_json(heap, json);
      ASSERT_TRUE(value);
      std::string out;
      ASSERT_TRUE(append_json(heap, *value, {is_ascii, false, indent}, out));
      EXPECT_EQ(nlohmann::ordered_json::parse(out, nullptr, false), json) << out;
      // In this layout é and the emoji are written as \u escapes.
      if (is_ascii) {
        EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](char c) { return c > 0 && c < 0x7F; }));
      }
    }
  }
}

// Bounds are clipped to 0 and the size going up, and to -1 and the last index going down.
// Python's slice(begin, end, step) by walking, for every bound around the size.
std::string sliced_by_walking(std::string_view text, std::optional<int> begin,
                              std::optional<int> end, int step) {
  const int size = static_cast<int>(text.size());
  const auto clip = [&](std::optional<int> bound, int absent) {
    if (!bound) return absent;
    const int index = *bound < 0 ? *bound + size : *bound;
    return step > 0 ? std::clamp(index, 0, size) : std::clamp(index, -1, size - 1);
  };
  std::string out;
  const int stop = clip(end, step > 0 ? size : -1);
  for (int i = clip(begin, step > 0 ? 0 : size - 1); step > 0 ? i < stop : i > stop; i += step) {
    out += text[static_cast<size_t>(i)];
  }
  return out;
}

// All bounds from -9 to 9, so past both ends of every size, and small and large steps.
TEST(Slice, EveryBoundAndStepAroundTheSize) {
  Heap heap({.max_steps = 100'000'000});
  const std::string letters = "abcdefg";
  const auto value = [](std::optional<int> number) {
    return number ? Value::integer(*number) : Value::none();
  };
  std::vector<std::optional<int>> bounds = {std::nullopt};
  for (int i = -9; i <= 9; ++i) bounds.emplace_back(i);
  for (const size_t size : {0U, 1U, 2U, 7U}) {
    const std::string part = letters.substr(0, size);
    const Value text = heap.text(part);
    std::vector<Value> items;
    for (const char c : part) items.push_back(heap.text(std::string(1, c)));
    const Value list = heap.list(items);
    for (const auto& begin : bounds) {
      for (const auto& end : bounds) {
        for (const int step : {-8, -3, -2, -1, 1, 2, 3, 8}) {
          const std::string expected = sliced_by_walking(part, begin, end, step);
          const auto got = slice(heap, text, value(begin), value(end), Value::integer(step));
          ASSERT_TRUE(got);
          ASSERT_EQ(got->text(), expected) << size << " step " << step;
          const auto of_list = slice(heap, list, value(begin), value(end), Value::integer(step));
          ASSERT_TRUE(of_list);
          std::string joined;
          for (const Value& item : of_list->list().items) joined += item.text();
          ASSERT_EQ(joined, expected);
        }
      }
    }
  }
}

// Bounds at both ends of 64 bits.
TEST(Slice, ExtremeBoundsDoNotOverflow) {
  Heap heap{Limits{}};
  const Value text = heap.text("abc");
  const Value low = Value::integer(INT64_MIN);
  const Value high = Value::integer(INT64_MAX);
  const Value none = Value::none();
  EXPECT_EQ(slice(heap, text, low, high, none)->text(), "abc");
  EXPECT_EQ(slice(heap, text, high, low, none)->text(), "");
  EXPECT_EQ(slice(heap, text, none, none, low)->text(), "c");
  EXPECT_EQ(slice(heap, text, none, none, high)->text(), "a");
  EXPECT_EQ(slice(heap, text, high, low, Value::integer(-1))->text(), "cba");
  EXPECT_EQ(slice(heap, text, none, none, Value::integer(0)).error().message,
            "The step of a slice is 0");
}

// The empty text stands between all characters.
TEST(TextBuilding, ReplacePadAndLines) {
  Heap heap{Limits{}};
  EXPECT_EQ(*replace_text(heap, "aXbX", "X", "--", -1), "a--b--");
  EXPECT_EQ(*replace_text(heap, "aXbX", "X", "", 1), "abX");
  EXPECT_EQ(*replace_text(heap, "ab", "", "-", -1), "-a-b-");
  EXPECT_EQ(*replace_text(heap, "ab", "", "-", 2), "-a-b");
  EXPECT_EQ(*replace_text(heap, "", "", "-", -1), "-");
  EXPECT_EQ(*pad_text(heap, "é", 3, "日", Padding::kLeft), "日日é");
  EXPECT_EQ(*pad_text(heap, "ab", 5, ".", Padding::kBoth), "..ab.");
  EXPECT_EQ(*pad_text(heap, "ab", 1, ".", Padding::kRight), "ab");
  // Refused before any allocation: a width of 2^63 characters, and a result of 10^10 bytes.
  EXPECT_FALSE(pad_text(heap, "ab", INT64_MAX, ".", Padding::kRight));
  EXPECT_FALSE(replace_text(heap, std::string(100'000, 'a'), "", std::string(100'000, 'b'), -1));
  EXPECT_EQ(split_lines("a\r\n\nb", true), (std::vector<std::string_view>{"a\r\n", "\n", "b"}));
  EXPECT_EQ(split_lines("a\r\n\nb", false), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_TRUE(split_lines("", false).empty());
}

}  // namespace
}  // namespace quern::jinja
