// Tensors that steps read in place: large ones stay in the mapped file, small ones are copied out.
#include "backends/cpu/loaded_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "quern/graph_builder.h"
#include "support/temporary_folder.h"

namespace quern::cpu {
namespace {

constexpr int64_t kRows = 4096, kColumns = 8;

// "table" [kRows, kColumns] and, behind it in the file, "gain" [kColumns].
class MappedWeights final : public WeightSource {
 public:
  explicit MappedWeights(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}

  std::vector<WeightInfo> list() const override { return {*info("table"), *info("gain")}; }
  Result<WeightInfo> info(std::string_view name) const override {
    return WeightInfo{std::string(name), DType::kF32,
                      name == "table" ? Shape{kRows, kColumns} : Shape{kColumns}};
  }
  Result<Tensor> weight(std::string_view name) const override {
    constexpr size_t kTableBytes = kRows * kColumns * sizeof(float);
    const auto bytes =
        name == "table" ? file_->bytes().first(kTableBytes) : file_->bytes().subspan(kTableBytes);
    return Tensor::make(DType::kF32, info(name)->shape, Buffer::wrap_host(bytes, file_));
  }

 private:
  std::shared_ptr<const MappedFile> file_;
};

TEST(LoadedValues, SmallWeightsOfAFileAreCopied) {
  const test::TemporaryFolder folder("loaded_values");
  std::vector<float> content(kRows * kColumns + kColumns);
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<float>(i);
  std::ofstream(folder.file("x"), std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()),
             static_cast<std::streamsize>(content.size() * sizeof(float)));
  const auto file = MappedFile::open(folder.file("x"));
  ASSERT_TRUE(file.has_value());
  if (!FileMappings::read().holds((*file)->bytes())) GTEST_SKIP() << "No list of mappings here.";
  const MappedWeights weights(*file);

  GraphBuilder b(builtin_ops());
  const Dim rows = Dim::constant(kRows), columns = Dim::constant(kColumns);
  const ValueId x = b.input("x", {DType::kF32, {rows, columns}});
  const ValueId gain = b.weight("gain", {DType::kF32, {columns}});
  const ValueId table = b.weight("table", {DType::kF32, {rows, columns}});
  b.output("y", b.add("math.add", {b.add("math.rmsnorm", {x, gain}), table}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  const auto plan = make_plan(*graph, {});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const auto loaded = LoadedValues::make(*graph, *plan, &weights);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;

  const auto maps = FileMappings::read();
  EXPECT_TRUE(maps.holds(*loaded->kept(table).host_view()));
  EXPECT_FALSE(maps.holds(*loaded->kept(gain).host_view()));
  const auto values = loaded->kept(gain).read_as<float>();
  ASSERT_TRUE(values.has_value());
  EXPECT_TRUE(std::equal(values->begin(), values->end(), content.end() - kColumns, content.end()));
}

}  // namespace
}  // namespace quern::cpu
