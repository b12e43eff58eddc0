// The shapes that synthetic models come in.
// The real ones have the sizes of published models, so that benches mean something.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/fail.h"
#include "formats/synth.h"

namespace quern {
namespace {

// name, layers, hidden, heads, kv heads, ffn, vocabulary, rope base, context, tied, pre-tokenizer
constexpr std::array kShapes = {
    // For tests: rows of 64 and 160 take the formats with blocks of 32.
    SynthShape{"tiny", 2, 64, 4, 2, 160, 512, 10000, 256, true, "smollm"},
    // For tests of the formats with blocks of 256.
    SynthShape{"tiny-k", 2, 256, 4, 2, 512, 512, 10000, 256, false, "llama-bpe"},
    SynthShape{"smollm2-135m", 30, 576, 9, 3, 1536, 49152, 100000, 8192, true, "smollm"},
    SynthShape{"tinyllama-1.1b", 22, 2048, 32, 4, 5632, 32000, 10000, 2048, false, "llama-bpe"},
    SynthShape{"llama-3.2-1b", 16, 2048, 32, 8, 8192, 128256, 500000, 131072, true, "llama-bpe"},
};

}  // namespace

// Falls with the number of terms of a sum, so that activations keep their size.
float SynthShape::weight_stddev() const {
  return static_cast<float>(0.8 / std::sqrt(static_cast<double>(hidden)));
}

// In the order of the help text.
std::span<const SynthShape> synth_shapes() {
  return kShapes;
}

Result<SynthShape> find_synth_shape(std::string_view name) {
  const auto* found = std::ranges::find(kShapes, name, &SynthShape::name);
  if (found != kShapes.end()) return *found;
  std::string names;
  for (const SynthShape& shape : kShapes) {
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", shape.name);
  }
  return fail::not_found("There is no synthetic shape '{}'; the shapes are {}.", name, names);
}

}  // namespace quern
