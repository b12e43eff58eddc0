// How fast an engine runs: prefill, decoding, batches, at any depth of context.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "generate/engine.h"

namespace quern {

// What one measurement does.
struct SpeedCase {
  // What is timed.
  enum class Kind : uint8_t {
    kPrefill,  // `tokens` tokens of one sequence, in runs of at most 512
    kDecode,   // `tokens` runs, each of one token of every sequence
  };
  // By default a decoded token at a time.
  Kind kind = Kind::kDecode;
  int64_t tokens = 64;
  int64_t depth = 0;  // tokens of each sequence before it
  int64_t batch = 1;  // sequences; 1 for prefill
};

// Of one run.
struct SpeedSample {
  double tokens_per_second = 0;  // of all sequences together
  // Bytes a second that all threads together read from memory just before; 0: not asked for.
  double read_roof = 0;
};

// Measures cases on sequences of its own. Each depth is filled once, in any order of the cases, and
// shared by the sequences; deeper ones share the rows of those before them.
// One thread only; the engine must outlive it.
class SpeedMeter {
 public:
  // Borrows the engine.
  explicit SpeedMeter(Engine& engine) : engine_(engine) {}
  // Removes what it made.
  ~SpeedMeter();
  SpeedMeter(const SpeedMeter&) = delete;
  SpeedMeter& operator=(const SpeedMeter&) = delete;

  // One run of the case. Errors: those of Engine::forward, a case below one token or sequence.
  Result<SpeedSample> measure(const SpeedCase& c, bool probes_roof);

 private:
  Result<int32_t> base_of_depth(int64_t depth);
  Result<double> time_prefill(const SpeedCase& c, int32_t sequence);
  Result<double> time_decode(const SpeedCase& c, std::span<const int32_t> sequences);

  Engine& engine_;
  std::map<int64_t, int32_t> bases_;  // sequences by the number of tokens that they hold
};

// Bytes of weights that decoding one token reads: all but the embedding table, unless it is the
// head too; of a mixture's experts those that a token is sent to. A batch of more sequences may
// send its tokens to other experts and read more: for mixtures this is the least of it.
double weight_bytes_per_token(const Engine& engine);
// Multiplications with weights of one prefilled token: the head, which only the last token needs,
// left out; of a mixture's experts those that it is sent to.
double products_per_token(const Engine& engine);

// The middle one; 0 for none.
double median(std::vector<double> values);

}  // namespace quern
