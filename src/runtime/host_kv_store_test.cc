// Tests of the paged key-value store: every type, pages shared by clones, rows moved and exported,
// and declarations and calls that do not fit.
#include "runtime/host_kv_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tensor/block_format.h"

namespace quern {
namespace {

// 2 layers of 3 heads: keys of 5 values, values of 4.
StateDecl declaration(const char* key_type, const char* value_type, bool keeps_unrotated = false) {
  return {"kv",
          "kv",
          {{"layers", int64_t{2}},
           {"heads", int64_t{3}},
           {"key_dim", int64_t{5}},
           {"value_dim", int64_t{4}},
           {"key_type", std::string(key_type)},
           {"value_type", std::string(value_type)},
           {"keeps_unrotated", keeps_unrotated}}};
}

// With one type for both.
std::unique_ptr<HostKvStore> make_store(const char* type = "f32", bool keeps_unrotated = false) {
  return HostKvStore::make(declaration(type, type, keeps_unrotated)).value();
}

// Values that rise by 1/4.
std::vector<float> row(int64_t size, float start) {
  std::vector<float> values;
  for (int64_t i = 0; i < size; ++i) values.push_back(start + 0.25F * static_cast<float>(i));
  return values;
}

std::vector<float> key_at(const HostKvStore& store, int32_t sequence, int64_t position,
                          int64_t layer = 0, int64_t head = 0) {
  std::vector<float> key(5);
  store.read_key(layer, sequence, head, position, key);
  return key;
}

// `count` committed rows whose keys and values tell their number, in every layer and head.
int32_t filled(HostKvStore& store, int64_t count) {
  const int32_t sequence = store.create_sequence().value();
  EXPECT_TRUE(store.reserve(sequence, count));
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (int64_t head = 0; head < 3; ++head) {
      for (int64_t p = 0; p < count; ++p) {
        const auto start = static_cast<float>(p + 100 * layer + 10 * head);
        store.write(layer, sequence, head, p, row(5, start), row(4, -start));
        if (store.keeps_unrotated()) {
          store.write_unrotated(layer, sequence, head, p, row(5, start + 0.125F));
        }
      }
    }
  }
  EXPECT_TRUE(store.commit(sequence, count));
  return sequence;
}

// Within what the type can hold.
TEST(HostKvStore, RowsReadBackInEveryType) {
  for (const auto* type : {"f32", "f16", "bf16", "q8_0", "q4_0"}) {
    auto store = make_store(type);
    const int32_t sequence = store->create_sequence().value();
    ASSERT_TRUE(store->reserve(sequence, 130));
    for (int64_t position = 0; position < 130; ++position) {
      const auto start = static_cast<float>(position % 7);
      store->write(1, sequence, 2, position, row(5, start), row(4, -start));
    }
    const float tolerance = std::string_view(type) == "q4_0" ? 0.5F : 0.05F;
    std::vector<float> value(4);
    const std::vector<float> key = key_at(*store, sequence, 129, 1, 2);
    store->read_value(1, sequence, 2, 129, value);
    for (size_t i = 0; i < 4; ++i) {
      const float step = 0.25F * static_cast<float>(i);
      EXPECT_NEAR(key[i], 3.0F + step, tolerance) << type;
      EXPECT_NEAR(value[i], -3.0F + step, tolerance) << type;
    }
  }
}

// Never what an earlier sequence left.
TEST(HostKvStore, NewRowsAreZeros) {
  auto store = make_store();
  const int32_t sequence = store->create_sequence().value();
  ASSERT_TRUE(store->reserve(sequence, 65));
  EXPECT_EQ(key_at(*store, sequence, 64), std::vector<float>(5, 0.0F));
}

// The lowest first.
TEST(HostKvStore, IdsOfRemovedSequencesAreGivenOutAgain) {
  auto store = make_store();
  EXPECT_EQ(store->create_sequence().value(), 0);
  EXPECT_EQ(store->create_sequence().value(), 1);
  ASSERT_TRUE(store->remove_sequence(0));
  EXPECT_EQ(store->length(0).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store->create_sequence().value(), 0);
  EXPECT_EQ(store->length(0).value(), 0);
  EXPECT_EQ(store->create_sequence().value(), 2);
}

// A run that fails commits nothing.
TEST(HostKvStore, RowsAreReservedThenCommitted) {
  auto store = make_store();
  const int32_t a = store->create_sequence().value();
  ASSERT_TRUE(store->reserve(a, 3));
  EXPECT_EQ(store->capacity(a), 3);
  EXPECT_EQ(store->length(a).value(), 0);
  ASSERT_TRUE(store->commit(a, 2));
  EXPECT_EQ(store->length(a).value(), 2);
  ASSERT_TRUE(store->reserve(a, 1));  // there is room already
  EXPECT_EQ(store->capacity(a), 3);
  ASSERT_TRUE(store->commit(a, 1));
  ASSERT_TRUE(store->commit(a, 0));
  const auto over = store->commit(a, 1);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(over.error().message, "1 rows cannot be committed after 3; 3 are reserved.");
  EXPECT_FALSE(store->commit(a, -1));
}

// Measured by the bytes in use.
TEST(HostKvStore, CloneSharesUntilWritten) {
  auto store = make_store();
  const int32_t a = filled(*store, 70);
  const int64_t before = store->size_bytes();
  const int32_t b = store->clone_sequence(a).value();
  EXPECT_EQ(store->size_bytes(), before);
  ASSERT_TRUE(store->reserve(b, 1));
  store->write(0, b, 0, 70, row(5, 9), row(4, 9));
  EXPECT_EQ(store->size_bytes(), before / 2 * 3);
  ASSERT_TRUE(store->reserve(a, 1));
  store->write(0, a, 0, 70, row(5, 2), row(4, 2));
  EXPECT_EQ(key_at(*store, b, 70), row(5, 9));
  EXPECT_EQ(key_at(*store, a, 70), row(5, 2));
  EXPECT_EQ(key_at(*store, b, 69), row(5, 69));
}

// Ids keep their meaning for whoever holds them: only what they name changes places.
TEST(HostKvStore, SwapExchangesWhatTwoIdsName) {
  auto store = make_store();
  const int32_t a = filled(*store, 70), b = store->clone_sequence(a).value();
  ASSERT_TRUE(store->truncate(a, 3));
  ASSERT_TRUE(store->swap_sequences(a, b));
  EXPECT_EQ(store->length(a), 70);
  EXPECT_EQ(store->length(b), 3);
  EXPECT_EQ(key_at(*store, a, 69), row(5, 69));
  ASSERT_TRUE(store->swap_sequences(a, a));
  EXPECT_EQ(store->length(a), 70);
  // An unknown one leaves the other as it is.
  EXPECT_EQ(store->swap_sequences(a, 7).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store->swap_sequences(-1, a).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store->length(a), 70);
}

// Pages live as long as their last owner.
TEST(HostKvStore, TheOriginalMayGo) {
  auto store = make_store();
  const int32_t a = filled(*store, 10);
  const int32_t b = store->clone_sequence(a).value();
  ASSERT_TRUE(store->remove_sequence(a));
  EXPECT_EQ(key_at(*store, b, 9), row(5, 9));
  ASSERT_TRUE(store->remove_sequence(b));
  EXPECT_EQ(store->size_bytes(), 0);
}

// Whole pages only.
TEST(HostKvStore, TruncateGivesPagesBack) {
  auto store = make_store();
  const int32_t a = filled(*store, 130);
  const int64_t three_pages = store->size_bytes();
  ASSERT_TRUE(store->truncate(a, 64));
  EXPECT_EQ(store->size_bytes(), three_pages / 3);
  EXPECT_EQ(store->capacity(a), 64);
  ASSERT_TRUE(store->truncate(a, 0));
  EXPECT_EQ(store->size_bytes(), 0);
  EXPECT_FALSE(store->truncate(a, 1));
  EXPECT_FALSE(store->truncate(a, -1));
}

// Over the borders of pages.
TEST(HostKvStore, ClosingAGapMovesTheRowsBehindIt) {
  for (const bool keeps_unrotated : {false, true}) {
    auto store = make_store("f32", keeps_unrotated);
    const int32_t a = filled(*store, 140);
    const int32_t clone = store->clone_sequence(a).value();
    ASSERT_TRUE(store->close_gap(a, 60, 70));
    EXPECT_EQ(store->length(a).value(), 70);
    for (const int64_t p : {0, 59, 60, 63, 64, 69}) {
      const auto old = static_cast<float>(p < 60 ? p : p + 70);
      EXPECT_EQ(key_at(*store, a, p, 1, 2), row(5, old + 120)) << p;
      std::vector<float> value(4);
      store->read_value(1, a, 2, p, value);
      EXPECT_EQ(value, row(4, -(old + 120)));
      if (!keeps_unrotated) continue;
      std::vector<float> unrotated(5);
      store->read_unrotated(1, a, 2, p, unrotated);
      EXPECT_EQ(unrotated, row(5, old + 120.125F));
    }
    EXPECT_EQ(key_at(*store, clone, 60), row(5, 60));  // the clone keeps its rows
  }
}

// Of nothing, of the begin, of the end.
TEST(HostKvStore, GapsAtTheEdges) {
  auto store = make_store();
  const int32_t a = filled(*store, 10);
  ASSERT_TRUE(store->close_gap(a, 10, 0));
  ASSERT_TRUE(store->close_gap(a, 0, 3));
  EXPECT_EQ(key_at(*store, a, 0), row(5, 3));
  ASSERT_TRUE(store->close_gap(a, 5, 2));
  EXPECT_EQ(store->length(a).value(), 5);
  const auto over = store->close_gap(a, 4, 2);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().message, "2 rows from 4 cannot be dropped from a sequence of 5.");
  EXPECT_FALSE(store->close_gap(a, 1, INT64_MAX));
  EXPECT_FALSE(store->close_gap(a, -1, 1));
  EXPECT_FALSE(store->close_gap(a, 0, -1));
}

// In another store of the same declaration.
TEST(HostKvStore, ExportedRowsMakeTheSameSequence) {
  for (const auto* type : {"f32", "f16", "q8_0"}) {
    auto store = make_store(type, true);
    const int32_t a = filled(*store, 70);
    const auto rows = store->export_rows(a).value();
    auto other = make_store(type, true);
    ASSERT_TRUE(other->create_sequence());
    const int32_t b = other->import_rows(70, rows).value();
    EXPECT_EQ(b, 1);
    EXPECT_EQ(other->length(b).value(), 70);
    EXPECT_EQ(other->export_rows(b).value(), rows) << type;
    EXPECT_EQ(key_at(*other, b, 69, 1, 1), key_at(*store, a, 69, 1, 1));
  }
}

// Files may come from anywhere.
TEST(HostKvStore, RowsOfAnotherSizeAreRefused) {
  auto store = make_store();
  const auto rows = store->export_rows(filled(*store, 2)).value();
  EXPECT_EQ(rows.size(), size_t{2} * 2 * 3 * (5 + 4) * 4);
  for (const int64_t length : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{-2}, INT64_MAX}) {
    const auto refused = store->import_rows(length, rows);
    ASSERT_FALSE(refused) << length;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(store->create_sequence().value(), 1);  // no id was used up
  EXPECT_TRUE(store->import_rows(0, {}));
}

// Kernels multiply blocks: scales apart from codes, in words of four bytes by key.
TEST(HostKvStore, QuantisedRowsLieInPartsAndComeBackWhole) {
  auto store = HostKvStore::make(declaration("q8_0", "q4_0")).value();
  const int32_t a = filled(*store, 3);
  EXPECT_EQ(store->key_row_bytes(), 34);  // 5 values padded to one block
  EXPECT_EQ(store->value_row_bytes(), 18);
  std::vector<std::byte> key(34), value(18);
  const std::vector<float> numbers = row(5, 2);
  std::vector<float> padded(32, 0.0F);
  std::ranges::copy(numbers, padded.begin());
  quantize_row(DType::kQ8_0, padded.data(), key.data(), 32);
  std::vector<std::byte> blocks(34);
  store->read_key_blocks(0, a, 0, 2, blocks);
  EXPECT_EQ(blocks, key);
  const std::byte* keys = store->key_page(0, a, 0, 0);
  EXPECT_EQ(std::memcmp(keys + 2 * 2, key.data(), 2), 0);
  EXPECT_EQ(std::memcmp(keys + 128 + 2 * 4, key.data() + 2, 4), 0);
  EXPECT_EQ(std::memcmp(keys + 128 + 64 * 4 + 2 * 4, key.data() + 6, 4), 0);
  padded.assign(32, 0.0F);
  std::ranges::copy(row(4, -2), padded.begin());
  quantize_row(DType::kQ4_0, padded.data(), value.data(), 32);
  const std::byte* values = store->value_page(0, a, 0, 0);
  EXPECT_EQ(std::memcmp(values + 2 * 2, value.data(), 2), 0);
  EXPECT_EQ(std::memcmp(values + 128 + 2 * 16, value.data() + 2, 16), 0);
}

// Float keys lie transposed within a page, values by row.
TEST(HostKvStore, PagesHaveTheStatedLayout) {
  auto store = make_store();
  const int32_t a = filled(*store, 66);
  const auto* keys = reinterpret_cast<const float*>(store->key_page(1, a, 2, 1));
  const auto* values = reinterpret_cast<const float*>(store->value_page(1, a, 2, 1));
  for (size_t d = 0; d < 5; ++d) EXPECT_EQ(keys[d * 64 + 1], row(5, 65 + 120)[d]);
  for (size_t d = 0; d < 4; ++d) EXPECT_EQ(values[4 + d], row(4, -(65.0F + 120))[d]);
}

// Rotation writes keys and no values.
TEST(HostKvStore, KeysCanBeReplacedAlone) {
  auto store = make_store();
  const int32_t a = filled(*store, 2);
  store->write_key(0, a, 0, 1, row(5, 50));
  EXPECT_EQ(key_at(*store, a, 1), row(5, 50));
  std::vector<float> value(4);
  store->read_value(0, a, 0, 1, value);
  EXPECT_EQ(value, row(4, -1));
}

// By every call.
TEST(HostKvStore, UnknownSequencesAreNotFound) {
  auto store = make_store();
  for (const int32_t id : {-1, 0, 7, INT32_MAX}) {
    EXPECT_EQ(store->length(id).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(store->reserve(id, 1).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(store->commit(id, 0).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(store->truncate(id, 0).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(store->close_gap(id, 0, 0).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(store->remove_sequence(id).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(store->clone_sequence(id).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(store->export_rows(id).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(store->capacity(id), -1);
  }
  EXPECT_EQ(store->length(3).error().message, "There is no sequence 3 in the key-value store.");
}

// Negative and absurd numbers.
TEST(HostKvStore, ImpossibleReservationsAreErrors) {
  auto store = make_store();
  const int32_t a = store->create_sequence().value();
  EXPECT_EQ(store->reserve(a, -1).error().message,
            "-1 rows cannot be reserved in a key-value store.");
  EXPECT_EQ(store->reserve(a, INT64_MAX).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(store->capacity(a), 0);
}

// One row for each attribute.
TEST(HostKvStore, DeclarationsAreChecked) {
  const auto error = [](const char* name, AttributeValue value) {
    StateDecl state = declaration("f32", "f32");
    state.attributes.set(name, std::move(value));
    const auto store = HostKvStore::make(state);
    return store ? "no error" : store.error().message;
  };
  EXPECT_EQ(error("layers", int64_t{0}),
            "State 'kv' needs the attribute 'layers', from 1 to 1048576.");
  EXPECT_EQ(error("heads", int64_t{1} << 21),
            "State 'kv' needs the attribute 'heads', from 1 to 1048576.");
  EXPECT_EQ(error("key_dim", std::string("5")),
            "State 'kv' needs the attribute 'key_dim', from 1 to 1048576.");
  EXPECT_EQ(error("value_dim", int64_t{5000}),
            "State 'kv' has heads of 5000 values; the limit is 4096.");
  EXPECT_EQ(error("key_type", std::string("q2_K")),
            "A cache of type 'q2_K' is not supported; the types are f32, f16, bf16, q8_0, q4_0.");
  EXPECT_EQ(error("value_type", std::string("f33")),
            "A cache of type 'f33' is not supported; the types are f32, f16, bf16, q8_0, q4_0.");
  EXPECT_EQ(error("value_type", int64_t{1}),
            "State 'kv' needs the attribute 'value_type', the name of a type.");
  StateDecl other = declaration("f32", "f32");
  other.kind = "rng";
  EXPECT_EQ(HostKvStore::make(other).error().message,
            "State 'kv' is of kind 'rng'; a key-value store needs 'kv'.");
  // Nothing declared at all.
  EXPECT_FALSE(HostKvStore::make({"kv", "kv", {}}));
  const StateDecl untyped = {"kv",
                             "kv",
                             {{"layers", int64_t{1}},
                              {"heads", int64_t{1}},
                              {"key_dim", int64_t{1}},
                              {"value_dim", int64_t{1}}}};
  EXPECT_EQ(HostKvStore::make(untyped).error().message,
            "State 'kv' needs the attribute 'key_type', the name of a type.");
}

}  // namespace
}  // namespace quern
