// The paged store against plain vectors: random calls on several sequences, in every type.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "runtime/host_kv_store.h"

namespace quern {
namespace {

constexpr int64_t kLayers = 2, kHeads = 2, kKeyDim = 3, kValueDim = 34;

// Small, with values of two blocks in quantised types.
std::unique_ptr<HostKvStore> make_store(const char* key_type, const char* value_type,
                                        bool keeps_unrotated) {
  auto store = HostKvStore::make({"kv",
                                  "kv",
                                  {{"layers", kLayers},
                                   {"heads", kHeads},
                                   {"key_dim", kKeyDim},
                                   {"value_dim", kValueDim},
                                   {"key_type", std::string(key_type)},
                                   {"value_type", std::string(value_type)},
                                   {"keeps_unrotated", keeps_unrotated}}});
  EXPECT_TRUE(store) << (store ? "" : store.error().message);
  return std::move(*store);
}

// What one row was written with: a number that all its values follow from.
float element(int64_t stamp, int64_t layer, int64_t head, int64_t i) {
  return static_cast<float>((stamp * 31 + layer * 7 + head * 3 + i * 5) % 64) / 4.0F - 8.0F;
}
// All its values.
std::vector<float> made_row(int64_t stamp, int64_t layer, int64_t head, int64_t size) {
  std::vector<float> row;
  for (int64_t i = 0; i < size; ++i) row.push_back(element(stamp, layer, head, i));
  return row;
}

// Calls on the store, and what they must have left: the stamps of each sequence's rows.
class Walk {
 public:
  Walk(HostKvStore& store, uint32_t seed) : store_(store), random_(seed) {}

  void step() {
    if (rows_.empty() || below(10) == 0) return create();
    const int32_t id = std::next(rows_.begin(), below(static_cast<int64_t>(rows_.size())))->first;
    switch (below(7)) {
      case 0:
        return clone(id);
      case 6:
        return swap(id);
      case 1:
        return truncate(id);
      case 2:
        return close_gap(id);
      case 3:
        if (rows_.size() > 3) return remove(id);
        [[fallthrough]];
      default:
        return append(id);
    }
  }

  void check() const {
    for (const auto& [id, stamps] : rows_) {
      ASSERT_EQ(store_.length(id).value(), static_cast<int64_t>(stamps.size()));
      for (size_t p = 0; p < stamps.size(); p += 1 + p / 8) check_row(id, p, stamps[p]);
      if (!stamps.empty()) check_row(id, stamps.size() - 1, stamps.back());
    }
  }

  const std::map<int32_t, std::vector<int64_t>>& rows() const { return rows_; }

 private:
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }

  void create() {
    const int32_t id = store_.create_sequence().value();
    EXPECT_FALSE(rows_.contains(id));
    rows_[id] = {};
  }
  void remove(int32_t id) {
    EXPECT_TRUE(store_.remove_sequence(id));
    rows_.erase(id);
  }
  void clone(int32_t id) {
    const int32_t copy = store_.clone_sequence(id).value();
    EXPECT_FALSE(rows_.contains(copy));
    rows_[copy] = rows_[id];
  }
  void swap(int32_t id) {
    const int32_t other =
        std::next(rows_.begin(), below(static_cast<int64_t>(rows_.size())))->first;
    EXPECT_TRUE(store_.swap_sequences(id, other));
    std::swap(rows_[id], rows_[other]);
  }
  void append(int32_t id) {
    const int64_t count = below(90);
    EXPECT_TRUE(store_.reserve(id, count));
    std::vector<int64_t>& stamps = rows_[id];
    for (int64_t n = 0; n < count; ++n) {
      const auto position = static_cast<int64_t>(stamps.size());
      const int64_t stamp = next_stamp_++;
      for (int64_t layer = 0; layer < kLayers; ++layer) {
        for (int64_t head = 0; head < kHeads; ++head) {
          store_.write(layer, id, head, position, made_row(stamp, layer, head, kKeyDim),
                       made_row(stamp + 1, layer, head, kValueDim));
          if (store_.keeps_unrotated()) {
            store_.write_unrotated(layer, id, head, position,
                                   made_row(stamp + 2, layer, head, kKeyDim));
          }
        }
      }
      stamps.push_back(stamp);
    }
    EXPECT_TRUE(store_.commit(id, count));
  }
  void truncate(int32_t id) {
    std::vector<int64_t>& stamps = rows_[id];
    const int64_t length = below(static_cast<int64_t>(stamps.size()) + 1);
    EXPECT_TRUE(store_.truncate(id, length));
    stamps.resize(static_cast<size_t>(length));
  }
  void close_gap(int32_t id) {
    std::vector<int64_t>& stamps = rows_[id];
    const int64_t start = below(static_cast<int64_t>(stamps.size()) + 1);
    const int64_t count = below(static_cast<int64_t>(stamps.size()) - start + 1);
    EXPECT_TRUE(store_.close_gap(id, start, count));
    stamps.erase(stamps.begin() + start, stamps.begin() + start + count);
  }

  void check_row(int32_t id, size_t position, int64_t stamp) const {
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      for (int64_t head = 0; head < kHeads; ++head) {
        const auto p = static_cast<int64_t>(position);
        std::vector<float> key(kKeyDim), value(kValueDim), unrotated(kKeyDim);
        store_.read_key(layer, id, head, p, key);
        store_.read_value(layer, id, head, p, value);
        expect_near(key, made_row(stamp, layer, head, kKeyDim), store_.key_type());
        expect_near(value, made_row(stamp + 1, layer, head, kValueDim), store_.value_type());
        if (!store_.keeps_unrotated()) continue;
        store_.read_unrotated(layer, id, head, p, unrotated);
        EXPECT_EQ(unrotated, made_row(stamp + 2, layer, head, kKeyDim));
      }
    }
  }
  // The values are multiples of 1/4 up to 8: exact in all float types, near in blocks.
  static void expect_near(const std::vector<float>& row, const std::vector<float>& expected,
                          DType type) {
    const float tolerance = type == DType::kQ4_0 ? 1.01F : type == DType::kQ8_0 ? 0.04F : 0.0F;
    for (size_t i = 0; i < row.size(); ++i) ASSERT_NEAR(row[i], expected[i], tolerance);
  }

  HostKvStore& store_;
  std::mt19937 random_;
  std::map<int32_t, std::vector<int64_t>> rows_;
  int64_t next_stamp_ = 1;
};

// Stored types, and whether unrotated keys are kept.
struct TypeCase {
  const char* key;
  const char* value;
  bool keeps_unrotated;
};

// Clones share pages, so that one wrong copy shows in another sequence.
TEST(HostKvModel, RandomCallsLeaveWhatTheySay) {
  const TypeCase cases[] = {{"f32", "f32", false},  {"f32", "f16", true},
                            {"f16", "f32", false},  {"bf16", "bf16", true},
                            {"q8_0", "q4_0", true}, {"q4_0", "q8_0", false}};
  uint32_t seed = 1;
  for (const TypeCase& c : cases) {
    SCOPED_TRACE(std::string(c.key) + " " + c.value);
    const auto store = make_store(c.key, c.value, c.keeps_unrotated);
    Walk walk(*store, ++seed);
    for (int i = 0; i < 120; ++i) {
      walk.step();
      if (i % 8 == 0) walk.check();
      if (testing::Test::HasFatalFailure()) return;
    }
    walk.check();
  }
}

// Rows that are exported and imported elsewhere are the same bytes again, in every type.
TEST(HostKvModel, RowsTravelBetweenStores) {
  for (const char* type : {"f32", "f16", "bf16", "q8_0", "q4_0"}) {
    const auto store = make_store(type, type, true), other = make_store(type, type, true);
    Walk walk(*store, 9);
    for (int i = 0; i < 30; ++i) walk.step();
    for (const auto& [id, stamps] : walk.rows()) {
      const auto rows = store->export_rows(id).value();
      const auto imported = other->import_rows(static_cast<int64_t>(stamps.size()), rows);
      ASSERT_TRUE(imported) << imported.error().message;
      EXPECT_EQ(other->export_rows(*imported).value(), rows) << type;
    }
  }
}

// Pages are counted by their owners.
TEST(HostKvModel, EverythingGivenBackIsNothing) {
  const auto store = make_store("f16", "f16", false);
  Walk walk(*store, 4);
  for (int i = 0; i < 60; ++i) walk.step();
  for (const auto& [id, stamps] : walk.rows()) ASSERT_TRUE(store->remove_sequence(id));
  EXPECT_EQ(store->size_bytes(), 0);
  EXPECT_EQ(store->create_sequence().value(), 0);
}

// Sums of lengths must not wrap around.
TEST(HostKvModel, HugeCommitsAreRefused) {
  const auto store = make_store("f32", "f32", false);
  const int32_t a = store->create_sequence().value();
  ASSERT_TRUE(store->reserve(a, 3));
  ASSERT_TRUE(store->commit(a, 2));
  for (const int64_t count : {int64_t{2}, INT64_MAX, INT64_MAX - 1, INT64_MIN}) {
    const auto refused = store->commit(a, count);
    ASSERT_FALSE(refused) << count;
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(store->length(a).value(), 2);
  }
}

}  // namespace
}  // namespace quern
