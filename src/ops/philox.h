// Philox 4x32-10, the counter-based generator behind every random operation.
#pragma once

#include <array>
#include <cstdint>

namespace quern {

// Ten rounds (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
// Each round multiplies two of the words by constants and lets the halves of the products change
// places, so that after a few rounds every bit of counter and key reaches all four words.
// Multipliers and key increments are those of the paper.
inline std::array<uint32_t, 4> philox_4x32(std::array<uint32_t, 4> counter,
                                           std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    // Weyl steps make the key of the next round.
    key[0] += 0x9E3779B9;  // golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

// The random words of one node in one run: word(i) is a pure function of all five numbers.
// No word needs the one before it: threads, devices and chunks may split a tensor anywhere and draw
// the same numbers.
struct RandomWords {
  uint64_t seed = 0;     // the key: low half, high half
  uint32_t stream = 0;   // the run's step counter
  uint32_t node_id = 0;  // index of the node in its graph

  // counter = (block low, block high, stream, node id), key = (seed low, seed high); a block is
  // four words, and word i is number i mod 4 of block i / 4.
  uint32_t word(uint64_t index) const {
    const uint64_t block = index / 4;
    return philox_4x32(
        {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), stream, node_id},
        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)})[index % 4];
  }

  // Uniform in [0, 1) on the grid of 2^-24; element i takes word i.
  // 24 bits are what an f32 holds on an even grid; 1 is never reached.
  float uniform_f32(uint64_t i) const { return static_cast<float>(word(i) >> 8) * 0x1p-24f; }
  // Uniform in [0, 1) on the grid of 2^-53; element i takes words 2i and 2i + 1.
  double uniform_f64(uint64_t i) const {
    // 27 bits of the first word and 26 of the second.
    const uint64_t high = word(2 * i) >> 5;
    const uint64_t low = word(2 * i + 1) >> 6;
    return static_cast<double>((high << 26) + low) * 0x1p-53;
  }
  // Integer in [0, n).
  // By multiplication and without rejection: each value takes floor or ceil of 2^32 / n words.
  uint32_t below(uint64_t i, uint32_t n) const {
    return static_cast<uint32_t>((uint64_t{word(i)} * n) >> 32);
  }
};

}  // namespace quern
