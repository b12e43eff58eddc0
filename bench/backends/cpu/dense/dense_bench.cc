// Times dense operations of the cpu backend.
//   dense_bench [--threads N] [--isa NAME] [--match TEXT]   a table
//   dense_bench --serve                                     answers "THREADS SECONDS CASE" lines
//                                                           with microseconds, for other programs
//   dense_bench --list                                      the names of the cases
//   dense_bench --describe                                  the instruction set in use
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>

#include "base/fail.h"
#include "base/thread_pool.h"
#include "dense_cases.h"
#include "dense_peers.h"

namespace quern::bench {
namespace {

// Of the command line; unknown words are ignored, as benches are called by scripts.
struct Flags {
  int num_threads = available_cpus();
  std::string isa;
  std::string match;
  bool is_server = false;
  bool is_list = false;
  bool is_description = false;
  bool is_help = false;
};

constexpr const char* kUsage =
    "dense_bench: times dense operations of the cpu backend against its peers.\n"
    "  --threads N   threads of both (default: all)\n"
    "  --isa NAME    caps the instruction set\n"
    "  --match TEXT  cases whose names hold TEXT\n"
    "  --list        prints the names of the cases\n"
    "  --describe    prints the instruction set in use\n"
    "  --serve       reads lines of THREADS SECONDS CASE, answers each with microseconds\n"
    "  --help        prints this\n";

// The whole of `text` as a number of threads, or nothing.
std::optional<int> read_threads(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || count < 1 || count > kMaxThreads) return std::nullopt;
  return count;
}

// Errors: an unknown flag, a missing value, a number of threads out of range.
Result<Flags> read_flags(std::span<char* const> arguments) {
  Flags flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view flag = arguments[i];
    if (flag == "--serve") {
      flags.is_server = true;
    } else if (flag == "--list") {
      flags.is_list = true;
    } else if (flag == "--describe") {
      flags.is_description = true;
    } else if (flag == "--help") {
      flags.is_help = true;
    } else if (flag == "--threads" || flag == "--isa" || flag == "--match") {
      if (++i == arguments.size()) return fail::invalid("Flag '{}' needs a value.", flag);
      const std::string_view value = arguments[i];
      if (flag == "--isa") flags.isa = value;
      if (flag == "--match") flags.match = value;
      if (flag != "--threads") continue;
      const auto count = read_threads(value);
      if (!count) {
        return fail::invalid("--threads is '{}'; it must be a number from 1 to {}.", value,
                             kMaxThreads);
      }
      flags.num_threads = *count;
    } else {
      return fail::invalid("There is no flag '{}'; --help lists them.", flag);
    }
  }
  return flags;
}

// Microseconds of one run. Made anew for each case, so that no memory or thread is left over.
Result<double> time_case(const DenseCase& dense_case, int num_threads, double seconds,
                         const std::string& isa) {
  QUERN_ASSIGN_OR_RETURN(DenseSession session, DenseSession::make(dense_case, num_threads, isa));
  // The first run binds the plan and shows errors; it is not timed.
  const auto first = session.run();
  if (!first) return tl::unexpected(first.error());
  return median_microseconds(seconds, [&] { (void)session.run(); });
}

// One line in, one line out: microseconds, or "error: ..." .
// A driver in another language can so take turns between Quern and its own library, in one minute
// on one machine.
int serve(const Flags& flags) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    int num_threads = 1;
    double seconds = 0.2;
    std::string name;
    words >> num_threads >> seconds;
    std::getline(words >> std::ws, name);
    const auto dense_case = make_dense_case(name);
    const auto time = dense_case ? time_case(*dense_case, num_threads, seconds, flags.isa)
                                 : Result<double>(tl::unexpected(dense_case.error()));
    fmt::print("{}\n", time ? fmt::format("{:.3f}", *time) : "error: " + time.error().message);
    // The driver waits for the line.
    std::fflush(stdout);
  }
  return 0;
}

// A ratio above 1 means that Quern is faster.
// Rounds alternate between Quern and each peer; medians are printed with Quern's speed relative to
// the peer's.
void print_case(const DenseCase& dense_case, const Flags& flags) {
  constexpr double kSeconds = 0.3;
  const auto own = time_case(dense_case, flags.num_threads, kSeconds, flags.isa);
  if (!own) {
    fmt::print("{:34} {}\n", dense_case.name, own.error().message);
    return;
  }
  fmt::print("{:34} {:10.1f} us", dense_case.name, *own);
  if (dense_case.flops > 0) {
    // Operations per microsecond times 1e-3 are 1e9 a second; bytes likewise.
    fmt::print(" {:7.1f} Gop/s", dense_case.flops / *own * 1e-3);
  } else {
    const auto bytes = static_cast<double>(dense_case.read_bytes + dense_case.written_bytes);
    fmt::print(" {:7.1f} GB/s ", bytes / *own * 1e-3);
  }
  for (const DensePeer& peer : dense_peers()) {
    const auto run = peer.prepare(dense_case, flags.num_threads);
    if (!run) continue;
    const double time = median_microseconds(kSeconds, run);
    fmt::print("  {} {:.1f} us, ratio {:.2f}", peer.name, time, time / *own);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

int describe(const Flags& flags) {
  const auto arch = instruction_set(flags.isa);
  fmt::print("{}\n", arch ? *arch : "error: " + arch.error().message);
  return arch ? 0 : 1;
}

// What is missing from the build is said first: a table without a peer must not look like a win.
int print_table(const Flags& flags) {
  for (const DensePeer& peer : dense_peers()) {
    if (!peer.absence.empty()) fmt::print("# {}\n", peer.absence);
  }
  fmt::print("# {}, {} threads\n", instruction_set(flags.isa).value_or("?"), flags.num_threads);
  for (const std::string& name : dense_case_names()) {
    if (name.find(flags.match) == std::string::npos) continue;
    const auto dense_case = make_dense_case(name);
    if (!dense_case) {
      fmt::print("{:34} {}\n", name, dense_case.error().message);
      continue;
    }
    print_case(*dense_case, flags);
  }
  return 0;
}

}  // namespace
}  // namespace quern::bench

int main(int argc, char** argv) {
  const auto flags = quern::bench::read_flags({argv + 1, argv + std::max(argc, 1)});
  if (!flags) {
    fmt::print(stderr, "dense_bench: {}\n", flags.error().message);
    return 2;
  }
  if (flags->is_help) {
    fmt::print("{}", quern::bench::kUsage);
    return 0;
  }
  if (flags->is_list) {
    for (const std::string& name : quern::bench::dense_case_names()) fmt::print("{}\n", name);
    return 0;
  }
  if (flags->is_description) return quern::bench::describe(*flags);
  return flags->is_server ? quern::bench::serve(*flags) : quern::bench::print_table(*flags);
}
