// See f32_sweep.h.
#include "ops/math/f32_sweep.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <string_view>
#include <thread>
#include <vector>

#include "ops/math/ulp_error.h"

namespace quern {
namespace {

// Three arrays of 4 KiB for each thread stay in its first-level cache. A multiple of every width.
constexpr int kBlock = 1024;
constexpr uint64_t kNumPatterns = uint64_t{1} << 32;
constexpr uint32_t kSign = 0x80000000u;

struct Block {
  std::array<float, kBlock> x;
  std::array<float, kBlock> y;
  std::array<float, kBlock> mirrored;  // f(-x), for symmetric functions
};

// Keeps the worse error. +infinity (a wrong NaN, sign of zero or mirror image) beats every number.
void merge(SweepResult& into, double ulp, float x) {
  if (ulp > into.worst_ulp) {
    into.worst_ulp = ulp;
    into.worst_input = x;
  }
}

// Equality of strict numerics: the same bits, or two NaNs whatever their payload.
bool same_value(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// Patterns first, first + stride, ...; a block past the end wraps around, which does no harm.
void sweep_block(EvaluateF32 evaluate, const MathOracle& oracle, uint64_t first, uint32_t stride,
                 Block& block, SweepResult& result) {
  for (int i = 0; i < kBlock; ++i) {
    block.x[i] = std::bit_cast<float>(static_cast<uint32_t>(first + uint64_t{stride} * i));
  }
  evaluate(block.x.data(), block.y.data(), kBlock);
  for (int i = 0; i < kBlock; ++i) {
    // double carries 29 bits more than f32: its own error does not show in the ulps.
    const double exact = oracle.f64(static_cast<double>(block.x[i]));
    // The nearest float is at most half an ulp off: nothing to learn once that was seen.
    if (result.worst_ulp >= 0.5 && same_value(block.y[i], static_cast<float>(exact))) continue;
    merge(result, ulp_error(block.y[i], exact), block.x[i]);
  }
  result.num_inputs += kBlock;
  // f(-x) is held to the bits of f(x), which were just judged, so that the oracle runs half as
  // often.
  if (oracle.symmetry == Symmetry::kNone) return;
  for (float& x : block.x) x = std::bit_cast<float>(std::bit_cast<uint32_t>(x) ^ kSign);
  evaluate(block.x.data(), block.mirrored.data(), kBlock);
  for (int i = 0; i < kBlock; ++i) {
    const float expected = oracle.symmetry == Symmetry::kOdd ? -block.y[i] : block.y[i];
    if (!same_value(block.mirrored[i], expected)) {
      merge(result, std::numeric_limits<double>::infinity(), block.x[i]);
    }
  }
  result.num_inputs += kBlock;
}

}  // namespace

SweepResult sweep_f32(EvaluateF32 evaluate, const MathOracle& oracle, uint32_t stride) {
  // Patterns below 2^31 are those with a clear sign bit.
  const uint64_t end = oracle.symmetry == Symmetry::kNone ? kNumPatterns : kNumPatterns / 2;
  const uint64_t step = uint64_t{stride} * kBlock;
  // Threads draw blocks from one counter, since some regions cost more than others (sin of large
  // x). Each writes a result of its own; they merge after the join.
  const unsigned num_threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<SweepResult> results(num_threads);
  std::vector<std::jthread> threads;
  std::atomic<uint64_t> next = 0;
  for (unsigned t = 0; t < num_threads; ++t) {
    threads.emplace_back([&, t] {
      Block block;
      for (uint64_t first = next.fetch_add(step); first < end; first = next.fetch_add(step)) {
        sweep_block(evaluate, oracle, first, stride, block, results[t]);
      }
    });
  }
  threads.clear();  // joins
  SweepResult all;
  for (const SweepResult& result : results) {
    merge(all, result.worst_ulp, result.worst_input);
    all.num_inputs += result.num_inputs;
  }
  return all;
}

EvaluateF32 fastest_f32_evaluator(const char* name) {
  LaneEvaluators lanes = lane_evaluators_portable();
  // An index into a row's widths: 4 lanes of the base instruction set, or 8 of AVX2.
  int width = 1;
#ifdef QUERN_LANES_X86
  if (__builtin_cpu_supports("avx2")) {
    lanes = lane_evaluators_avx2();
    width = 2;
  }
#endif
  for (int i = 0; i < lanes.num_unary; ++i) {
    if (std::string_view(lanes.unary[i].name) == name) return lanes.unary[i].f32[width];
  }
  return nullptr;
}

}  // namespace quern
