// The mixtures. Names, numbers and the layers with more bits are those that llama.cpp made usual,
// so that a file of a given type has the size and quality that people expect of its name.
#include <algorithm>
#include <cctype>

#include "base/fail.h"
#include "formats/quantize_types.h"

namespace quern {
namespace {

using enum Layers;
using enum DType;

// Columns: name, base format, general.file_type, then what values, attention output and ffn_down
// get in some layers and in the others.

// No tensor gets another format.
constexpr Promotion kPlain = {};

// Formats by role, as llama.cpp chooses them under the same names.
constexpr QuantMixture kMixtures[] = {
    {"f32", kF32, 0, kPlain, kPlain, kPlain},
    {"f16", kF16, 1, kPlain, kPlain, kPlain},
    {"bf16", kBF16, 32, kPlain, kPlain, kPlain},
    {"q8_0", kQ8_0, 7, kPlain, kPlain, kPlain},
    {"q5_1", kQ5_1, 9, kPlain, kPlain, kPlain},
    {"q5_0", kQ5_0, 8, kPlain, kPlain, kPlain},
    {"q4_1", kQ4_1, 3, kPlain, kPlain, kPlain},
    {"q4_0", kQ4_0, 2, kPlain, kPlain, kPlain},
    {"iq4_nl", kIQ4_NL, 25, {kGrouped, kQ5_K, kIQ4_NL}, kPlain, {kFirstEighth, kQ5_K, kIQ4_NL}},
    {"mxfp4", kMXFP4, 38, kPlain, kPlain, kPlain},
    {"MXFP4_MOE", kMXFP4, 38, kPlain, kPlain, kPlain, kQ8_0, true},
    {"Q2_K", kQ2_K, 10, {kGrouped, kQ4_K, kQ3_K}, {kAll, kQ3_K, kQ3_K}, {kAll, kQ3_K, kQ3_K}},
    {"Q3_K_S", kQ3_K, 11, kPlain, kPlain, kPlain},
    {"Q3_K_M",
     kQ3_K,
     12,
     {kFirstTwo, kQ5_K, kQ4_K},
     {kAll, kQ4_K, kQ4_K},
     {kFirstSixteenth, kQ5_K, kQ4_K}},
    {"Q3_K_L", kQ3_K, 13, {kAll, kQ5_K, kQ5_K}, {kAll, kQ5_K, kQ5_K}, {kAll, kQ5_K, kQ5_K}},
    {"Q4_K_S", kQ4_K, 14, {kFirstFour, kQ5_K, kQ4_K}, kPlain, {kFirstEighth, kQ5_K, kQ4_K}},
    {"Q4_K_M", kQ4_K, 15, {kEndsAndThirds, kQ6_K, kQ4_K}, kPlain, {kEndsAndThirds, kQ6_K, kQ4_K}},
    {"Q5_K_S", kQ5_K, 16, kPlain, kPlain, kPlain},
    {"Q5_K_M", kQ5_K, 17, {kEndsAndThirds, kQ6_K, kQ5_K}, kPlain, {kEndsAndThirds, kQ6_K, kQ5_K}},
    {"Q6_K", kQ6_K, 18, kPlain, kPlain, kPlain},
};

// In either case: people write q4_k_m.
bool is_same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

// In the order of the help text.
std::span<const QuantMixture> quant_mixtures() {
  return kMixtures;
}

// Errors: kNotFound, listing the names.
Result<QuantMixture> find_quant_mixture(std::string_view name) {
  std::string names;
  for (const QuantMixture& mixture : kMixtures) {
    if (is_same_name(mixture.name, name)) return mixture;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", mixture.name);
  }
  return fail::not_found("'{}' is not a type to quantise to; the types are {}.", name, names);
}

}  // namespace quern
