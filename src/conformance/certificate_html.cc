// The certificate as one page for a person.
#include <fmt/format.h>

#include <algorithm>

#include "base/html_escape.h"
#include "conformance/certificate.h"

namespace quern {
namespace {

constexpr std::string_view kStyle = R"(
body{font:15px/1.5 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .5rem}
.verdict{display:inline-block;padding:.2rem .8rem;border-radius:.4rem;font-weight:600;color:#fff}
.pass{background:#1a7f37}.fail{background:#b42318}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid #e3e6ea;vertical-align:top}
th{font-weight:600;background:#f6f7f9;position:sticky;top:0}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
tr.bad td{background:#fdecea}.muted{color:#66707b}.bar{background:#e3e6ea;border-radius:3px;height:.55rem;width:9rem;margin-top:.45rem}
.bar i{display:block;height:100%;border-radius:3px;background:#3b6fb6}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.5rem 0}dt{color:#66707b}dd{margin:0}
@media(prefers-color-scheme:dark){body{background:#14171b;color:#e6e9ed}th{background:#1d2127}th,td{border-color:#2b3037}
tr.bad td{background:#3a1d1b}.bar{background:#2b3037}.muted,dt{color:#98a2ad}}
)";

// Failures of all claims of an operation.
int64_t failures_of(const OpReport& report) {
  int64_t sum = 0;
  for (const ClaimCount& count : report.claims) sum += count.failures;
  return sum;
}

// Names and values of the environment; both come from outside and are escaped.
std::string environment_html(const Certificate& certificate) {
  std::string text = "<h2>Environment</h2><dl>";
  for (const auto& [name, value] : certificate.environment) {
    text += fmt::format("<dt>{}</dt><dd>{}</dd>", escape_html(name), escape_html(value));
  }
  return text + "</dl>\n";
}

// The claims as a table; rows with failures stand out.
std::string claims_html(const Certificate& certificate) {
  std::string text =
      "<h2>Claims</h2><table><tr><th>claim</th><th class=n>checks</th><th class=n>failures</th>"
      "<th></th></tr>\n";
  const ClaimCounts totals = certificate.totals();
  for (size_t i = 0; i < kNumClaims; ++i) {
    const auto claim = static_cast<Claim>(i);
    text += fmt::format(
        "<tr{}><td>{}</td><td class=n>{}</td><td class=n>{}</td><td class=muted>{}</td></tr>\n",
        totals[i].failures > 0 ? " class=bad" : "", claim_name(claim), totals[i].checks,
        totals[i].failures, escape_html(claim_meaning(claim)));
  }
  return text + "</table>\n";
}

// The failures first on the page; nothing where there are none.
std::string failures_html(const Certificate& certificate) {
  std::string rows;
  // Texts of failures hold messages of backends: escaped like all else from outside.
  for (const OpReport& report : certificate.ops) {
    for (const Failure& failure : report.failures) {
      rows += fmt::format("<tr class=bad><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                          escape_html(report.id), claim_name(failure.claim),
                          escape_html(failure.where), escape_html(failure.detail));
    }
  }
  if (rows.empty()) return "";
  return "<h2>Failures</h2><table><tr><th>operation</th><th>claim</th><th>where</th><th></th></"
         "tr>\n" +
         rows + "</table>\n";
}

// The error of the worst dtype as a share of the bound.
std::string accuracy_cell(const OpReport& report) {
  std::string_view dtype;
  const AccuracyWorst* worst = nullptr;
  for (const auto& [name, candidate] : report.worst) {
    if (worst != nullptr && candidate.error.units <= worst->error.units) continue;
    worst = &candidate;
    dtype = name;
  }
  if (worst == nullptr) return "<td class=n></td><td></td><td class=muted></td>";
  // The largest error of any dtype is the one to show.
  // With a bound of 0 any error is more than the whole bar.
  const double share = report.bound > 0 ? worst->error.units / report.bound : worst->error.units;
  return fmt::format(
      "<td class=n>{:.3g}</td><td><div class=bar title=\"{:.0f} % of the bound {}\"><i "
      "style=\"width:{:.0f}%\"></i></div></td><td class=muted>{}</td>",
      worst->error.units, 100 * share, report.bound, 100 * std::clamp(share, 0.0, 1.0),
      worst->error.units > 0 ? escape_html(fmt::format("{}: {}", dtype, worst->where)) : "");
}

// One row for each operation, with a bar that shows how much of its bound is used.
std::string operations_html(const Certificate& certificate) {
  std::string text =
      "<h2>Operations</h2><p class=muted>The error is the largest over all elements, in units of "
      "an "
      "ulp of the exact result plus what half an ulp in each input changes; the bar shows it "
      "against the operation's bound.</p>"
      "<table><tr><th>operation</th><th>served</th><th class=n>cases</th><th class=n>checks</th>"
      "<th class=n>failures</th><th class=n>error</th><th>of the bound</th><th>worst "
      "at</th></tr>\n";
  for (const OpReport& report : certificate.ops) {
    int64_t checks = 0;
    for (const ClaimCount& count : report.claims) checks += count.checks;
    const int64_t failures = failures_of(report);
    text += fmt::format(
        "<tr{}><td>{}</td><td>{}</td><td class=n>{}</td><td class=n>{}</td><td "
        "class=n>{}</td>{}</tr>\n",
        failures > 0 ? " class=bad" : "", escape_html(report.id), support_name(report.support),
        report.cases, checks, failures, accuracy_cell(report));
  }
  return text + "</table>\n";
}

}  // namespace

// One file without anything to load: style inside, no scripts.
std::string certificate_html(const Certificate& certificate) {
  const bool has_passed = certificate.has_passed();
  std::string text = fmt::format(
      "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport "
      "content=\"width=device-width\"><title>Conformance of {0}</title><style>{1}</style></head>"
      "<body>\n<h1>Conformance of backend {0}</h1>\n",
      escape_html(certificate.backend), kStyle);
  text += fmt::format(
      "<p><span class=\"verdict {}\">{}</span> {} of {} operations served, {} checked with {} "
      "cases "
      "in {:.1f} s.</p>\n",
      has_passed ? "pass" : "fail",
      fmt::format("{}{}", has_passed ? "PASSED" : "FAILED",
                  certificate.is_complete ? "" : " (partial)"),
      certificate.num_operations - certificate.num_missing, certificate.num_operations,
      certificate.ops.size(), certificate.num_cases(), certificate.seconds);
  if (!certificate.is_complete) {
    text += fmt::format(
        "<p><strong>Partial:</strong> only operations whose id contains <code>{}</code> were "
        "checked, {} of {}.</p>\n",
        escape_html(certificate.filter), certificate.ops.size(), certificate.num_operations);
  }
  text += failures_html(certificate) + claims_html(certificate) + environment_html(certificate);
  return text + operations_html(certificate) + "</body></html>\n";
}

}  // namespace quern
