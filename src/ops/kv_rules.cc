// Declarations, places and stores of key-value operations.
#include "ops/kv_rules.h"

#include <algorithm>

#include "base/fail.h"
#include "ops/kv_places.h"
#include "ops/type_rules.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

using namespace type_rules;

// An integer attribute of a state's declaration that counts something.
// A float such as 8.0, text, 0 and a missing attribute are all refused with the same sentence.
Result<int64_t> kv_extent(const StateDecl& state, std::string_view name) {
  const AttributeValue* value = state.attributes.find(name);
  const auto* extent = value == nullptr ? nullptr : std::get_if<int64_t>(value);
  if (extent != nullptr && *extent >= 1) return *extent;
  return fail::invalid("State '{}' needs the integer attribute '{}' of 1 or more.", state.name,
                       name);
}

// A cache type that keys can be multiplied in: floats, or blocks of 32.
// Blocks of 32 pad any head width at little cost; larger ones would waste most of a block, and
// their products need activations in blocks of 256.
Result<DType> key_type_of(const StateDecl& state) {
  const AttributeValue* value = state.attributes.find("key_type");
  const auto* name = value == nullptr ? nullptr : std::get_if<std::string>(value);
  const auto dtype = name == nullptr ? std::nullopt : find_dtype(*name);
  if (dtype && is_float(*dtype) && *dtype != DType::kF64) return *dtype;
  const BlockFormat* format = dtype ? find_block_format(*dtype) : nullptr;
  if (format != nullptr && format->block_size == 32) return *dtype;
  return fail::invalid(
      "State '{}' has the key_type {}; it must be a float up to f32 or a format "
      "of 32-element blocks.",
      state.name, name == nullptr ? "(none)" : *name);
}

// The store in use must have been made for the declared state.
// The declaration was checked with the types; the store is bound per run, by another part of the
// program.
Result<void> check_store(const KernelContext& context, KvHeadCount relation, int64_t heads,
                         int64_t key_dim, int64_t value_dim) {
  const std::string& name = context.attributes.text("state");
  if (context.kv == nullptr) {
    return fail::precondition("State '{}' is not bound to a key-value store.", name);
  }
  const KvState& kv = *context.kv;
  // num_heads is at least 1 in every store.
  const bool has_heads =
      relation == KvHeadCount::kSame ? heads == kv.num_heads() : heads % kv.num_heads() == 0;
  if (kv.key_dim() == key_dim && kv.value_dim() == value_dim && has_heads &&
      context.attributes.integer("layer") < kv.num_layers()) {
    return {};
  }
  return fail::precondition(
      "State '{}' is bound to a store of {} layers with {} heads of {} and {}, which does not fit "
      "heads of {} and {}.",
      name, kv.num_layers(), kv.num_heads(), kv.key_dim(), kv.value_dim(), key_dim, value_dim);
}

}  // namespace

// The declared state of the attribute 'state', with its extents, and a check of 'layer'.
// `keeps_unrotated` is optional and false where it is missing or no flag.
Result<KvDims> find_kv(const InferContext& context) {
  const std::string& name = context.attributes.text("state");
  const auto state = std::ranges::find(context.states, name, &StateDecl::name);
  if (state == context.states.end() || state->kind != "kv") {
    return fail::invalid(
        "Attribute 'state' is '{}'; the graph declares no state of kind 'kv' "
        "with that name.",
        name);
  }
  KvDims dims{};
  QUERN_ASSIGN_OR_RETURN(dims.layers, kv_extent(*state, "layers"));
  QUERN_ASSIGN_OR_RETURN(dims.heads, kv_extent(*state, "heads"));
  QUERN_ASSIGN_OR_RETURN(dims.key_dim, kv_extent(*state, "key_dim"));
  QUERN_ASSIGN_OR_RETURN(dims.value_dim, kv_extent(*state, "value_dim"));
  QUERN_ASSIGN_OR_RETURN(dims.key_type, key_type_of(*state));
  const AttributeValue* keeps = state->attributes.find("keeps_unrotated");
  const auto* flag = keeps == nullptr ? nullptr : std::get_if<bool>(keeps);
  dims.keeps_unrotated = flag != nullptr && *flag;
  const int64_t layer = context.attributes.integer("layer");
  if (layer < 0 || layer >= dims.layers) {
    return fail::invalid("Attribute 'layer' is {}; state '{}' has {} layers.", layer, name,
                         dims.layers);
  }
  return dims;
}

// Rows [tokens, heads, width] in a dtype that caches can hold.
// f64 would lose digits in every cache.
Result<void> check_kv_rows(std::string_view port, const TensorType& type) {
  QUERN_TRY(expect_dtype(port, type, {DType::kF32, DType::kF16, DType::kBF16}));
  return expect_rank(port, type, 3);
}

// The ports 'positions' and 'sequences': one i32 for each token.
Result<void> check_kv_places(const InferContext& context, size_t first, const Dim& tokens) {
  constexpr std::string_view kPorts[] = {"positions", "sequences"};
  for (size_t i = 0; i < 2; ++i) {
    const TensorType& type = *context.inputs[first + i];
    QUERN_TRY(expect_dtype(kPorts[i], type, {DType::kI32}));
    QUERN_TRY(expect_rank(kPorts[i], type, 1));
    QUERN_TRY(expect_dim(kPorts[i], type, 0, tokens, "the number of tokens"));
  }
  return {};
}

// The bound store and the places of the tokens, both checked, for a kernel of the attention
// family.
// In this order: whether there is a store that fits, then every token. Nothing is written here.
Result<KvRows> find_kv_rows(const KernelContext& context, size_t first, KvHeadCount relation,
                            int64_t heads, int64_t key_dim, int64_t value_dim) {
  QUERN_TRY(check_store(context, relation, heads, key_dim, value_dim));
  QUERN_ASSIGN_OR_RETURN(const KvPlaces tokens,
                         find_kv_places(context.kv, context.attributes.text("state"),
                                        context.inputs[first], context.inputs[first + 1]));
  return KvRows{context.kv, context.attributes.integer("layer"), tokens.positions,
                tokens.sequences};
}

}  // namespace quern
