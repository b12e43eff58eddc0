// Test support: three small unigram vocabularies that SentencePiece trained, with the ids and the
// normalised texts that it gives. a: rules, user-defined tokens; b: byte tokens, white space kept;
// c: no prefix, pieces across words.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "text/vocabulary.h"

namespace quern {

// "vocabularies" maps a name to tokens, scores, types, the character map in base64, the flags on
// spaces and the special ids, with "cases" (text and ids) and "normalized" (text and normalised
// text).
inline nlohmann::json unigram_test_data() {
  std::ifstream stream(std::string(QUERN_TEST_DATA_DIR) + "/tokenizers/unigram.json");
  return nlohmann::json::parse(stream, nullptr, false);
}

// RFC 4648 without checks. `bits` loses old digits at its top; at most the last 12 are read.
inline std::string decode_base64(const std::string& text) {
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int num_bits = 0;
  for (const char c : text) {
    const size_t value = alphabet.find(c);
    if (value == std::string::npos) break;  // padding
    bits = bits << 6 | static_cast<uint32_t>(value);
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    out.push_back(static_cast<char>(bits >> num_bits & 0xFF));
  }
  return out;
}

// An entry of "vocabularies".
inline Vocabulary unigram_vocabulary(const nlohmann::json& entry) {
  Vocabulary v{.model = "t5"};
  v.tokens = entry["tokens"].get<std::vector<std::string>>();
  v.scores = entry["scores"].get<std::vector<float>>();
  for (const int32_t type : entry["types"]) v.types.push_back(static_cast<TokenType>(type));
  v.precompiled_charsmap = decode_base64(entry["charsmap"]);
  v.add_space_prefix = entry["add_space_prefix"].get<bool>();
  v.remove_extra_whitespaces = entry["remove_extra_whitespaces"].get<bool>();
  v.special.unk = entry["unk"];
  v.special.bos = entry["bos"];
  v.special.eos = entry["eos"];
  return v;
}

}  // namespace quern
