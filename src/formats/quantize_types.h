// Which format each tensor of a model gets when it is quantised.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata.h"
#include "quern/weight_source.h"

namespace quern {

// The layers in which a role gets its better format.
enum class Layers : uint8_t {
  kNone,  // the role has the base format everywhere
  kAll,
  kFirstTwo,
  kFirstFour,
  kFirstSixteenth,
  kFirstEighth,
  kEndsAndThirds,  // the first and last eighth, and every third layer between
  kGrouped,        // all, in models where 4 or more query heads share a key head
};

// What a role gets: `better` in some layers, `other` in the rest.
struct Promotion {
  // Which layers get `better`; all others get `other`.
  Layers layers = Layers::kNone;
  DType better = DType::kF32;
  DType other = DType::kF32;
};

// A named choice of formats for a whole file: a plain format, or a mixture that spends more bits
// where they help most. In all of them the head (output.weight, or token_embd.weight where it is
// the head) has q6_K or q8_0 at least.
struct QuantMixture {
  std::string_view name;  // "q8_0", "Q4_K_M"
  // Of everything that no promotion names.
  DType base;
  uint32_t file_type;  // value of general.file_type, fixed by llama.cpp
  Promotion attention_value;
  Promotion attention_output;
  Promotion ffn_down;
  DType dense = DType::kF32;  // MXFP4_MOE: of matrices that are not experts; else unused
  // For mixtures of experts: whether dense layers have formats of their own.
  bool has_dense = false;
};

// Immutable, for the life of the program.
std::span<const QuantMixture> quant_mixtures();
// Upper and lower case are alike. Errors: kNotFound, listing the names.
Result<QuantMixture> find_quant_mixture(std::string_view name);

// A format that the user demands for matrices whose name matches. `*` stands for any text and `?`
// for one character; a pattern without them matches anywhere in the name.
struct KeepRule {
  // A wish of the user.
  std::string pattern;
  DType dtype;
};

// What one tensor becomes.
struct TypeChoice {
  DType dtype;
  DType wanted;               // differs where the rows are no whole number of its blocks
  bool is_converted = false;  // false: a norm, a bias, a router...: copied as it is
};

// A choice for each of `tensors`, in their order. The first rule that matches decides; `is_pure`
// gives the base format to every matrix that no rule names, the head too.
// Errors: kInvalidArgument for a rule that matches no matrix, that asks for a format without an
// encoder, or whose format does not fit the rows.
Result<std::vector<TypeChoice>> choose_types(const Metadata& metadata,
                                             std::span<const WeightInfo> tensors,
                                             const QuantMixture& mixture,
                                             std::span<const KeepRule> rules, bool is_pure);

}  // namespace quern
