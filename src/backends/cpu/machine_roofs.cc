// Runs the probe kernels on all threads.
#include "backends/cpu/machine_roofs.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "hw/memory_roof.h"

namespace quern::cpu {
namespace {

constexpr int kRepeats = 3;
constexpr double kProbeSeconds = 5e-3;  // of one repeat

template <class F>
double seconds_of(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Products a second of all threads; probe(rounds) makes rounds * products_per_round of them.
template <class Probe>
double products_per_second(ThreadPool& pool, int64_t products_per_round, Probe&& probe) {
  std::atomic<int64_t> sink{0};
  const auto time_rounds = [&](int64_t rounds) {
    return seconds_of([&] {
      pool.run(pool.num_threads(), [&](int64_t, int) {
        sink.fetch_add(static_cast<int64_t>(probe(rounds)), std::memory_order_relaxed);
      });
    });
  };
  int64_t rounds = 1000;
  while (time_rounds(rounds) < kProbeSeconds) rounds *= 2;
  double best = time_rounds(rounds);
  for (int i = 1; i < kRepeats; ++i) best = std::min(best, time_rounds(rounds));
  return static_cast<double>(rounds * products_per_round * pool.num_threads()) / best;
}

}  // namespace

DeviceRoofs probe_machine_roofs(Machine& machine) {
  const ProbeKernels& probe = machine.kernels.probe;
  return {.bytes_per_second = probe_read_bandwidth(machine.pool.num_threads()),
          .int8_products_per_second =
              products_per_second(machine.pool, probe.products_per_round, probe.dot_products),
          .f32_products_per_second = products_per_second(
              machine.pool, probe.multiply_adds_per_round, probe.multiply_adds)};
}

}  // namespace quern::cpu
