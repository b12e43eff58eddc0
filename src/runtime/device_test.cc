// Tests of the names in the contract of backends, and of the registry that never falls back.
#include "quern/device.h"

#include <gtest/gtest.h>

#include <set>

namespace quern {
namespace {

// Words of the command line.
TEST(Numerics, NamesRoundTrip) {
  for (const Numerics n : {Numerics::kStrict, Numerics::kDeterministic, Numerics::kFast}) {
    EXPECT_EQ(find_numerics(numerics_name(n)), n);
  }
  EXPECT_EQ(numerics_name(Numerics::kStrict), "strict");
  EXPECT_FALSE(find_numerics("Strict"));
  EXPECT_FALSE(find_numerics(""));
  EXPECT_EQ(numerics_name(static_cast<Numerics>(9)), "unknown");
}

// Reports count by them.
TEST(Support, EachKindHasANameOfItsOwn) {
  using Kind = Support::Kind;
  std::set<std::string_view> names;
  for (const Kind kind :
       {Kind::kDirect, Kind::kComposite, Kind::kRegistry, Kind::kGraphOnly, Kind::kMissing}) {
    EXPECT_TRUE(names.insert(support_name(kind)).second);
  }
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(Support{}.kind, Kind::kMissing);
}

// Null for what is not there.
TEST(RunResult, FindsByName) {
  RunResult result;
  EXPECT_EQ(result.find("y"), nullptr);
  result.values.emplace_back("y", Tensor::zeros(DType::kF32, Shape{1}).value());
  result.values.emplace_back("z", Tensor::zeros(DType::kF32, Shape{2}).value());
  EXPECT_EQ(result.find("z")->shape(), Shape{2});
  EXPECT_EQ(result.find("x"), nullptr);
}

// And says so.
TEST(BackendRegistry, AnEmptyOneHasNothing) {
  const BackendRegistry registry;
  EXPECT_TRUE(registry.list().empty());
  const auto missing = registry.find("cpu");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

// What submit() gives is what run() gives: its results, its errors, or those of the wait.
class FakeExecutable final : public Executable {
 public:
  class Pending final : public Submission {
   public:
    explicit Pending(Result<RunResult> result) : result_(std::move(result)) {}
    Result<RunResult> wait() override { return std::move(result_); }

   private:
    Result<RunResult> result_;
  };
  Result<std::unique_ptr<Submission>> submit(const RunArguments& arguments) override {
    if (arguments.stream == 1) {
      return tl::unexpected(Error{ErrorCode::kInvalidArgument, "at submit"});
    }
    if (arguments.stream == 2) {
      return std::make_unique<Pending>(
          tl::unexpected(Error{ErrorCode::kDeadlineExceeded, "at wait"}));
    }
    RunResult result;
    result.values.emplace_back("y", Tensor());
    return std::make_unique<Pending>(std::move(result));
  }
  int64_t weight_bytes() const override { return 0; }
  int64_t arena_bytes() const override { return 0; }
};

// There is one way to run.
TEST(Executable, RunIsSubmitThenWait) {
  FakeExecutable executable;
  EXPECT_NE(executable.run({})->find("y"), nullptr);
  RunArguments arguments;
  arguments.stream = 1;
  EXPECT_EQ(executable.run(arguments).error().message, "at submit");
  arguments.stream = 2;
  EXPECT_EQ(executable.run(arguments).error().code, ErrorCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace quern
