// Random weight data of every dtype that weights may have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quern/dtype.h"

namespace quern {

// SplitMix64 (Steele, Lea, Flood 2014): fast, and the same words on every machine.
class SplitMix64 {
 public:
  // Any seed, 0 too.
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  // Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014).
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  // Advances by a constant.
  uint64_t state_;
};

// f32, f16, bf16 and the block formats of weights (not q8_K, which is for activations).
bool has_random_weights(DType dtype);
// Whole blocks of elements with mean 0 and the standard deviation `stddev`, from 0.01 to 0.2. Each
// block has a scale of its own and only codes that an encoder may give.
// Needs has_random_weights(dtype).
void fill_random_weights(DType dtype, float stddev, SplitMix64& random,
                         std::span<std::byte> blocks);

}  // namespace quern
