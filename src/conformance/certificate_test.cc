// The certificate as text, JSON and HTML: totals, verdicts, and what hostile names do to each form.
#include "conformance/certificate.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace quern {
namespace {

using nlohmann::json;

constexpr double kInf = std::numeric_limits<double>::infinity();

OpReport report_of(std::string id, int64_t cases, int64_t checks, int64_t failures) {
  OpReport report;
  report.id = std::move(id);
  report.support = Support::Kind::kDirect;
  report.bound = 4;
  report.cases = cases;
  report.claims[static_cast<size_t>(Claim::kResult)] = {checks, failures};
  report.claims[static_cast<size_t>(Claim::kRepeat)] = {cases, 0};
  return report;
}

// Two operations without failures, one with a worst case.
Certificate passing() {
  Certificate certificate;
  certificate.backend = "cpu";
  certificate.environment = {{"version", "0.1.0"}, {"isa", "avx2"}};
  certificate.ops = {report_of("math.add", 10, 20, 0), report_of("math.exp", 5, 7, 0)};
  certificate.ops[1].worst["f32"] = {{.units = 1.5, .element = 3, .actual = 2.5, .exact = 2.25},
                                     "x [4], values normal"};
  certificate.num_operations = 12;
  certificate.num_missing = 2;
  certificate.seconds = 1.25;
  return certificate;
}

Certificate failing() {
  Certificate certificate = passing();
  certificate.ops[0] = report_of("math.add", 10, 20, 3);
  certificate.ops[0].failures = {
      {Claim::kResult, "f32, x [3]", "Element 1 of 3 is 5; 6 is expected."}};
  return certificate;
}

// Claim by claim.
TEST(Certificate, TotalsAddTheOperations) {
  const Certificate certificate = failing();
  const ClaimCounts totals = certificate.totals();
  EXPECT_EQ(totals[static_cast<size_t>(Claim::kResult)].checks, 27);
  EXPECT_EQ(totals[static_cast<size_t>(Claim::kResult)].failures, 3);
  EXPECT_EQ(totals[static_cast<size_t>(Claim::kRepeat)].checks, 15);
  EXPECT_EQ(totals[static_cast<size_t>(Claim::kGuards)].checks, 0);
  EXPECT_EQ(certificate.num_cases(), 15);
}

// A filter that matches nothing proves nothing.
TEST(Certificate, PassesWithCasesAndWithoutFailures) {
  EXPECT_TRUE(passing().has_passed());
  EXPECT_FALSE(failing().has_passed());
  EXPECT_FALSE(Certificate().has_passed());  // nothing ran
  Certificate no_cases = passing();
  for (OpReport& report : no_cases.ops) report.cases = 0;
  EXPECT_FALSE(no_cases.has_passed());
}

// They are keys of the JSON.
TEST(Certificate, ClaimsHaveNamesAndMeaningsOfTheirOwn) {
  std::set<std::string_view> names, meanings;
  for (size_t i = 0; i < kNumClaims; ++i) {
    const auto claim = static_cast<Claim>(i);
    EXPECT_TRUE(names.insert(claim_name(claim)).second) << i;
    EXPECT_TRUE(meanings.insert(claim_meaning(claim)).second) << i;
    EXPECT_NE(claim_name(claim), "unknown");
  }
  EXPECT_EQ(claim_name(static_cast<Claim>(kNumClaims)), "unknown");
}

// The last line decides.
TEST(CertificateText, SaysWhatRanAndTheVerdict) {
  const std::string text = certificate_text(passing());
  EXPECT_TRUE(text.starts_with("Conformance of backend cpu\n")) << text;
  EXPECT_NE(text.find("  isa            avx2\n"), std::string::npos);
  EXPECT_NE(
      text.find("math.exp                               f32       1.500      4  x [4], values "
                "normal\n"),
      std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("PASSED: 10 of 12 operations served, 15 cases in 1.2 s.\n")) << text;
  EXPECT_EQ(text.find("FAILED"), std::string::npos);
}

// With claim, place and detail.
TEST(CertificateText, NamesEachFailure) {
  const std::string text = certificate_text(failing());
  EXPECT_NE(
      text.find("FAILED math.add: 3 checks\n  result of f32, x [3]: Element 1 of 3 is 5; 6 is "
                "expected.\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("\nFAILED: 10 of 12 operations served"), std::string::npos);
}

// A partial pass is not a pass.
TEST(CertificateText, SaysWhereOnlySomeWereChecked) {
  Certificate certificate = passing();
  certificate.is_complete = false;
  certificate.filter = "math.";
  const std::string text = certificate_text(certificate);
  EXPECT_NE(text.find("PASSED (partial, filter 'math.'): 10 of 12 operations served, 2 of them "
                      "checked, 15 cases"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nPARTIAL: only operations whose id contains 'math.' were checked, 2 of "
                      "12.\n"),
            std::string::npos);
  EXPECT_EQ(certificate_text(passing()).find("artial"), std::string::npos);
}

// In the forms for programs and for browsers, too.
TEST(CertificateJson, NamesTheFilter) {
  Certificate certificate = passing();
  EXPECT_EQ(json::parse(certificate_json(certificate))["filter"], "");
  EXPECT_EQ(certificate_html(certificate).find("artial"), std::string::npos);
  certificate.is_complete = false;
  certificate.filter = "<b>";
  const json parsed = json::parse(certificate_json(certificate));
  EXPECT_EQ(parsed["filter"], "<b>");
  EXPECT_EQ(parsed["complete"], false);
  const std::string page = certificate_html(certificate);
  EXPECT_NE(page.find("PASSED (partial)</span>"), std::string::npos) << page;
  EXPECT_NE(page.find("only operations whose id contains <code>&lt;b&gt;</code> were checked, 2 of "
                      "12."),
            std::string::npos);
}

// Exact operations are not news.
TEST(CertificateText, LeavesOutErrorsOfZero) {
  Certificate certificate = passing();
  certificate.ops[0].worst["f32"] = {{.units = 0, .element = 0}, "x [1]"};
  const std::string text = certificate_text(certificate);
  EXPECT_EQ(text.find("math.add                               f32"), std::string::npos);
}

// What the text rounds.
TEST(CertificateJson, HoldsEveryNumber) {
  const json parsed = json::parse(certificate_json(failing()));
  EXPECT_EQ(parsed["backend"], "cpu");
  EXPECT_EQ(parsed["passed"], false);
  EXPECT_EQ(parsed["complete"], true);
  EXPECT_EQ(parsed["environment"]["isa"], "avx2");
  EXPECT_EQ(parsed["operations_of_the_build"], 12);
  EXPECT_EQ(parsed["missing"], 2);
  EXPECT_EQ(parsed["cases"], 15);
  EXPECT_EQ(parsed["claims"]["result"]["failures"], 3);
  // Claims without checks are left out.
  EXPECT_FALSE(parsed["claims"].contains("guards"));
  const json& add = parsed["operations"][0];
  EXPECT_EQ(add["id"], "math.add");
  EXPECT_EQ(add["support"], "direct");
  EXPECT_EQ(add["class"], "bit-exact");
  EXPECT_EQ(add["failures"][0]["claim"], "result");
  EXPECT_EQ(add["failures"][0]["where"], "f32, x [3]");
  const json& worst = parsed["operations"][1]["worst"]["f32"];
  EXPECT_EQ(worst["units"], 1.5);
  EXPECT_EQ(worst["element"], 3);
  EXPECT_EQ(worst["exact"], 2.25);
}

// JSON has no numbers for them.
TEST(CertificateJson, InfinitiesAndNaNsAreTexts) {
  Certificate certificate = passing();
  certificate.ops[0].worst["f32"] = {
      {.units = kInf, .element = 0, .actual = std::nan(""), .exact = -kInf}, "x [1]"};
  const json parsed = json::parse(certificate_json(certificate));
  const json& worst = parsed["operations"][0]["worst"]["f32"];
  EXPECT_EQ(worst["units"], "inf");
  EXPECT_EQ(worst["actual"], "nan");
  EXPECT_EQ(worst["exact"], "-inf");
}

// Files are compared by diff.
TEST(CertificateJson, KeepsTheOrderOfOperationsAndTheClass) {
  Certificate certificate = passing();
  certificate.ops[1].is_exact_class = false;
  const json parsed = json::parse(certificate_json(certificate));
  EXPECT_EQ(parsed["operations"].size(), 2u);
  EXPECT_EQ(parsed["operations"][1]["class"], "approximate");
}

// Quotes, angle brackets, control characters: in names of devices, of operations, in messages.
const std::string kHostile = "<script>\"'&\n\t</td>";

Certificate hostile() {
  Certificate certificate = failing();
  certificate.backend = kHostile;
  certificate.environment = {{kHostile, kHostile}};
  certificate.ops[0].id = kHostile;
  certificate.ops[0].failures[0].where = kHostile;
  certificate.ops[0].failures[0].detail = kHostile;
  certificate.ops[1].worst["f32"].where = kHostile;
  return certificate;
}

// Quotes, line breaks, bytes that mean something.
TEST(CertificateJson, HostileTextsComeBack) {
  const json parsed = json::parse(certificate_json(hostile()));
  EXPECT_EQ(parsed["backend"], kHostile);
  EXPECT_EQ(parsed["environment"][kHostile], kHostile);
  EXPECT_EQ(parsed["operations"][0]["failures"][0]["detail"], kHostile);
}

// Counts the places where `part` stands.
int count_of(const std::string& text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Devices name themselves.
TEST(CertificateHtml, HostileTextsAreEscaped) {
  const std::string page = certificate_html(hostile());
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_EQ(count_of(page, "&lt;script&gt;"), 9);  // title, heading, two of the environment, ...
}

// Tags that open must close, in order; void elements and attributes aside.
void expect_balanced(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const bool is_end = page[at + 1] == '/';
    const size_t start = at + (is_end ? 2 : 1);
    const std::string name = page.substr(start, page.find_first_of(" >", start) - start);
    if (name == "!doctype" || name == "meta") continue;
    if (!is_end) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << name;
    ASSERT_EQ(open.back(), name) << page.substr(at, 80);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

// Every tag that opens closes.
TEST(CertificateHtml, IsOneBalancedPage) {
  for (const Certificate& certificate : {passing(), failing(), hostile(), Certificate()}) {
    const std::string page = certificate_html(certificate);
    EXPECT_TRUE(page.starts_with("<!doctype html>"));
    expect_balanced(page);
    // Nothing is loaded from elsewhere.
    EXPECT_EQ(page.find("http"), std::string::npos);
    EXPECT_EQ(page.find("src="), std::string::npos);
  }
}

// What people look for.
TEST(CertificateHtml, ShowsVerdictFailuresAndShareOfTheBound) {
  const std::string good = certificate_html(passing());
  EXPECT_NE(good.find("<span class=\"verdict pass\">PASSED</span> 10 of 12 operations served, 2 "
                      "checked with 15 cases in 1.2 s."),
            std::string::npos)
      << good;
  EXPECT_EQ(good.find("<h2>Failures</h2>"), std::string::npos);
  // 1.5 units of a bound of 4.
  EXPECT_NE(good.find("title=\"38 % of the bound 4\"><i style=\"width:38%\">"), std::string::npos);
  const std::string bad = certificate_html(failing());
  EXPECT_NE(bad.find("<span class=\"verdict fail\">FAILED</span>"), std::string::npos);
  EXPECT_NE(bad.find("<h2>Failures</h2>"), std::string::npos);
  EXPECT_GE(count_of(bad, "<tr class=bad>"), 3);  // failure, claim, operation
}

// Also for infinite errors.
TEST(CertificateHtml, BarsStayInsideTheirFrame) {
  Certificate certificate = passing();
  certificate.ops[1].worst["f32"].error.units = 400;  // a hundred times the bound
  EXPECT_NE(certificate_html(certificate).find("style=\"width:100%\""), std::string::npos);
  certificate.ops[1].worst["f32"].error.units = kInf;
  EXPECT_NE(certificate_html(certificate).find("style=\"width:100%\""), std::string::npos);
}

}  // namespace
}  // namespace quern
