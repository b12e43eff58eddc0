// What `quern explain` tells, as table, JSON and a page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/explain.h"

namespace quern::cli {

// One size of run: a decoded token, a prompt, or a run of a graph.
struct ExplainPhase {
  // "decode", "prefill" or "run".
  std::string name;
  // Of one run: 1 for decoding.
  int64_t tokens = 0;       // 0: not a language model
  int64_t cached_rows = 0;  // in the key-value cache before the run
  // Costs and times.
  Explanation explanation;
};

// Everything that the command tells.
struct ExplainReport {
  std::string source;
  std::string backend;
  std::string arch;
  int threads = 0;
  std::string numerics;
  bool is_measured = false;
  std::vector<ExplainPhase> phases;
};

// What the page shows is in it too.
nlohmann::ordered_json to_json(const ExplainReport& report);
// To stdout: every node and the sums by family, or by group of nodes with `is_summary`.
void print_report(const ExplainReport& report, bool is_summary);
// A page that needs nothing else: styles, script and data in one file.
std::string html_page(const ExplainReport& report);

}  // namespace quern::cli
