// The conformance suite passes on every backend of the build, and finds planted faults.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "conformance/case_table.h"
#include "conformance/conform.h"
#include "conformance/faulty_backend.h"
#include "quern/op.h"

namespace quern::test {
namespace {

Certificate certify(const Backend& backend, std::string filter) {
  ConformOptions options;
  options.filter = std::move(filter);
  auto certificate = run_conformance(backend, options);
  EXPECT_TRUE(certificate) << certificate.error().message;
  return certificate ? std::move(*certificate) : Certificate();
}

const OpReport* find_report(const Certificate& certificate, std::string_view id) {
  for (const OpReport& report : certificate.ops) {
    if (report.id == id) return &report;
  }
  return nullptr;
}

// Of one claim, over all operations.
int64_t failures(const Certificate& certificate, Claim claim) {
  return certificate.totals()[static_cast<size_t>(claim)].failures;
}

class Conformance : public testing::TestWithParam<std::string> {};

// The whole suite on both backends. 100 checks of each claim are far below what runs: the limit
// catches a claim that is silently no longer checked.
TEST_P(Conformance, HoldsForEveryOperation) {
  const BackendRegistry registry = register_backends();
  const auto backend = registry.find(GetParam());
  ASSERT_TRUE(backend);
  const Certificate certificate = certify(**backend, "");
  EXPECT_TRUE(certificate.has_passed()) << certificate_text(certificate);
  EXPECT_TRUE(certificate.is_complete);
  EXPECT_EQ(certificate.num_missing, 0);
  const std::set<std::string_view> bound = {"Input", "graph.weight"};  // part of every case
  for (const OpReport& report : certificate.ops) {
    if (bound.contains(report.id)) continue;
    EXPECT_GT(report.cases, 0) << report.id;
  }
  for (size_t i = 0; i < kNumClaims; ++i) EXPECT_GT(certificate.totals()[i].checks, 100) << i;
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, testing::Values("reference", "cpu"),
                         [](const auto& info) { return info.param; });

// A filter with a typing error must not give a certificate.
TEST(ConformanceOfNothing, DoesNotPass) {
  const BackendRegistry registry = register_backends();
  const Certificate certificate = certify(**registry.find("reference"), "no such operation");
  EXPECT_FALSE(certificate.has_passed());
  EXPECT_EQ(certificate.num_cases(), 0);
}

// Each fault names the claim that must see it: a claim that finds nothing is worth nothing.
struct PlantedFault {
  const char* name;
  const char* op;
  Fault fault;
  Claim claim;  // the one that must fail
};

class PlantedFaults : public testing::TestWithParam<PlantedFault> {};

// A failure must say where and what: without both nobody can act on it.
TEST_P(PlantedFaults, AreFoundWhereTheyAre) {
  const auto backend = make_faulty_backend(GetParam().op, GetParam().fault);
  const Certificate certificate = certify(*backend, GetParam().op);
  EXPECT_FALSE(certificate.has_passed());
  EXPECT_GT(failures(certificate, GetParam().claim), 0) << certificate_text(certificate);
  const OpReport* report = find_report(certificate, GetParam().op);
  ASSERT_NE(report, nullptr);
  ASSERT_FALSE(report->failures.empty());
  EXPECT_FALSE(report->failures[0].where.empty());
  EXPECT_FALSE(report->failures[0].detail.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Faults, PlantedFaults,
    testing::Values(
        PlantedFault{"OneUlp", "math.exp", Fault::kOneUlp, Claim::kResult},
        PlantedFault{"OneUlpOfARow", "math.softmax", Fault::kOneUlp, Claim::kResult},
        PlantedFault{"LastRow", "math.matmul", Fault::kLastRow, Claim::kResult},
        PlantedFault{"LastRowOfACopy", "shape.transpose", Fault::kLastRow, Claim::kResult},
        PlantedFault{"Overrun", "math.rmsnorm", Fault::kOverrun, Claim::kGuards},
        PlantedFault{"Underrun", "math.rmsnorm", Fault::kUnderrun, Claim::kGuards},
        PlantedFault{"Threads", "reduction.sum", Fault::kThreadCount, Claim::kThreads},
        PlantedFault{"Repeat", "math.add", Fault::kEveryOtherRun, Claim::kRepeat},
        PlantedFault{"Batch", "convolution.conv2d", Fault::kBatch, Claim::kBatch},
        PlantedFault{"NoRefusal", "embedding.token", Fault::kNoRefusal, Claim::kRefusal},
        PlantedFault{"WrongCode", "sampling.greedy_sample", Fault::kWrongCode, Claim::kRefusal},
        PlantedFault{"Fails", "math.outer", Fault::kFails, Claim::kResult}),
    [](const auto& info) { return info.param.name; });

// "math.lo" matches math.log and its relatives, not math.exp.
TEST(PlantedFaults, OthersStayClean) {
  const auto backend = make_faulty_backend("math.exp", Fault::kOneUlp);
  const Certificate certificate = certify(*backend, "math.lo");
  EXPECT_TRUE(certificate.has_passed()) << certificate_text(certificate);
  EXPECT_NE(find_report(certificate, "math.log"), nullptr);
}

// The copy shows that a bound of 0 is kept for operations that only move elements.
// One ulp is within the bound of an approximate backend, a missing row is not.
TEST(PlantedFaults, ApproximateBackendsAreHeldToTheirBound) {
  const Certificate close =
      certify(*make_faulty_backend("math.exp", Fault::kOneUlp, true), "math.exp");
  EXPECT_TRUE(close.has_passed()) << certificate_text(close);
  EXPECT_FALSE(
      certify(*make_faulty_backend("math.exp", Fault::kLastRow, true), "math.exp").has_passed());
  // A copy has no error to spend.
  EXPECT_FALSE(certify(*make_faulty_backend("shape.slice", Fault::kOneUlp, true), "shape.slice")
                   .has_passed());
}

// Half an ulp of a narrow dtype is what rounding costs; a store that cuts bits off costs up to one.
// Only the accuracy claim can see it: the results are close in every other respect.
TEST(PlantedFaults, ATruncatingStoreIsInaccurate) {
  const Certificate rounding =
      certify(*make_faulty_backend("math.add", Fault::kNone, true), "math.add");
  EXPECT_TRUE(rounding.has_passed()) << certificate_text(rounding);
  const Certificate cutting =
      certify(*make_faulty_backend("math.add", Fault::kTruncates, true), "math.add");
  EXPECT_FALSE(cutting.has_passed());
  EXPECT_GT(failures(cutting, Claim::kAccuracy), 0) << certificate_text(cutting);
  EXPECT_EQ(failures(cutting, Claim::kResult), 0) << certificate_text(cutting);
  const OpReport* report = find_report(cutting, "math.add");
  ASSERT_NE(report, nullptr);
  for (const Failure& failure : report->failures) {
    EXPECT_TRUE(failure.where.starts_with("f16") || failure.where.starts_with("bf16"))
        << failure.where;
  }
}

// A page that loads something from elsewhere would tell others who reads it.
TEST(CertificateForms, TextJsonAndPageTellTheSame) {
  const auto backend = make_faulty_backend("math.exp", Fault::kLastRow);
  const Certificate certificate = certify(*backend, "math.exp");
  const std::string text = certificate_text(certificate);
  EXPECT_NE(text.find("FAILED math.exp"), std::string::npos);
  EXPECT_NE(text.find("\nFAILED (partial, filter 'math.exp'): "), std::string::npos);
  const auto json = nlohmann::json::parse(certificate_json(certificate));
  EXPECT_EQ(json["backend"], "faulty");
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["complete"], false);
  EXPECT_EQ(json["filter"], "math.exp");
  EXPECT_EQ(json["cases"], certificate.num_cases());
  EXPECT_GT(json["claims"]["result"]["failures"], 0);
  ASSERT_EQ(json["operations"].size(), 1u);
  EXPECT_EQ(json["operations"][0]["id"], "math.exp");
  EXPECT_FALSE(json["operations"][0]["failures"].empty());
  const std::string page = certificate_html(certificate);
  EXPECT_NE(page.find(">FAILED (partial)<"), std::string::npos);
  EXPECT_NE(page.find("<td>math.exp</td>"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);  // nothing from elsewhere
}

}  // namespace
}  // namespace quern::test
