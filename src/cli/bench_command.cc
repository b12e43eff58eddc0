// quern bench: how fast a model runs, beside what the machine can do.
// Each case is measured several times and its median printed, beside the roof that limits it:
// memory for decoding, arithmetic for prefill.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "cli/roofline_svg.h"
#include "generate/speed.h"

namespace quern::cli {
namespace {

// The options of the command.
struct BenchFlags {
  EngineFlags engine;
  int64_t prefill = 512;
  int64_t decode = 64;
  int64_t prompt = 16;
  std::vector<int64_t> batches = {1};
  std::vector<int64_t> depths = {0};
  int64_t repetitions = 3;
  bool is_full = false;
  bool is_json = false;
  bool has_profile = false;
  std::string svg;
};

// Medians of the repetitions of one case.
struct BenchRow {
  // In tokens a second of all sequences of the case together; the roof in bytes a second, measured
  // beside each repetition since clocks and neighbours change it.
  SpeedCase speed_case;
  double tokens_per_second = 0;
  double read_roof = 0;
};

// What the machine can do, and what the engine did.
struct BenchReport {
  DeviceRoof roofs;
  std::vector<BenchRow> rows;
};

// Prefill and decoding at each depth; decoding at each batch too.
std::vector<SpeedCase> cases_of(const BenchFlags& flags) {
  std::vector<SpeedCase> cases;
  for (const int64_t depth : flags.depths) {
    cases.push_back({SpeedCase::Kind::kPrefill, flags.prefill, depth, 1});
    for (const int64_t batch : flags.batches) {
      // Each sequence reads its prompt before it decodes, so the prompt is depth too.
      cases.push_back({SpeedCase::Kind::kDecode, flags.decode, depth + flags.prompt, batch});
    }
  }
  return cases;
}

// A --context that was given holds for every case; without one a case may pass the model's own.
Result<void> check_context(const BenchFlags& flags) {
  if (flags.engine.context == 0) return {};
  for (const SpeedCase& c : cases_of(flags)) {
    if (c.depth + c.tokens > flags.engine.context) {
      return fail::invalid("{} tokens after {} do not fit --context {}.", c.tokens, c.depth,
                           flags.engine.context);
    }
  }
  return {};
}

// Repetitions go in turn over all cases, so that a drift of the machine's speed spreads over them
// evenly; what fills the depths stays in the cache.
Result<BenchReport> measure(Engine& engine, const BenchFlags& flags) {
  SpeedMeter meter(engine);
  // A device that cannot measure itself has roofs of 0, which share() takes as unknown.
  BenchReport report{.roofs = engine.device().measure_roof().value_or(DeviceRoof{}), .rows = {}};
  const std::vector<SpeedCase> cases = cases_of(flags);
  // By case.
  std::vector<std::vector<double>> rates(cases.size()), roofs(cases.size());
  // The first run also fills the cache to the depth, touches new pages and wakes the threads.
  for (const SpeedCase& c : cases) QUERN_TRY(meter.measure(c, false));  // warm-up
  for (int64_t repetition = 0; repetition < flags.repetitions; ++repetition) {
    for (size_t i = 0; i < cases.size(); ++i) {
      QUERN_ASSIGN_OR_RETURN(const SpeedSample sample, meter.measure(cases[i], true));
      rates[i].push_back(sample.tokens_per_second);
      roofs[i].push_back(sample.read_roof);
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    report.rows.push_back({cases[i], median(rates[i]), median(roofs[i])});
  }
  return report;
}

// Multiplications with weights a second, as the device makes them: 16-bit activations are two
// planes of 8.
double products_per_second(const Engine& engine, const BenchRow& row) {
  const int planes = engine.model().activations == Activations::kInt16 ? 2 : 1;
  return row.tokens_per_second * products_per_token(engine) * planes;
}
// Of the same kind of product: integers where activations are.
double products_roof(const Engine& engine, const DeviceRoof& roofs) {
  // The roof counts an addition and a multiplication as two operations; here a product is one.
  return engine.model().activations == Activations::kF32 ? roofs.flops_per_second / 2
                                                         : roofs.int_ops_per_second / 2;
}
// Bytes of weights a second; a batch reads them once.
double bytes_per_second(const Engine& engine, const BenchRow& row) {
  return row.tokens_per_second / static_cast<double>(row.speed_case.batch) *
         weight_bytes_per_token(engine);
}
// 0 where the roof is not known.
double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

// ", 52 % of the 206 Gop/s roof"; nothing where the roof is not known.
std::string of_roof(double rate, double roof, std::string_view shown) {
  return roof > 0 ? fmt::format(", {:.0f} % of the {} roof", 100 * share(rate, roof), shown) : "";
}

// A line for people; rates of weights stand beside the roof that limits them.
void print_row(const Engine& engine, const DeviceRoof& roofs, const BenchRow& row) {
  const SpeedCase& c = row.speed_case;
  if (c.kind == SpeedCase::Kind::kPrefill) {
    const double rate = products_per_second(engine, row);
    const double roof = products_roof(engine, roofs);
    fmt::print("prefill {:>5} tokens after {:>5}                {:>9.1f} tokens/s", c.tokens,
               c.depth, row.tokens_per_second);
    fmt::print("  {:>6.1f} Gop/s of weights{}\n", 2e-9 * rate,
               of_roof(rate, roof, fmt::format("{:.0f} Gop/s", 2e-9 * roof)));
    return;
  }
  const double rate = bytes_per_second(engine, row);
  fmt::print("decode  {:>5} tokens after {:>5}, {:>2} {:<10} {:>9.1f} tokens/s", c.tokens, c.depth,
             c.batch, c.batch == 1 ? "sequence" : "sequences", row.tokens_per_second);
  // More than memory can give says that the weights stay in a cache: a share above 100 % would look
  // like an error of the measurement.
  if (rate > row.read_roof && row.read_roof > 0) {
    fmt::print("  {:>6.1f} GB/s of weights, past the {:.1f} GB/s of memory: from caches\n",
               1e-9 * rate, 1e-9 * row.read_roof);
    return;
  }
  fmt::print("  {:>6.1f} GB/s of weights{}\n", 1e-9 * rate,
             of_roof(rate, row.read_roof, fmt::format("{:.1f} GB/s", 1e-9 * row.read_roof)));
}

// The same for programs, in units without prefixes.
nlohmann::json json_row(const Engine& engine, const DeviceRoof& roofs, const BenchRow& row) {
  const SpeedCase& c = row.speed_case;
  const bool is_prefill = c.kind == SpeedCase::Kind::kPrefill;
  nlohmann::json json = {{"kind", is_prefill ? "prefill" : "decode"},
                         {"tokens", c.tokens},
                         {"depth", c.depth},
                         {"batch", c.batch},
                         {"tokens_per_second", row.tokens_per_second}};
  if (is_prefill) {
    const double rate = products_per_second(engine, row);
    json["operations_per_second"] = 2 * rate;
    json["share_of_roof"] = share(rate, products_roof(engine, roofs));
  } else {
    const double rate = bytes_per_second(engine, row);
    json["bytes_per_second"] = rate;
    json["read_roof_bytes_per_second"] = row.read_roof;
    json["share_of_roof"] = share(rate, row.read_roof);
  }
  return json;
}

// To stdout, as text or JSON.
void print_report(const Engine& engine, const BenchFlags& flags, const BenchReport& report) {
  const Capabilities& capabilities = engine.device().capabilities();
  if (!flags.is_json) {
    fmt::print("{} on {}, {} threads, {} numerics, {} activations\n", flags.engine.model,
               capabilities.arch, capabilities.num_threads, flags.engine.numerics,
               activations_name(engine.model().activations));
    for (const BenchRow& row : report.rows) print_row(engine, report.roofs, row);
    return;
  }
  nlohmann::json json = {{"model", flags.engine.model},
                         {"arch", capabilities.arch},
                         {"threads", capabilities.num_threads},
                         {"numerics", flags.engine.numerics},
                         {"activations", activations_name(engine.model().activations)},
                         {"weight_bytes", engine.executable().weight_bytes()},
                         {"int8_roof_operations_per_second", report.roofs.int_ops_per_second},
                         {"f32_roof_operations_per_second", report.roofs.flops_per_second},
                         {"read_roof_bytes_per_second", report.roofs.bytes_per_second},
                         {"results", nlohmann::json::array()}};
  for (const BenchRow& row : report.rows) {
    json["results"].push_back(json_row(engine, report.roofs, row));
  }
  fmt::print("{}\n", json.dump());
}

// Kinds of work of one more run of each case, those that took longest first.
Result<std::vector<ProfileEntry>> profile(Engine& engine, const BenchFlags& flags) {
  SpeedMeter meter(engine);
  Executable& executable = engine.executable();
  std::vector<ProfileEntry> entries;
  for (const SpeedCase& c : cases_of(flags)) {
    // Unprofiled, as the tokens of the depth are no part of the case.
    QUERN_TRY(meter.measure({c.kind, 1, c.depth, c.batch}, false));  // fills the depth
    executable.set_profiling(true);
    const auto done = meter.measure(c, false);
    executable.set_profiling(false);
    // Not QUERN_TRY above: profiling has to be off again before the function returns.
    if (!done) return tl::unexpected(done.error());
    for (ProfileEntry& entry : executable.take_profile()) {
      // Cases share kinds of work; equal ones become one line.
      const auto same = std::ranges::find_if(entries, [&](const ProfileEntry& e) {
        return e.op == entry.op && e.detail == entry.detail;
      });
      if (same == entries.end()) {
        entries.push_back(std::move(entry));
        continue;
      }
      same->runs += entry.runs;
      same->seconds += entry.seconds;
      same->products += entry.products;
      same->bytes += entry.bytes;
    }
  }
  std::ranges::sort(entries, std::greater(), &ProfileEntry::seconds);
  return entries;
}

// Longest first.
void print_profile(std::span<const ProfileEntry> entries) {
  for (const ProfileEntry& e : entries) {
    fmt::print("{:26} {:44} {:6} runs {:9.2f} us {:9.3f} ms {:6.1f} Gop/s {:6.1f} GB/s\n", e.op,
               e.detail, e.runs, 1e6 * e.seconds / static_cast<double>(e.runs), 1e3 * e.seconds,
               // A product is two operations.
               2e-9 * e.products / e.seconds, 1e-9 * e.bytes / e.seconds);
  }
}

// Small work is left out; the picture is a file of its own.
Result<void> write_svg(const Engine& engine, const BenchFlags& flags, const DeviceRoof& roofs,
                       std::span<const ProfileEntry> entries) {
  // Work below this share of the time is noise in the picture.
  constexpr double kLeastShare = 0.002;
  double total = 0;
  for (const ProfileEntry& e : entries) total += e.seconds;
  std::vector<RooflinePoint> points;
  for (const ProfileEntry& e : entries) {
    if (e.products <= 0 || e.bytes <= 0 || e.seconds < kLeastShare * total) continue;
    // Operations for each byte, and operations a second: the axes of a roofline (Williams, Waterman
    // and Patterson, 2009).
    points.push_back(
        {e.detail, e.op, 2 * e.products / e.bytes, 2 * e.products / e.seconds, e.seconds});
  }
  const std::string title =
      fmt::format("{}, {} activations, on {}, {} threads",
                  flags.engine.model.substr(flags.engine.model.find_last_of('/') + 1),
                  activations_name(engine.model().activations), engine.device().capabilities().arch,
                  engine.device().capabilities().num_threads);
  QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(flags.svg));
  QUERN_TRY(file.write(roofline_svg(title, roofs, points)));
  // A picture can be drawn again, so nothing waits for the disk.
  return file.commit(Durability::kProcess);
}

// The model is loaded once; --full is a choice of batches and depths.
Result<void> bench(BenchFlags flags) {
  if (flags.is_full) {
    // Powers of two show where decoding turns from memory to arithmetic as its limit.
    flags.batches = {1, 2, 4, 8, 16, 32};
    flags.depths = {0, 1024, 4096};
  }
  QUERN_TRY(check_context(flags));
  // The loading bar would only be noise to a program.
  QUERN_ASSIGN_OR_RETURN(const auto engine, flags.engine.open(flags.is_json));
  QUERN_ASSIGN_OR_RETURN(const BenchReport report, measure(*engine, flags));
  print_report(*engine, flags, report);
  if (!flags.has_profile && flags.svg.empty()) return {};
  QUERN_ASSIGN_OR_RETURN(const auto entries, profile(*engine, flags));
  if (flags.has_profile) print_profile(entries);
  return flags.svg.empty() ? Result<void>() : write_svg(*engine, flags, report.roofs, entries);
}

}  // namespace

// Defaults finish in seconds on small models.
void set_up_bench(OptionSet& command, Action& action) {
  auto flags = std::make_shared<BenchFlags>();
  flags->engine.add_to(command);
  command.add_option("--prefill", flags->prefill, "Tokens that are prefilled")
      .range(1, 1 << 20)
      .show_default();
  command.add_option("--decode", flags->decode, "Tokens that each sequence decodes")
      .range(1, 1 << 20)
      .show_default();
  command.add_option("--prompt", flags->prompt, "Tokens of a sequence before it decodes")
      .range(0, 1 << 20)
      .show_default();
  command.add_option("--batch", flags->batches, "Sequences that decode at once: 1,8,32")
      .comma_separated()
      .range(1, 1024)
      .show_default();
  command.add_option("--depth", flags->depths, "Tokens of context before everything: 0,4096")
      .comma_separated()
      .range(0, 1 << 24)
      .show_default();
  command.add_flag("--full", flags->is_full, "Batches of 1 to 32 at depths of 0, 1024 and 4096");
  command.add_option("--repetitions", flags->repetitions, "Runs of each; medians are printed")
      .range(1, 1000)
      .show_default();
  command.add_flag("--profile", flags->has_profile, "Time of each kind of work");
  command.add_option("--svg", flags->svg, "File for a picture: each kind of work under the roofs");
  command.add_flag("--json", flags->is_json, "Result as JSON");
  action = [flags] { return bench(*flags); };
}

}  // namespace quern::cli
