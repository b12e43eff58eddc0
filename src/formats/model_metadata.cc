// Checks of shared keys.
// Readers divide and multiply by these numbers; here they are made safe once.
#include "formats/model_metadata.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/fail.h"

namespace quern {
namespace {

// Keys that every reader multiplies: they must be positive and small enough.
constexpr std::array<std::string_view, 9> kSizeKeys = {
    "block_count",          "context_length",       "embedding_length",
    "feed_forward_length",  "attention.head_count", "attention.head_count_kv",
    "rope.dimension_count", "vocab_size",           "expert_count"};

// The key before an error of its value.
tl::unexpected<Error> about(std::string_view key, const Error& error) {
  return fail::with(error.code, "Metadata key '{}' {}.", key, error.message);
}

// A scalar must be positive (no experts at all is fine); layers may do without: arrays hold zeros.
Result<void> check_size(const Metadata& metadata, const std::string& key) {
  const MetadataValue* value = metadata.peek(key);
  if (value == nullptr) return {};
  // A layer without attention or without a feed-forward has 0 in an array of the layers.
  const bool may_be_zero = value->is_array() || key.ends_with("expert_count");
  for (int64_t i = 0; i < value->size(); ++i) {
    const auto size = value->integer_at(i);
    if (!size) return about(key, size.error());
    if (*size < (may_be_zero ? 0 : 1)) {
      return fail::invalid("Metadata key '{}' holds {}; at least {} is needed.", key, *size,
                           may_be_zero ? 0 : 1);
    }
  }
  return {};
}

// Both keys were checked by check_size.
Result<void> check_heads(const Metadata& metadata, const std::string& prefix) {
  const MetadataValue* heads = metadata.peek(prefix + "attention.head_count");
  const MetadataValue* kv_heads = metadata.peek(prefix + "attention.head_count_kv");
  if (heads == nullptr || kv_heads == nullptr) return {};
  const bool are_layers = heads->is_array() && kv_heads->is_array();
  if (are_layers && heads->size() != kv_heads->size()) {
    return fail::invalid("The model has head counts for {} layers and key-value ones for {}.",
                         heads->size(), kv_heads->size());
  }
  for (int64_t i = 0; i < std::max(heads->size(), kv_heads->size()); ++i) {
    const auto q = heads->integer_at(heads->is_array() ? i : 0);
    const auto kv = kv_heads->integer_at(kv_heads->is_array() ? i : 0);
    if (!q) return about(prefix + "attention.head_count", q.error());
    if (!kv) return about(prefix + "attention.head_count_kv", kv.error());
    if (*kv != 0 && *q % *kv != 0) {
      return fail::invalid(
          "The model has {} attention heads, not a multiple of {} key-value heads.", *q, *kv);
    }
  }
  return {};
}

// Lists beside the tokens must have one entry for each.
Result<void> check_token_array(const Metadata& metadata, std::string_view key, int64_t num_tokens) {
  const MetadataValue* value = metadata.peek(key);
  if (value == nullptr) return {};
  if (!value->is_array() || value->type() == MetadataType::kString) {
    return fail::invalid("Metadata key '{}' is of type {}; an array of numbers is needed.", key,
                         value->type_name());
  }
  if (value->size() != num_tokens) {
    return fail::invalid("Metadata key '{}' holds {} values; the vocabulary has {} tokens.", key,
                         value->size(), num_tokens);
  }
  return {};
}

// Ids of special tokens must be tokens.
Result<void> check_token_id(const Metadata& metadata, std::string_view key, int64_t num_tokens) {
  const MetadataValue* value = metadata.peek(key);
  if (value == nullptr) return {};
  const auto id = value->integer_at(0);
  if (value->is_array() || !id) {
    return fail::invalid("Metadata key '{}' is of type {}; an integer is needed.", key,
                         value->type_name());
  }
  // -1 and its unsigned forms mean "none" in files.
  const bool is_none = *id == -1 || *id == 0xffffffff;
  if (!is_none && (*id < 0 || *id >= num_tokens)) {
    return fail::invalid("Metadata key '{}' is {}; the vocabulary has {} tokens.", key, *id,
                         num_tokens);
  }
  return {};
}

// Lists and ids of tokenizer.ggml.
Result<void> check_tokenizer(const Metadata& metadata) {
  const MetadataValue* tokens = metadata.peek("tokenizer.ggml.tokens");
  if (tokens == nullptr) return {};
  if (!tokens->is_array() || tokens->type() != MetadataType::kString) {
    return fail::invalid(
        "Metadata key 'tokenizer.ggml.tokens' is of type {}; an array of strings is needed.",
        tokens->type_name());
  }
  QUERN_TRY(check_token_array(metadata, "tokenizer.ggml.scores", tokens->size()));
  QUERN_TRY(check_token_array(metadata, "tokenizer.ggml.token_type", tokens->size()));
  // "seperator" is how the key is spelled in files.
  for (const char* name : {"bos", "eos", "eot", "eom", "unknown", "seperator", "padding", "mask"}) {
    QUERN_TRY(
        check_token_id(metadata, fmt::format("tokenizer.ggml.{}_token_id", name), tokens->size()));
  }
  return {};
}

}  // namespace

// Checks what several readers rely on, so that each need not. Errors name the key.
Result<void> check_model_metadata(const Metadata& metadata) {
  const MetadataValue* architecture = metadata.peek("general.architecture");
  if (architecture == nullptr) {
    return fail::not_found("Metadata key 'general.architecture' is absent; a string is needed.");
  }
  const auto name = architecture->text_at(0);
  if (architecture->is_array() || !name || name->empty()) {
    return fail::invalid(
        "Metadata key 'general.architecture' is empty or of type {}; the name of "
        "a model family is needed.",
        architecture->type_name());
  }
  const std::string prefix = std::string(*name) + ".";
  for (const std::string_view key : kSizeKeys) {
    QUERN_TRY(check_size(metadata, prefix + std::string(key)));
  }
  QUERN_TRY(check_heads(metadata, prefix));
  return check_tokenizer(metadata);
}

}  // namespace quern
