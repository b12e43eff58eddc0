#include "runtime/host_kv_store.h"

#include <gtest/gtest.h>

#include <vector>

namespace quern {
namespace {

StateDecl declaration(const char* key_type, const char* value_type) {
  return {"kv",
          "kv",
          {{"layers", int64_t{2}},
           {"heads", int64_t{3}},
           {"key_dim", int64_t{5}},
           {"value_dim", int64_t{4}},
           {"key_type", std::string(key_type)},
           {"value_type", std::string(value_type)}}};
}

std::vector<float> row(int64_t size, float start) {
  std::vector<float> values;
  for (int64_t i = 0; i < size; ++i) values.push_back(start + 0.25F * static_cast<float>(i));
  return values;
}

TEST(HostKvStore, RowsReadBackInEveryType) {
  for (const auto* type : {"f32", "f16", "bf16"}) {
    auto store = HostKvStore::make(declaration(type, type));
    ASSERT_TRUE(store) << store.error().message;
    const int32_t sequence = (*store)->create_sequence().value();
    ASSERT_TRUE((*store)->reserve(sequence, 130));
    for (int64_t position = 0; position < 130; ++position) {
      const auto start = static_cast<float>(position % 7);
      (*store)->write(1, sequence, 2, position, row(5, start), row(4, -start));
    }
    const bool is_coarse = std::string_view(type) == "q4_0";
    std::vector<float> key(5);
    std::vector<float> value(4);
    (*store)->read_key(1, sequence, 2, 129, key);
    (*store)->read_value(1, sequence, 2, 129, value);
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(key[i], 3.0F + 0.25F * i, is_coarse ? 0.3F : 0.03F) << type;
      EXPECT_NEAR(value[i], -3.0F + 0.25F * i, is_coarse ? 0.3F : 0.03F) << type;
    }
  }
}

TEST(HostKvStore, CloneSharesUntilWritten) {
  auto store = std::move(*HostKvStore::make(declaration("f32", "f32")));
  const int32_t a = store->create_sequence().value();
  ASSERT_TRUE(store->reserve(a, 70));
  for (int64_t p = 0; p < 70; ++p) store->write(0, a, 0, p, row(5, 1), row(4, 1));
  ASSERT_TRUE(store->commit(a, 70));
  const int64_t before = store->size_bytes();
  const int32_t b = store->clone_sequence(a).value();
  EXPECT_EQ(store->size_bytes(), before);
  ASSERT_TRUE(store->reserve(b, 1));
  store->write(0, b, 0, 70, row(5, 9), row(4, 9));
  EXPECT_EQ(store->size_bytes(), before / 2 * 3);
  ASSERT_TRUE(store->reserve(a, 1));
  store->write(0, a, 0, 70, row(5, 2), row(4, 2));
  std::vector<float> key(5);
  store->read_key(0, b, 0, 70, key);
  EXPECT_EQ(key, row(5, 9));
  store->read_key(0, b, 0, 69, key);
  EXPECT_EQ(key, row(5, 1));
}

TEST(HostKvStore, ErrorsNameTheLimit) {
  EXPECT_FALSE(HostKvStore::make(declaration("q2_K", "f32")));
  auto store = std::move(*HostKvStore::make(declaration("f32", "f32")));
  EXPECT_EQ(store->reserve(0, 1).error().code, ErrorCode::kNotFound);
  const int32_t a = store->create_sequence().value();
  EXPECT_FALSE(store->commit(a, 1));
  EXPECT_FALSE(store->truncate(a, 1));
  ASSERT_TRUE(store->reserve(a, 3));
  EXPECT_EQ(store->capacity(a), 3);
  ASSERT_TRUE(store->commit(a, 3));
  ASSERT_TRUE(store->truncate(a, 1));
  EXPECT_EQ(store->length(a).value(), 1);
  ASSERT_TRUE(store->remove_sequence(a));
  EXPECT_EQ(store->capacity(a), -1);
}

}  // namespace
}  // namespace quern
