// From names of tensors to roles, and from roles to formats.
// Roles decide how many bits a tensor deserves: what every token passes gets more.
#include "formats/quantize_types.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "base/fail.h"
#include "base/glob.h"
#include "formats/gguf_types.h"
#include "formats/row_fallback.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

// What a tensor is for, as far as mixtures care.
enum class Role : uint8_t { kOther, kEmbedding, kHead, kKey, kValue, kAttentionOutput, kFfnDown };

// A part of a name.
bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// By the names of GGUF files.
Role role_of(std::string_view name) {
  if (name == "output.weight") return Role::kHead;
  if (name == "token_embd.weight") return Role::kEmbedding;
  // A fused projection holds the values, so it is treated as they are.
  for (const auto* part : {"attn_v.weight", "attn_qkv.weight", "attn_kv_b.weight"}) {
    if (contains(name, part)) return Role::kValue;
  }
  if (contains(name, "attn_k.weight")) return Role::kKey;
  if (contains(name, "attn_output.weight")) return Role::kAttentionOutput;
  if (contains(name, "ffn_down")) return Role::kFfnDown;
  return Role::kOther;
}

// Matrices only, and of those not the small ones that steer: routers, positions, convolutions.
bool is_converted(const WeightInfo& info) {
  constexpr std::string_view kKept[] = {"_norm.weight",   "ffn_gate_inp", "ffn_gate_tid2eid",
                                        "position_embd",  "token_types",  "ssm_conv1d",
                                        "shortconv.conv", "attn_rel_b",   "time_mix_"};
  const std::string_view name = info.name;
  // Vectors (norms, biases) are too few to save anything, and are read as f32 by every kernel.
  if (info.shape.rank() < 2 || !name.ends_with("weight")) return false;
  if (!is_float(info.dtype) && !is_quantized(info.dtype)) return false;
  if (!can_dequantize(info.dtype)) return false;
  return std::ranges::none_of(kKept, [&](std::string_view part) { return contains(name, part); });
}

// The N of "blk.N."; nothing elsewhere.
std::optional<int64_t> layer_of(std::string_view name) {
  if (!name.starts_with("blk.")) return std::nullopt;
  name.remove_prefix(4);
  int64_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (error != std::errc() || layer < 0) return std::nullopt;
  return layer;
}

// What the rules ask of the model.
struct ModelFacts {
  int64_t num_layers = 0;
  int64_t num_experts = 0;
  int64_t query_group = 1;  // query heads that share a key head
  bool has_head = false;    // output.weight exists
  // Layers that have the role, ascending: hybrid models do not have it in all of them.
  std::map<Role, std::set<int64_t>> layers;
};

// The first value of a key that may be a number or a list with one for each layer; 0 when absent.
int64_t first_integer(const Metadata& metadata, const std::string& key) {
  const MetadataValue* value = metadata.peek(key);
  if (value == nullptr || value->size() == 0) return 0;
  return value->integer_at(0).value_or(0);
}

// From metadata and names; absent keys count as 0.
ModelFacts facts_of(const Metadata& metadata, std::span<const WeightInfo> tensors) {
  ModelFacts facts;
  const MetadataValue* name = metadata.peek("general.architecture");
  const auto text = name == nullptr ? std::string_view() : name->text_at(0).value_or("");
  const std::string prefix = std::string(text) + ".";
  facts.num_layers = first_integer(metadata, prefix + "block_count");
  facts.num_experts = first_integer(metadata, prefix + "expert_count");
  const int64_t heads = first_integer(metadata, prefix + "attention.head_count");
  const int64_t kv_heads = first_integer(metadata, prefix + "attention.head_count_kv");
  if (kv_heads > 0) facts.query_group = heads / kv_heads;
  for (const WeightInfo& info : tensors) {
    const Role role = role_of(info.name);
    facts.has_head |= role == Role::kHead;
    if (const auto layer = layer_of(info.name)) facts.layers[role].insert(*layer);
  }
  return facts;
}

// Whether the layer is one of those that get the better format.
bool is_among(Layers layers, int64_t rank, int64_t count, int64_t query_group) {
  switch (layers) {
    case Layers::kNone:
      return false;
    case Layers::kAll:
      return true;
    case Layers::kFirstTwo:
      return rank < 2;
    case Layers::kFirstFour:
      return rank < 4;
    case Layers::kFirstSixteenth:
      return rank < count / 16;
    case Layers::kFirstEighth:
      return rank < count / 8;
    case Layers::kEndsAndThirds:
      // 32 layers: 0-3 and 28-31, and of those between every third, 6, 9, ..., 27.
      return rank < count / 8 || rank >= 7 * count / 8 || (rank - count / 8) % 3 == 2;
    case Layers::kGrouped:
      return query_group >= 4;
  }
  return false;
}

// Applies a mixture to tensors.
class Chooser {
 public:
  Chooser(const QuantMixture& mixture, ModelFacts facts)
      : mixture_(mixture), facts_(std::move(facts)) {}

  // Before rules of the user, and before rows that do not fit.
  DType wanted(const WeightInfo& info) const {
    const Role role = role_of(info.name);
    if (!is_quantized(mixture_.base)) return mixture_.base;
    if (role == Role::kHead || (role == Role::kEmbedding && !facts_.has_head)) return head();
    if (mixture_.has_dense) return info.shape.rank() > 2 ? mixture_.base : mixture_.dense;
    if (role == Role::kValue) return value(info.name);
    // With 8 experts, attention is a small part of the file: it gets more bits at little cost.
    if (role == Role::kKey && facts_.num_experts == 8) return DType::kQ8_0;
    if (role == Role::kAttentionOutput) return attention_output(info.name);
    if (role == Role::kFfnDown) return promoted(mixture_.ffn_down, role, info.name);
    return mixture_.base;
  }

 private:
  // Of the head, or of the embedding where the head is tied to it.
  DType head() const {
    return mixture_.base == DType::kQ8_0 || mixture_.has_dense ? DType::kQ8_0 : DType::kQ6_K;
  }

  // The better format for some layers.
  DType promoted(const Promotion& promotion, Role role, std::string_view name) const {
    if (promotion.layers == Layers::kNone) return mixture_.base;
    int64_t rank = 0;
    int64_t count = 0;
    const auto layer = layer_of(name);
    const auto found = facts_.layers.find(role);
    if (layer && found != facts_.layers.end()) {
      const std::set<int64_t>& layers = found->second;
      // The place among the layers that have the role: in a hybrid model with attention in each
      // fourth layer, "the first eighth" is of the attention layers.
      rank = std::distance(layers.begin(), layers.find(*layer));
      count = static_cast<int64_t>(layers.size());
    }
    const bool is_better = is_among(promotion.layers, rank, count, facts_.query_group);
    return is_better ? promotion.better : promotion.other;
  }

  // More bits where the values are small beside the rest of the model.
  DType value(std::string_view name) const {
    if (facts_.num_experts == 8) return DType::kQ8_0;
    const DType dtype = promoted(mixture_.attention_value, Role::kValue, name);
    // Llama 70B: values are an eighth of the queries, so more bits cost next to nothing.
    const bool is_70b = facts_.num_layers == 80 && facts_.query_group == 8;
    const bool is_low = dtype == DType::kQ3_K || dtype == DType::kQ4_K;
    return is_70b && is_low ? DType::kQ5_K : dtype;
  }

  // Beside 8 experts it is small, so more bits cost next to nothing.
  DType attention_output(std::string_view name) const {
    constexpr DType kLifted[] = {DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kIQ4_NL};
    const bool is_low = std::ranges::find(kLifted, mixture_.base) != std::end(kLifted);
    if (facts_.num_experts == 8 && is_low) return DType::kQ5_K;
    return promoted(mixture_.attention_output, Role::kAttentionOutput, name);
  }

  QuantMixture mixture_;
  ModelFacts facts_;
};

// '*' is any text and '?' any character; a pattern without them matches anywhere.
bool matches(const KeepRule& rule, std::string_view name) {
  const bool has_wildcard = rule.pattern.find_first_of("*?") != std::string::npos;
  return has_wildcard ? matches_glob(rule.pattern, name) : contains(name, rule.pattern);
}

// Errors: a rule that matches nothing is a typing error.
Result<void> check_rules(std::span<const WeightInfo> tensors, std::span<const KeepRule> rules) {
  for (const KeepRule& rule : rules) {
    if (!can_encode(rule.dtype) || !gguf::tensor_type_id(rule.dtype)) {
      return fail::invalid("Matrices that match '{}' cannot become {}, which has no encoder.",
                           rule.pattern, dtype_name(rule.dtype));
    }
    const bool is_used = std::ranges::any_of(tensors, [&](const WeightInfo& info) {
      return is_converted(info) && matches(rule, info.name);
    });
    // An empty pattern would be contained in every name.
    if (rule.pattern.empty() || !is_used) {
      return fail::invalid("No matrix of the model matches the pattern '{}'.", rule.pattern);
    }
  }
  return {};
}

}  // namespace

// In the order of the tensors. Errors: rules that do not fit.
Result<std::vector<TypeChoice>> choose_types(const Metadata& metadata,
                                             std::span<const WeightInfo> tensors,
                                             const QuantMixture& mixture,
                                             std::span<const KeepRule> rules, bool is_pure) {
  QUERN_TRY(check_rules(tensors, rules));
  const Chooser chooser(mixture, facts_of(metadata, tensors));
  std::vector<TypeChoice> choices;
  for (const WeightInfo& info : tensors) {
    if (!is_converted(info)) {
      choices.push_back({info.dtype, info.dtype, false});
      continue;
    }
    const int64_t row_length = info.shape[info.shape.rank() - 1];
    const auto rule =
        std::ranges::find_if(rules, [&](const KeepRule& item) { return matches(item, info.name); });
    if (rule == rules.end()) {
      const DType wanted = is_pure ? mixture.base : chooser.wanted(info);
      choices.push_back({dtype_for_rows(wanted, row_length), wanted, true});
      continue;
    }
    if (!rows_fit(rule->dtype, row_length)) {
      return fail::invalid(
          "Tensor '{}' has rows of {}, which is not a multiple of the {} block of {}.", info.name,
          row_length, dtype_name(rule->dtype), dtype_info(rule->dtype).block_size);
    }
    choices.push_back({rule->dtype, rule->dtype, true});
  }
  return choices;
}

}  // namespace quern
