// The cache of packed weights: what is kept comes back, what is damaged counts as absent, and a
// graph gives the same bits from it.
#include "backends/cpu/pack_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "backends/cpu/backend.h"
#include "quern/graph_builder.h"
#include "support/graph_runner.h"
#include "support/temporary_folder.h"

namespace quern::cpu {
namespace {

namespace fs = std::filesystem;
using quern::test::MemoryWeights;
using quern::test::random_tensor;

// Any key: it names machine, kernels and weights together.
constexpr uint64_t kKey = 0x0123456789ABCDEF;

// first + 7 i modulo 256: neighbours differ, and so do buffers with another first byte.
Buffer bytes_of(int64_t size, int first) {
  auto buffer = Buffer::allocate_host(size);
  EXPECT_TRUE(buffer.has_value());
  const auto view = *buffer->mutable_host_view();
  for (size_t i = 0; i < view.size(); ++i) view[i] = static_cast<std::byte>(first + 7 * i);
  return *buffer;
}
bool same_bytes(const Buffer& a, const Buffer& b) {
  if (a.is_empty() || b.is_empty() || a.size_bytes() != b.size_bytes()) return false;
  const auto x = *a.host_view(), y = *b.host_view();
  return x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0;
}

class PackCacheTest : public testing::Test {
 protected:
  std::string folder() const { return folder_.file("deep/er"); }
  // The one file of the folder.
  fs::path file() const { return fs::directory_iterator(folder())->path(); }
  long num_files() const {
    return std::distance(fs::directory_iterator(folder()), fs::directory_iterator());
  }
  // 100 bytes are no multiple of the alignment of 64; 4,096 are.
  void fill() const {
    PackCache cache(folder(), kKey);
    cache.add(1, bytes_of(100, 3));
    cache.add(2, bytes_of(4096, 5));
    const auto saved = cache.save();
    ASSERT_TRUE(saved.has_value()) << saved.error().message;
  }
  void overwrite(int64_t offset, uint64_t number) const {
    std::fstream stream(file(), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(offset);
    stream.write(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void expect_nothing_kept() const {
    const PackCache cache(folder(), kKey);
    EXPECT_TRUE(cache.find(1, 100).is_empty());
    EXPECT_TRUE(cache.find(2, 4096).is_empty());
  }
  const quern::test::TemporaryFolder folder_{"pack_cache"};
};

// Adding to a cache that is off must not grow memory either.
TEST_F(PackCacheTest, OffKeepsAndFindsNothing) {
  PackCache cache;
  EXPECT_FALSE(cache.is_on());
  EXPECT_TRUE(cache.find(1, 0).is_empty());
  cache.add(1, bytes_of(10, 1));
  EXPECT_TRUE(cache.save().has_value());
}

TEST_F(PackCacheTest, GivesBackWhatWasAdded) {
  fill();
  const PackCache cache(folder(), kKey);
  EXPECT_TRUE(same_bytes(cache.find(1, 100), bytes_of(100, 3)));
  EXPECT_TRUE(same_bytes(cache.find(2, 4096), bytes_of(4096, 5)));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(cache.find(2, 4096).host_view()->data()) % 64, 0U);
  EXPECT_TRUE(cache.find(3, 100).is_empty());
  // The size is the only thing that a caller knows about what it wants.
  EXPECT_TRUE(cache.find(1, 101).is_empty()) << "another size is another layout";
  EXPECT_TRUE(PackCache(folder(), kKey + 1).find(1, 100).is_empty());
}

TEST_F(PackCacheTest, SavingWithoutAdditionsWritesNothing) {
  PackCache cache(folder(), kKey);
  ASSERT_TRUE(cache.save().has_value());
  EXPECT_FALSE(fs::exists(folder()));
}

// The same id with another size replaces the entry.
TEST_F(PackCacheTest, AdditionsJoinWhatIsThereAndReplaceTheSameEntry) {
  fill();
  PackCache cache(folder(), kKey);
  cache.add(3, bytes_of(1, 9));
  cache.add(1, bytes_of(200, 4));
  ASSERT_TRUE(cache.save().has_value());
  const PackCache again(folder(), kKey);
  EXPECT_TRUE(same_bytes(again.find(1, 200), bytes_of(200, 4)));
  EXPECT_TRUE(same_bytes(again.find(2, 4096), bytes_of(4096, 5)));
  EXPECT_TRUE(same_bytes(again.find(3, 1), bytes_of(1, 9)));
  EXPECT_EQ(num_files(), 1);
}

TEST_F(PackCacheTest, BuffersOutliveTheCache) {
  fill();
  Buffer kept;
  {
    const PackCache cache(folder(), kKey);
    kept = cache.find(2, 4096);
  }
  EXPECT_TRUE(same_bytes(kept, bytes_of(4096, 5)));
}

// Every shorter file, at steps: header, entries and data cut.
// In steps of 97 while long, then byte by byte through the header.
TEST_F(PackCacheTest, CutFilesCountAsAbsent) {
  fill();
  const auto size = static_cast<int64_t>(fs::file_size(file()));
  for (int64_t cut = size - 1; cut >= 0; cut -= cut > 100 ? 97 : 1) {
    fs::resize_file(file(), static_cast<uintmax_t>(cut));
    expect_nothing_kept();
  }
}

// All ones is no magic, another key, more entries than fit, and places beyond the file.
TEST_F(PackCacheTest, DamagedHeadersCountAsAbsent) {
  constexpr uint64_t kHuge = ~uint64_t{0};
  // Magic, key, count, offset and size of the first entry.
  for (const int64_t offset : {0, 8, 16, 32, 40}) {
    fill();
    overwrite(offset, kHuge);
    expect_nothing_kept();
    fs::remove(file());
  }
  fill();
  overwrite(32, 65);  // an offset that is no multiple of 64
  expect_nothing_kept();
}

// A file stands where the folder should be.
TEST_F(PackCacheTest, AFolderThatCannotBeIsAnErrorWhenItIsWritten) {
  std::ofstream(folder_.file("file")) << "x";
  PackCache cache(folder_.file("file/below"), kKey);
  cache.add(1, bytes_of(10, 1));
  EXPECT_FALSE(cache.save().has_value());
}

// A graph with weights of two kinds, loaded with a cache.
class CachedGraph : public PackCacheTest {
 protected:
  static constexpr int64_t kColumns = 64;

  Graph graph() const {
    GraphBuilder b(builtin_ops());
    const Dim tokens = Dim::symbolic('T'), columns = Dim::constant(kColumns);
    const ValueId x = b.input("x", {DType::kF32, {tokens, columns}});
    const ValueId q = b.add("quant.dynamic", {x}, {{"block", int64_t{32}}, {"bits", int64_t{8}}});
    const ValueId d = b.last_outputs()[1];
    const ValueId w = b.weight("w", {DType::kQ8_0, {Dim::constant(40), columns}});
    const ValueId f = b.weight("f", {DType::kF16, {Dim::constant(9), columns}});
    b.output("y", b.add("projection.linear", {q, w, kNoValue, d}, {}, "y"));
    b.output("z", b.add("projection.linear", {x, f}, {}, "z"));
    auto made = b.finish();
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return std::move(*made);
  }
  MemoryWeights weights(unsigned seed) const {
    std::mt19937 random(seed);
    MemoryWeights made;
    made.add("w", random_tensor(DType::kQ8_0, Shape{40, kColumns}, random));
    made.add("f", random_tensor(DType::kF16, Shape{9, kColumns}, random));
    return made;
  }
  // A new device for each run: nothing may be kept in memory between them.
  RunResult run(const WeightSource& weights, bool is_cached, const std::string& isa = {}) const {
    const auto backend = make_cpu_backend();
    const auto device = *backend->open({.num_threads = 2, .isa = isa});
    if (is_cached) {
      EXPECT_TRUE(device->keep_packed_weights(folder()));
    }
    auto loaded = compile_and_load(graph(), *backend, *device, &weights, {});
    EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
    std::mt19937 random(2);
    RunArguments arguments;
    arguments.inputs["x"] = random_tensor(DType::kF32, Shape{3, kColumns}, random);
    auto result = (*loaded)->run(arguments);
    EXPECT_TRUE(result.has_value());
    return std::move(*result);
  }
};

// Three runs: without, writing, reading. An unchanged time of the file shows that the last packed
// nothing.
TEST_F(CachedGraph, GivesTheSameBitsWithAndWithoutTheFile) {
  const auto w = weights(1);
  const RunResult expected = run(w, false);
  EXPECT_TRUE(quern::test::same_result_bits(run(w, true), expected)) << "written";
  ASSERT_EQ(num_files(), 1);
  const auto time = fs::last_write_time(file());
  EXPECT_TRUE(quern::test::same_result_bits(run(w, true), expected)) << "mapped";
  EXPECT_EQ(fs::last_write_time(file()), time) << "nothing was packed again";
}

// Where the machine's best level is scalar, its file is the same: at least two, not three.
TEST_F(CachedGraph, OtherWeightsAndOtherKernelsHaveFilesOfTheirOwn) {
  run(weights(1), true);
  const auto other = weights(2);
  EXPECT_TRUE(quern::test::same_result_bits(run(other, true), run(other, false)));
  EXPECT_EQ(num_files(), 2);
  EXPECT_TRUE(quern::test::same_result_bits(run(other, true, "scalar"), run(other, false)));
  EXPECT_GE(num_files(), 2);
}

// Any byte of any weight must change the key, not only sampled ones.
// The weights of `base` with one byte in the middle of "f" changed.
class OneByteOff final : public WeightSource {
 public:
  explicit OneByteOff(const WeightSource& base, std::string stamp = {})
      : base_(base), stamp_(std::move(stamp)) {}
  std::vector<WeightInfo> list() const override { return base_.list(); }
  Result<WeightInfo> info(std::string_view name) const override { return base_.info(name); }
  Result<Tensor> weight(std::string_view name) const override {
    QUERN_ASSIGN_OR_RETURN(const Tensor tensor, base_.weight(name));
    if (name != "f") return tensor;
    QUERN_ASSIGN_OR_RETURN(const auto view, tensor.host_view());
    std::vector<std::byte> bytes(view.begin(), view.end());
    bytes[bytes.size() / 2] ^= std::byte{1};
    return Tensor::from_bytes(tensor.dtype(), tensor.shape(), bytes);
  }
  std::string stamp() const override { return stamp_; }

 private:
  const WeightSource& base_;
  std::string stamp_;
};

// Weights without a stamp are hashed to the last byte.
TEST_F(CachedGraph, OneChangedByteIsAnotherWeight) {
  const auto w = weights(1);
  const OneByteOff changed(w);
  run(w, true);
  const RunResult expected = run(changed, false);
  EXPECT_FALSE(quern::test::same_result_bits(run(w, false), expected));
  EXPECT_TRUE(quern::test::same_result_bits(run(changed, true), expected));
  EXPECT_EQ(num_files(), 2);
}

// The bytes are the same here: only the stamp differs, and it decides.
// Weights of a file are known by its stamp: another state of the file is packed anew.
TEST_F(CachedGraph, AnotherStampIsAnotherWeight) {
  const auto w = weights(1);
  const OneByteOff before(w, "1:2:3"), after(w, "1:2:4");
  const RunResult expected = run(before, true);
  ASSERT_EQ(num_files(), 1);
  EXPECT_TRUE(quern::test::same_result_bits(run(before, true), expected));
  EXPECT_EQ(num_files(), 1);
  EXPECT_TRUE(quern::test::same_result_bits(run(after, true), expected));
  EXPECT_EQ(num_files(), 2);
}

TEST(PackCacheDevices, OthersRefuseToKeepWeights) {
  const BackendRegistry backends = register_backends();
  const auto device = (*backends.find("reference"))->open({});
  ASSERT_TRUE(device);
  EXPECT_TRUE((*device)->keep_packed_weights(""));
  const auto kept = (*device)->keep_packed_weights("folder");
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, ErrorCode::kUnimplemented);
}

}  // namespace
}  // namespace quern::cpu
