// Probe kernels on all threads, timed: the best of a few passes.
#include "backends/cpu/machine_roof.h"

namespace quern::cpu {
namespace {

// The best of them counts: neighbours on the cores slow single ones down.
constexpr int kPasses = 10;
constexpr int64_t kMemoryBytes = int64_t{192} << 20;
constexpr int64_t kChunkBytes = int64_t{1} << 20;

// Best time of f(), in seconds.
template <class F>
double best_time(F&& f) {
  double best = 1e30;
  for (int i = 0; i < kPasses; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count());
  }
  return best;
}

}  // namespace

double MachineRoof::products_per_second() {
  constexpr int64_t kRounds = 5000;  // milliseconds: beside them waking a thread is nothing
  const double time = best_time([&] {
    pool_.run(threads(), [&](int64_t, int) { sink_ += kernels_.probe.dot_products(kRounds); });
  });
  return static_cast<double>(kRounds * kernels_.probe.products_per_round * threads()) / time;
}

double MachineRoof::multiply_adds_per_second() {
  constexpr int64_t kRounds = 1000000;
  const double time = best_time([&] {
    pool_.run(threads(), [&](int64_t, int) {
      sink_ += static_cast<int64_t>(kernels_.probe.multiply_adds(kRounds));
    });
  });
  return static_cast<double>(kRounds * kernels_.probe.multiply_adds_per_round * threads()) / time;
}

double MachineRoof::bytes_per_second() {
  if (memory_.is_empty()) {
    auto made = Buffer::allocate_host(kMemoryBytes);
    if (!made) return 0;
    memory_ = std::move(*made);
  }
  const auto bytes = memory_.mutable_host_view();
  if (!bytes) return 0;
  // Pages that were never written are all one page of zeros.
  if ((*bytes)[1] == std::byte{0}) std::fill(bytes->begin(), bytes->end(), std::byte{1});
  const double time = best_time([&] {
    pool_.run(kMemoryBytes / kChunkBytes, [&](int64_t chunk, int) {
      sink_ += kernels_.probe.read(bytes->data() + chunk * kChunkBytes, kChunkBytes);
    });
  });
  return static_cast<double>(kMemoryBytes) / time;
}

double MachineRoof::seconds_per_dispatch() {
  constexpr int kRuns = 2000;
  const double time = best_time([&] {
    for (int i = 0; i < kRuns; ++i) pool_.run(2 * threads(), [](int64_t, int) {});
  });
  return time / kRuns;
}

}  // namespace quern::cpu
