// Tokens in the byte alphabet of GPT-2.
// Small enough to read, large enough that texts and chat templates work.
#include "formats/synth_vocabulary.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/fail.h"

namespace quern {
namespace {

// Token types of GGUF.
constexpr int32_t kNormal = 1;
constexpr int32_t kControl = 3;
// Names of a common vocabulary, so that chat templates work.
constexpr std::array<std::string_view, 3> kSpecialTokens = {"<|endoftext|>", "<|im_start|>",
                                                            "<|im_end|>"};
// Ids of special tokens.
constexpr uint32_t kBos = 0;
constexpr uint32_t kEos = 2;

// "left right", where "Ġ" stands for a space; both parts are bytes or earlier results.
constexpr std::array<std::string_view, 16> kMerges = {"Ġ t",   "Ġ a", "h e",   "i n", "r e", "o n",
                                                      "Ġt he", "e r", "Ġ s",   "n d", "Ġ w", "in g",
                                                      "Ġ o",   "e n", "Ġa nd", "l l"};

// The two halves joined.
std::string result_of(std::string_view merge) {
  const size_t space = merge.find(' ');
  return std::string(merge.substr(0, space)).append(merge.substr(space + 1));
}

// Of letters of the byte alphabet, which have at most two bytes.
std::string utf8(uint32_t code_point) {
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xc0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3f))};
}

// GPT-2 writes printable Latin-1 bytes as themselves and the others, in order, from U+0100 on.
std::vector<std::string> byte_alphabet() {
  std::vector<std::string> letters;
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool is_printable =
        // Without the blank (32), the controls, the no-break space (160) and the soft hyphen (173).
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    letters.push_back(utf8(is_printable ? byte : next++));
  }
  return letters;
}

// Special tokens, bytes, then merges, up to the wanted number.
std::vector<std::string> all_tokens(int64_t num_tokens) {
  std::vector<std::string> tokens(kSpecialTokens.begin(), kSpecialTokens.end());
  for (std::string& letter : byte_alphabet()) tokens.push_back(std::move(letter));
  for (const std::string_view merge : kMerges) tokens.push_back(result_of(merge));
  for (auto id = static_cast<int64_t>(tokens.size()); id < num_tokens; ++id) {
    // Fillers up to the vocabulary of the shape; no merge makes them, so no text becomes one.
    tokens.push_back(fmt::format("Ġword{}", id));
  }
  return tokens;
}

}  // namespace

// Special tokens, bytes and what the merges make.
int64_t min_synth_vocabulary() {
  return static_cast<int64_t>(kSpecialTokens.size() + 256 + kMerges.size());
}

// Keys that readers of byte-level vocabularies need.
void add_synth_vocabulary(Metadata& metadata, int64_t num_tokens, std::string_view pre_tokenizer) {
  QUERN_CHECK(num_tokens >= min_synth_vocabulary());
  std::vector<int32_t> types(static_cast<size_t>(num_tokens), kNormal);
  const std::vector<std::string> tokens = all_tokens(num_tokens);
  const std::vector<std::string_view> token_views(tokens.begin(), tokens.end());
  std::fill_n(types.begin(), kSpecialTokens.size(), kControl);
  metadata.set("tokenizer.ggml.model", MetadataValue::text("gpt2"));
  metadata.set("tokenizer.ggml.pre", MetadataValue::text(pre_tokenizer));
  metadata.set("tokenizer.ggml.tokens", MetadataValue::texts(token_views));
  metadata.set("tokenizer.ggml.token_type", MetadataValue::numbers<int32_t>(types));
  metadata.set("tokenizer.ggml.merges", MetadataValue::texts(kMerges));
  metadata.set("tokenizer.ggml.bos_token_id", MetadataValue::number(kBos));
  metadata.set("tokenizer.ggml.eos_token_id", MetadataValue::number(kEos));
  metadata.set("tokenizer.ggml.add_bos_token", MetadataValue::number(false));
}

}  // namespace quern
