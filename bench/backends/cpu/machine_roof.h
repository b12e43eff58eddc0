// Clocks of the benches, and the limits of this machine to set their results against.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "backends/cpu/machine_roof.h"

namespace quern::cpu::bench {

// By a clock that never goes back; only differences mean something.
inline double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Best of `repeats` times of f(), in seconds.
template <class F>
// The best and not the mean: what the machine can do when nothing else runs.
double best_time(int repeats, F&& f) {
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const double start = seconds_now();
    f();
    best = std::min(best, seconds_now() - start);
  }
  return best;
}

using cpu::MachineRoof;

}  // namespace quern::cpu::bench
