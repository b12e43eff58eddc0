// The cases of the suite op_cases that state a property instead of values, on both backends.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "conformance/host_values.h"
#include "conformance/one_op.h"
#include "support/op_case.h"

namespace quern::test {
namespace {

class OpProperties : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (op_case_names().empty()) GTEST_SKIP() << "the suite op_cases is absent";
    backend_ = *registry_.find(GetParam());
    device_ = *backend_->open({.num_threads = 2, .isa = ""});
  }

  OpCase load(const std::string& name) {
    auto loaded = load_op_case(name);
    EXPECT_TRUE(loaded) << loaded.error().message;
    EXPECT_FALSE(loaded->property.empty());
    return std::move(*loaded);
  }

  // The first output, as numbers. `copies` puts nodes before the operation, which shifts its index.
  std::vector<double> run(const OpCase& c, const Attributes& attributes, bool copies = false) {
    const auto inputs = c.port_inputs();
    const auto graph = one_op_graph(builtin_ops(), c.op->id, inputs, attributes, copies);
    EXPECT_TRUE(graph) << graph.error().message;
    const auto result = run_one_op(*backend_, *device_, *graph, one_op_arguments(inputs));
    EXPECT_TRUE(result) << result.error().message;
    shape_ = result->values.at(0).second.shape();
    return *numbers_of(result->values.at(0).second);
  }
  std::vector<double> run(const OpCase& c) { return run(c, c.attributes); }

  BackendRegistry registry_ = register_backends();
  const Backend* backend_ = nullptr;
  std::unique_ptr<Device> device_;
  Shape shape_;
};

Attributes with(Attributes attributes, std::string name, AttributeValue value) {
  attributes.set(std::move(name), std::move(value));
  return attributes;
}

TEST_P(OpProperties, BeliefsWithoutSupportAreNaN) {
  for (const double belief : run(load("active_inference_belief_update_8"))) {
    EXPECT_TRUE(std::isnan(belief));
  }
}

TEST_P(OpProperties, SumInLanesKeepsTheOneBetweenHugeTerms) {
  EXPECT_EQ(run(load("reduction_sum_5")), (std::vector<double>{1}));
}

TEST_P(OpProperties, PartitionPutsParentsFirstAndCoParentsOutside) {
  const auto labels = run(load("markov_blanket_partition_8"));
  EXPECT_EQ(labels, (std::vector<double>{0, 1, 2, 3}));
}

TEST_P(OpProperties, DropoutKeepsItsShareAndItsSeed) {
  const OpCase c = load("math_dropout_4");
  const auto y = run(c);
  const auto x = *numbers_of(c.array("x"));
  ASSERT_EQ(y.size(), x.size());
  double kept = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_TRUE(y[i] == 0 || y[i] == x[i] * (1 / 0.75) || y[i] == x[i] / 0.75) << y[i];
    kept += y[i] != 0;
  }
  EXPECT_NEAR(kept / static_cast<double>(y.size()), 0.75, 0.034);
  EXPECT_EQ(run(c), y);
  EXPECT_NE(run(c, with(c.attributes, "seed", int64_t{8})), y);
  EXPECT_NE(run(c, c.attributes, true), y);  // another node
}

// Rows ascend, are positive, and are padded with -1; gives the number of events of each.
std::vector<double> count_events(const std::vector<double>& events, const Shape& shape) {
  std::vector<double> counts;
  const auto steps = static_cast<size_t>(shape[1]);
  for (int64_t k = 0; k < shape[0]; ++k) {
    double last = 0, count = 0;
    bool is_padding = false;
    for (size_t i = 0; i < steps; ++i) {
      const double t = events[static_cast<size_t>(k) * steps + i];
      is_padding = is_padding || t == -1;
      if (is_padding) {
        EXPECT_EQ(t, -1);
        continue;
      }
      EXPECT_GT(t, last);
      last = t;
      ++count;
    }
    counts.push_back(count);
  }
  return counts;
}

void expect_mean(const std::vector<double>& counts, double expected) {
  const auto n = static_cast<double>(counts.size());
  double mean = 0, variance = 0;
  for (const double count : counts) mean += count / n;
  for (const double count : counts) variance += (count - mean) * (count - mean) / (n - 1);
  EXPECT_NEAR(mean, expected, 5 * std::sqrt(variance / n));
}

TEST_P(OpProperties, SimulatedEventsHaveTheMeanOfTheProcess) {
  for (const auto& [name, mean] :
       {std::pair{"hawkes_simulate_0", 5.0}, std::pair{"hawkes_simulate_1", 19.000045}}) {
    SCOPED_TRACE(name);
    const OpCase c = load(name);
    const auto events = run(c);
    const auto counts = count_events(events, shape_);
    expect_mean(counts, mean);
    EXPECT_EQ(run(c), events);
    // Rows are independent: no two start alike, unless without events.
    std::set<double> first_events;
    int64_t num_starts = 0;
    for (int64_t k = 0; k < shape_[0]; ++k) {
      const double first = events[static_cast<size_t>(k * shape_[1])];
      if (first > 0) ++num_starts;
      if (first > 0) first_events.insert(first);
    }
    EXPECT_EQ(static_cast<int64_t>(first_events.size()), num_starts);
  }
}

TEST_P(OpProperties, SimulationFillsItsRowsWhereThereAreMoreEvents) {
  const auto events = run(load("hawkes_simulate_5"));
  for (const double count : count_events(events, shape_)) EXPECT_EQ(count, shape_[1]);
}

// Every case with a property is named above.
TEST(OpPropertyCases, AreAllHere) {
  std::set<std::string> found;
  for (const std::string& name : op_case_names()) {
    const auto loaded = load_op_case(name);
    ASSERT_TRUE(loaded);
    if (!loaded->property.empty()) found.insert(name);
  }
  if (found.empty()) GTEST_SKIP() << "the suite op_cases is absent";
  EXPECT_EQ(found, (std::set<std::string>{"active_inference_belief_update_8", "hawkes_simulate_0",
                                          "hawkes_simulate_1", "hawkes_simulate_5",
                                          "markov_blanket_partition_8", "math_dropout_4",
                                          "reduction_sum_5"}));
}

INSTANTIATE_TEST_SUITE_P(Backends, OpProperties, testing::Values("reference", "cpu"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace quern::test
