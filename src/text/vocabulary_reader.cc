// Only types are checked here; what the values mean is make_tokenizer()'s business.
// Lists stay as the file has them.
#include "text/vocabulary_reader.h"

#include <limits>
#include <string>

namespace quern {
namespace {

// A special id and its key in files.
struct RoleKey {
  std::string_view key;
  int32_t SpecialIds::*role;
};
// Later rows win; "seperator" is how the files spell it.
constexpr RoleKey kRoleKeys[] = {
    {"tokenizer.ggml.bos_token_id", &SpecialIds::bos},
    {"tokenizer.ggml.eos_token_id", &SpecialIds::eos},
    {"tokenizer.ggml.eot_token_id", &SpecialIds::eot},
    {"tokenizer.ggml.eom_token_id", &SpecialIds::eom},
    {"tokenizer.ggml.unknown_token_id", &SpecialIds::unk},
    {"tokenizer.ggml.seperator_token_id", &SpecialIds::sep},
    {"tokenizer.ggml.padding_token_id", &SpecialIds::pad},
    {"tokenizer.ggml.cls_token_id", &SpecialIds::cls},
    {"tokenizer.ggml.mask_token_id", &SpecialIds::mask},
    {"tokenizer.ggml.prefix_token_id", &SpecialIds::fim_pre},
    {"tokenizer.ggml.suffix_token_id", &SpecialIds::fim_suf},
    {"tokenizer.ggml.middle_token_id", &SpecialIds::fim_mid},
    {"tokenizer.ggml.fim_pre_token_id", &SpecialIds::fim_pre},
    {"tokenizer.ggml.fim_suf_token_id", &SpecialIds::fim_suf},
    {"tokenizer.ggml.fim_mid_token_id", &SpecialIds::fim_mid},
    {"tokenizer.ggml.fim_pad_token_id", &SpecialIds::fim_pad},
    {"tokenizer.ggml.fim_rep_token_id", &SpecialIds::fim_rep},
    {"tokenizer.ggml.fim_sep_token_id", &SpecialIds::fim_sep},
};

// Leaves `out` where the key is absent.
Result<void> read_text(const Metadata& metadata, std::string_view key, std::string& out) {
  QUERN_ASSIGN_OR_RETURN(out, metadata.text_or(key, ""));
  return {};
}

// Errors: kInvalidArgument for a list of another type.
Result<void> read_texts(const Metadata& metadata, std::string_view key,
                        std::vector<std::string>& out) {
  QUERN_ASSIGN_OR_RETURN(const TextArray texts, metadata.texts(key));
  out.reserve(static_cast<size_t>(texts.size()));
  for (int64_t i = 0; i < texts.size(); ++i) out.emplace_back(texts[i]);
  return {};
}

// Absent flags stay unset: their defaults depend on the kind.
Result<void> read_flag(const Metadata& metadata, std::string_view key, std::optional<bool>& out) {
  if (!metadata.has(key)) return {};
  QUERN_ASSIGN_OR_RETURN(out, metadata.boolean(key));
  return {};
}

// Tokens, scores, types and merges.
Result<void> read_lists(const Metadata& metadata, Vocabulary& v) {
  QUERN_TRY(read_texts(metadata, "tokenizer.ggml.tokens", v.tokens));
  if (metadata.has("tokenizer.ggml.merges")) {
    QUERN_TRY(read_texts(metadata, "tokenizer.ggml.merges", v.merges));
  }
  if (metadata.has("tokenizer.ggml.scores")) {
    QUERN_ASSIGN_OR_RETURN(const auto scores, metadata.numbers("tokenizer.ggml.scores"));
    v.scores.assign(scores.begin(), scores.end());
  }
  if (metadata.has("tokenizer.ggml.token_type")) {
    QUERN_ASSIGN_OR_RETURN(const auto types, metadata.integers("tokenizer.ggml.token_type"));
    v.types.reserve(types.size());
    for (const int64_t type : types) {
      // A type of a later format is no reason to refuse the model: the token has no type then.
      const bool is_known = type >= 0 && type <= static_cast<int64_t>(TokenType::kByte);
      v.types.push_back(is_known ? static_cast<TokenType>(type) : TokenType::kUndefined);
    }
  }
  if (metadata.has("tokenizer.ggml.precompiled_charsmap")) {
    QUERN_ASSIGN_OR_RETURN(const auto bytes,
                           metadata.integers("tokenizer.ggml.precompiled_charsmap"));
    // Files hold it as an array of i8 or u8: only the low 8 bits count.
    for (const int64_t byte : bytes) v.precompiled_charsmap.push_back(static_cast<char>(byte));
  }
  return {};
}

// Ids that are no tokens count as absent when the table is made.
Result<void> read_special_ids(const Metadata& metadata, SpecialIds& ids) {
  for (const RoleKey& row : kRoleKeys) {
    if (!metadata.has(row.key)) continue;
    QUERN_ASSIGN_OR_RETURN(const int64_t id, metadata.integer(row.key));
    // Files write 0xFFFFFFFF for "none".
    const bool fits = id >= 0 && id <= std::numeric_limits<int32_t>::max();
    ids.*row.role = fits ? static_cast<int32_t>(id) : kNoToken;
  }
  return {};
}

}  // namespace

// Errors: kNotFound without tokens, kInvalidArgument for keys of another type; both name the key.
Result<Vocabulary> read_vocabulary(const Metadata& metadata) {
  Vocabulary v;
  QUERN_ASSIGN_OR_RETURN(v.model, metadata.text("tokenizer.ggml.model"));
  QUERN_TRY(read_text(metadata, "tokenizer.ggml.pre", v.pre_tokenizer));
  QUERN_TRY(read_text(metadata, "general.name", v.model_name));
  QUERN_TRY(read_text(metadata, "general.architecture", v.architecture));
  QUERN_TRY(read_lists(metadata, v));
  QUERN_TRY(read_special_ids(metadata, v.special));
  QUERN_TRY(read_flag(metadata, "tokenizer.ggml.add_bos_token", v.add_bos));
  QUERN_TRY(read_flag(metadata, "tokenizer.ggml.add_eos_token", v.add_eos));
  QUERN_TRY(read_flag(metadata, "tokenizer.ggml.add_sep_token", v.add_sep));
  QUERN_TRY(read_flag(metadata, "tokenizer.ggml.add_space_prefix", v.add_space_prefix));
  QUERN_TRY(
      read_flag(metadata, "tokenizer.ggml.remove_extra_whitespaces", v.remove_extra_whitespaces));
  QUERN_TRY(read_flag(metadata, "tokenizer.ggml.normalizer.lowercase", v.lowercase));
  QUERN_TRY(read_flag(metadata, "tokenizer.ggml.normalizer.strip_accents", v.strip_accents));
  return v;
}

}  // namespace quern
