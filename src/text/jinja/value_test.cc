// Values, dicts, keys and the order of values.
#include "text/jinja/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "text/jinja/heap.h"
#include "text/jinja/sorting.h"
#include "text/jinja/value_compare.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Values on a heap of their own.
class ValueTest : public ::testing::Test {
 protected:
  Value text(std::string value) { return heap.text(std::move(value)); }
  Value tuple(std::vector<Value> items) { return heap.list(std::move(items), ListKind::kTuple); }
  std::string repr(const Value& value) {
    std::string out;
    const auto done = append_repr(heap, value, out);
    return done ? out : "! " + done.error().message;
  }
  std::string less(const Value& a, const Value& b) {
    const auto result = is_less(heap, a, b);
    return !result ? result.error().message : *result ? "yes" : "no";
  }
  bool equal(const Value& a, const Value& b) {
    const auto result = is_equal(heap, a, b);
    EXPECT_TRUE(result);
    return result && *result;
  }

  Heap heap{Limits{}};
};

// For errors that users of Python know.
TEST_F(ValueTest, KindsAndNamesAreThoseOfPython) {
  EXPECT_EQ(type_name(Value()), "Undefined");
  EXPECT_EQ(type_name(Value::none()), "NoneType");
  EXPECT_EQ(type_name(Value::boolean(true)), "bool");
  EXPECT_EQ(type_name(Value::integer(1)), "int");
  EXPECT_EQ(type_name(Value::real(1)), "float");
  EXPECT_EQ(type_name(text("")), "str");
  EXPECT_EQ(type_name(heap.list({})), "list");
  EXPECT_EQ(type_name(tuple({})), "tuple");
  EXPECT_EQ(type_name(heap.list({}, ListKind::kGroup)), "tuple");
  EXPECT_EQ(type_name(heap.list({}, ListKind::kRange)), "range");
  EXPECT_EQ(type_name(heap.list({}, ListKind::kGenerator)), "generator");
  EXPECT_EQ(type_name(heap.dict()), "dict");
  EXPECT_EQ(type_name(heap.name_space()), "Namespace");
}

// true is 1.
TEST_F(ValueTest, BooleansAreNumbers) {
  EXPECT_TRUE(Value::boolean(true).is_integral());
  EXPECT_TRUE(Value::boolean(false).is_number());
  EXPECT_EQ(Value::boolean(true).real(), 1.0);
  EXPECT_EQ(Value::integer(-3).real(), -3.0);
  EXPECT_FALSE(Value::real(1).is_integral());
  EXPECT_FALSE(text("1").is_number());
  EXPECT_FALSE(Value::none().is_number());
}

// Other values have none to lose.
TEST_F(ValueTest, SafetyBelongsToStrings) {
  EXPECT_TRUE(heap.text("a", true).is_safe());
  EXPECT_FALSE(heap.text("a").is_safe());
  EXPECT_FALSE(Value::integer(1).is_safe());
}

// Which name was missing, and of what.
TEST_F(ValueTest, UndefinedValuesSayWhy) {
  const std::string name = "x";
  EXPECT_EQ(Value().undefined_reason(), "a value is undefined");
  EXPECT_EQ(Value::undefined(&name, Origin::kVariable).undefined_reason(), "'x' is undefined");
  EXPECT_EQ(Value::undefined(&name, Origin::kAttribute, "str").undefined_reason(),
            "'str object' has no attribute 'x'");
  EXPECT_EQ(Value::undefined(&name, Origin::kAttribute, "NoneType").undefined_reason(),
            "'None' has no attribute 'x'");
  EXPECT_EQ(Value::undefined(&name, Origin::kAttribute, "loop").undefined_reason(),
            "'the object' has no attribute 'x'");
  EXPECT_EQ(Value::undefined(&name, Origin::kElement, "list").undefined_reason(),
            "list object has no element x");
  EXPECT_EQ(Value::undefined(&name, Origin::kParameter).undefined_reason(),
            "parameter 'x' was not provided");
  EXPECT_EQ(Value::undefined(&name, Origin::kHint).undefined_reason(), "x");
}

// Empty things and zeros are false.
TEST_F(ValueTest, TruthIsPythons) {
  EXPECT_FALSE(is_truthy(Value()));
  EXPECT_FALSE(is_truthy(Value::none()));
  EXPECT_FALSE(is_truthy(Value::integer(0)));
  EXPECT_FALSE(is_truthy(Value::real(-0.0)));
  EXPECT_TRUE(is_truthy(Value::real(kNan)));
  EXPECT_TRUE(is_truthy(Value::integer(-1)));
  EXPECT_FALSE(is_truthy(text("")));
  EXPECT_TRUE(is_truthy(text(" ")));
  EXPECT_FALSE(is_truthy(heap.list({})));
  EXPECT_FALSE(is_truthy(tuple({})));
  EXPECT_TRUE(is_truthy(heap.list({Value()})));
  // Python cannot know whether a generator will give anything.
  EXPECT_TRUE(is_truthy(heap.list({}, ListKind::kGenerator)));
  EXPECT_FALSE(is_truthy(heap.dict()));
  EXPECT_TRUE(is_truthy(heap.name_space()));
}

// Double ones where single ones stand inside.
TEST_F(ValueTest, ReprOfStringsChoosesItsQuotes) {
  EXPECT_EQ(repr(text("a")), "'a'");
  EXPECT_EQ(repr(text("it's")), "\"it's\"");
  EXPECT_EQ(repr(text("a\"b")), "'a\"b'");
  EXPECT_EQ(repr(text("'\"")), "'\\'\"'");
  EXPECT_EQ(repr(text("\n\t\r\\\x01\x7f")), "'\\n\\t\\r\\\\\\x01\\x7f'");
  EXPECT_EQ(repr(text("é日🙂")), "'é日🙂'");
  // What is not printable is escaped with as few digits as it needs.
  EXPECT_EQ(repr(text("\u00a0\u200b\U000e0001")), "'\\xa0\\u200b\\U000e0001'");
  EXPECT_EQ(repr(heap.text("<", true)), "Markup('<')");
}

// Texts inside are in quotes.
TEST_F(ValueTest, ReprOfContainersNests) {
  EXPECT_EQ(repr(heap.list({})), "[]");
  EXPECT_EQ(repr(tuple({})), "()");
  EXPECT_EQ(repr(tuple({Value::integer(1)})), "(1,)");
  EXPECT_EQ(repr(heap.list({Value::none(), Value::boolean(true), Value::real(1)})),
            "[None, True, 1.0]");
  EXPECT_EQ(repr(heap.list({}, ListKind::kView, "dict_keys")), "dict_keys([])");
  EXPECT_EQ(repr(heap.list({}, ListKind::kRange, "range(0, 3)")), "range(0, 3)");
  EXPECT_EQ(repr(heap.list({}, ListKind::kGenerator)), "<generator object>");
  const Value dict = heap.dict();
  ASSERT_TRUE(heap.set(dict.dict(), text("k"), heap.list({text("v")})));
  EXPECT_EQ(repr(dict), "{'k': ['v']}");
  EXPECT_EQ(repr(heap.name_space()), "<Namespace {}>");
  EXPECT_EQ(repr(Value()), "Undefined");
}

// Printing recurses: the depth is limited.
TEST_F(ValueTest, DeepValuesAreRefused) {
  Value deep = heap.list({});
  for (int i = 0; i < kMaxValueDepth; ++i) deep = heap.list({deep});
  EXPECT_EQ(repr(deep), std::string(101, '[') + std::string(101, ']'));
  deep = heap.list({deep});
  EXPECT_EQ(repr(deep), "! A value nests over 100 levels deep");
  Value other = heap.list({});
  for (int i = 0; i <= kMaxValueDepth; ++i) other = heap.list({other});
  EXPECT_FALSE(is_equal(heap, deep, other));
  EXPECT_FALSE(is_less(heap, deep, other));
}

// 1, 1.0 and true.
TEST_F(ValueTest, KeysOfOneNumberAreOneKey) {
  EXPECT_EQ(compare_keys(Value::integer(1), Value::real(1)), 0);
  EXPECT_EQ(compare_keys(Value::boolean(true), Value::integer(1)), 0);
  EXPECT_EQ(compare_keys(Value::real(0.0), Value::real(-0.0)), 0);
  EXPECT_NE(compare_keys(Value::integer(1), text("1")), 0);
  EXPECT_NE(compare_keys(Value::none(), Value::integer(0)), 0);
  EXPECT_NE(compare_keys(Value(), Value::none()), 0);
  EXPECT_NE(compare_keys(tuple({Value::integer(1)}), tuple({})), 0);
}

// 2^53 + 1 is not the float 2^53, though it rounds to it.
TEST_F(ValueTest, IntegersAndFloatsCompareExactly) {
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_FALSE(equal(Value::integer(big), Value::real(0x1p53)));
  EXPECT_EQ(less(Value::real(0x1p53), Value::integer(big)), "yes");
  EXPECT_EQ(less(Value::integer(big), Value::real(0x1p53)), "no");
  EXPECT_EQ(less(Value::integer(INT64_MAX), Value::real(0x1p63)), "yes");
  EXPECT_FALSE(equal(Value::integer(INT64_MAX), Value::real(0x1p63)));
  EXPECT_TRUE(equal(Value::integer(INT64_MIN), Value::real(-0x1p63)));
  EXPECT_EQ(less(Value::real(-0x1p70), Value::integer(INT64_MIN)), "yes");
  EXPECT_EQ(less(Value::integer(-1), Value::real(-0.5)), "yes");
  EXPECT_EQ(less(Value::real(-0.5), Value::integer(-1)), "no");
  EXPECT_EQ(less(Value::integer(1), Value::real(std::numeric_limits<double>::infinity())), "yes");
}

// Itself included.
TEST_F(ValueTest, NanEqualsNothingAndIsBelowNothing) {
  const Value nan = Value::real(kNan);
  EXPECT_FALSE(equal(nan, nan));
  EXPECT_FALSE(equal(nan, Value::integer(1)));
  EXPECT_EQ(less(nan, Value::integer(1)), "no");
  EXPECT_EQ(less(Value::integer(1), nan), "no");
  EXPECT_EQ(compare_keys(nan, nan), 0);  // as a key it is one
}

// Numbers apart.
TEST_F(ValueTest, ValuesOfDifferentTypesHaveNoOrder) {
  EXPECT_EQ(less(Value::integer(1), text("a")),
            "Values of the types 'int' and 'str' have no order");
  EXPECT_EQ(less(Value::none(), Value::none()),
            "Values of the types 'NoneType' and 'NoneType' have no order");
  EXPECT_EQ(less(heap.list({}), tuple({})), "Values of the types 'list' and 'tuple' have no order");
  EXPECT_EQ(less(heap.dict(), heap.dict()), "Values of the types 'dict' and 'dict' have no order");
  EXPECT_EQ(less(Value(), Value::integer(1)), "a value is undefined");
  EXPECT_EQ(less(heap.list({Value::integer(1)}), heap.list({Value::integer(1), Value::none()})),
            "yes");
}

// Tuples only with hashable items.
TEST_F(ValueTest, OnlyImmutableValuesAreHashable) {
  EXPECT_TRUE(is_hashable(Value()));
  EXPECT_TRUE(is_hashable(Value::none()));
  EXPECT_TRUE(is_hashable(text("a")));
  EXPECT_TRUE(is_hashable(tuple({Value::integer(1), tuple({})})));
  EXPECT_FALSE(is_hashable(heap.list({})));
  EXPECT_FALSE(is_hashable(tuple({heap.list({})})));
  EXPECT_FALSE(is_hashable(heap.dict()));
  EXPECT_FALSE(is_hashable(heap.name_space()));
  Value deep = tuple({});
  for (int i = 0; i < 7; ++i) deep = tuple({deep});
  // Eight tuples in one another are allowed and eleven are not: comparing keys recurses.
  EXPECT_TRUE(is_hashable(deep));
  for (int i = 0; i < 3; ++i) deep = tuple({deep});
  EXPECT_FALSE(is_hashable(deep));
}

// And refuses what is none.
TEST_F(ValueTest, ContainsSearchesEachKindOfContainer) {
  const auto in = [&](const Value& container, const Value& item) {
    const auto result = contains(heap, container, item);
    return !result ? result.error().message : *result ? "yes" : "no";
  };
  const Value list = heap.list({Value::integer(1), text("a")});
  EXPECT_EQ(in(list, Value::real(1)), "yes");
  EXPECT_EQ(in(list, text("b")), "no");
  EXPECT_EQ(in(text("banana"), text("nan")), "yes");
  EXPECT_EQ(in(text("banana"), text("")), "yes");
  EXPECT_EQ(in(text("a"), Value::integer(1)),
            "'in' of a string needs a string on its left, not 'int'");
  EXPECT_EQ(in(Value(), text("a")), "no");
  EXPECT_EQ(in(Value::integer(1), text("a")), "A value of type 'int' cannot be searched with 'in'");
  EXPECT_EQ(in(heap.dict(), list), "A value of type 'list' cannot be a key of a dict");
  // A generator gives each item once.
  const Value generator = heap.list({Value::integer(1), Value::integer(2)}, ListKind::kGenerator);
  EXPECT_EQ(in(generator, Value::integer(1)), "yes");
  EXPECT_EQ(in(generator, Value::integer(1)), "no");
  EXPECT_EQ(in(generator, Value::integer(2)), "no");
}

// Dicts of every size around the one from which they have an index, against a plain list.
TEST_F(ValueTest, DictsKeepTheOrderOfInsertion) {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    Dict dict;
    std::vector<std::pair<int64_t, int64_t>> model;
    for (int step = 0; step < 120; ++step) {
      // More keys than the size from which a dict has an index, so it gets and loses it; keys are
      // integers or the equal floats.
      const auto key = static_cast<int64_t>(random() % 24);
      const auto at = std::find_if(model.begin(), model.end(),
                                   [&](const auto& entry) { return entry.first == key; });
      if (random() % 4 == 0) {
        EXPECT_EQ(dict.erase(Value::integer(key)), at != model.end());
        if (at != model.end()) model.erase(at);
      } else {
        dict.set(random() % 2 == 0 ? Value::integer(key) : Value::real(static_cast<double>(key)),
                 Value::integer(step));
        if (at != model.end()) at->second = step;
        if (at == model.end()) model.emplace_back(key, step);
      }
      ASSERT_EQ(dict.size(), model.size());
      for (size_t i = 0; i < model.size(); ++i) {
        ASSERT_EQ(dict.entries()[i].key.real(), static_cast<double>(model[i].first));
        ASSERT_EQ(dict.find(Value::integer(model[i].first))->integer(), model[i].second);
      }
    }
    dict.clear();
    EXPECT_EQ(dict.size(), 0U);
    EXPECT_EQ(dict.find(Value::integer(1)), nullptr);
  }
}

// With and without the index of large dicts.
TEST_F(ValueTest, DictsFindTextsByEitherLookUp) {
  // 12 entries are still searched one by one.
  for (const int size : {0, 1, 12, 13, 40}) {
    Dict dict;
    for (int i = 0; i < size; ++i) dict.set(text("k" + std::to_string(i)), Value::integer(i));
    for (int i = 0; i < size; ++i) {
      const std::string key = "k" + std::to_string(i);
      ASSERT_NE(dict.find(std::string_view(key)), nullptr) << size;
      EXPECT_EQ(dict.find(std::string_view(key)), dict.find(Value::string(&key)));
    }
    EXPECT_EQ(dict.find(std::string_view("k")), nullptr);
    EXPECT_FALSE(dict.erase(text("absent")));
  }
}

// A total order: antisymmetric and transitive over a sample of every kind of key.
TEST_F(ValueTest, CompareKeysIsATotalOrder) {
  const std::vector<Value> keys = {Value(),
                                   Value::none(),
                                   Value::boolean(false),
                                   Value::integer(-5),
                                   Value::integer(2),
                                   Value::real(1.5),
                                   Value::real(kNan),
                                   Value::real(-0x1p70),
                                   Value::real(1e300),
                                   text(""),
                                   text("a"),
                                   text("ab"),
                                   text("é"),
                                   tuple({}),
                                   tuple({text("a")}),
                                   tuple({Value::none()}),
                                   tuple({text("a"), Value::integer(1)}),
                                   Value::integer(INT64_MAX)};
  for (const Value& a : keys) {
    for (const Value& b : keys) {
      EXPECT_EQ(compare_keys(a, b), -compare_keys(b, a));
      for (const Value& c : keys) {
        if (compare_keys(a, b) <= 0 && compare_keys(b, c) <= 0) {
          EXPECT_LE(compare_keys(a, c), 0) << repr(a) << repr(b) << repr(c);
        }
      }
    }
  }
}

// Equal keys keep their order in reverse too.
TEST_F(ValueTest, SortedOrderIsStableInBothDirections) {
  std::mt19937 random(3);
  for (const size_t size : {0U, 1U, 2U, 3U, 7U, 8U, 33U, 100U}) {
    std::vector<Value> keys;
    for (size_t i = 0; i < size; ++i) keys.push_back(Value::integer(random() % 10));
    for (const bool is_reversed : {false, true}) {
      std::vector<size_t> expected(size);
      for (size_t i = 0; i < size; ++i) expected[i] = i;
      std::stable_sort(expected.begin(), expected.end(), [&](size_t a, size_t b) {
        return is_reversed ? keys[b].integer() < keys[a].integer()
                           : keys[a].integer() < keys[b].integer();
      });
      const auto order = sorted_order(heap, keys, {is_reversed, true});
      ASSERT_TRUE(order);
      EXPECT_EQ(*order, expected) << size << is_reversed;
    }
  }
}

// An error, not an arbitrary order.
TEST_F(ValueTest, SortedOrderFailsWhereKeysHaveNone) {
  EXPECT_FALSE(sorted_order(heap, {Value::none(), Value::none()}));
  EXPECT_TRUE(sorted_order(heap, {Value::none(), Value::none()}, {false, true}));
  EXPECT_FALSE(sorted_order(heap, {Value::none(), Value::integer(1)}, {false, true}));
  // One key needs no comparison.
  EXPECT_TRUE(sorted_order(heap, {Value::none()}));
}

}  // namespace
}  // namespace quern::jinja
