// Formats of each tensor: against files of llama.cpp, and the rules one by one.
#include "formats/quantize_types.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "formats/gguf_reader.h"

namespace quern {
namespace {

// Of a model with these heads and layers.
Metadata model_metadata(int64_t heads, int64_t kv_heads, int64_t experts = 0) {
  Metadata m;
  const auto number = [&](const std::string& key, int64_t value) {
    m.set("llama." + key, MetadataValue::number(static_cast<uint32_t>(value)));
  };
  m.set("general.architecture", MetadataValue::text("llama"));
  number("attention.head_count", heads);
  number("attention.head_count_kv", kv_heads);
  if (experts > 0) number("expert_count", experts);
  return m;
}

// Matrices with rows of 256.
std::vector<WeightInfo> model_tensors(int num_layers, bool has_head) {
  std::vector<WeightInfo> tensors = {{"token_embd.weight", DType::kF32, Shape{8, 256}}};
  for (int layer = 0; layer < num_layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    tensors.push_back({block + "attn_norm.weight", DType::kF32, Shape{256}});
    for (const auto* name : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"}) {
      tensors.push_back({block + name + ".weight", DType::kF32, Shape{8, 256}});
    }
  }
  if (has_head) tensors.push_back({"output.weight", DType::kF32, Shape{8, 256}});
  return tensors;
}

using Names = std::map<std::string, std::string>;

Names choose(const Metadata& metadata, const std::vector<WeightInfo>& tensors,
             std::string_view type, const std::vector<KeepRule>& rules = {}, bool is_pure = false) {
  Names names;
  const auto mixture = find_quant_mixture(type);
  if (!mixture) return {{"error", mixture.error().message}};
  const auto choices = choose_types(metadata, tensors, *mixture, rules, is_pure);
  if (!choices) return {{"error", choices.error().message}};
  for (size_t i = 0; i < tensors.size(); ++i) {
    names[tensors[i].name] = dtype_name((*choices)[i].dtype);
  }
  return names;
}

// Which of `num_layers` layers have `dtype` for a tensor.
std::vector<int> layers_with(const Names& names, const std::string& tensor,
                             const std::string& dtype, int num_layers) {
  std::vector<int> layers;
  for (int layer = 0; layer < num_layers; ++layer) {
    const auto found = names.find("blk." + std::to_string(layer) + "." + tensor + ".weight");
    if (found != names.end() && found->second == dtype) layers.push_back(layer);
  }
  return layers;
}

// Tensor by tensor.
TEST(QuantizeTypes, AreThoseOfRealFiles) {
  const std::string folder = QUERN_SUITES_DIR "/stories260k/gguf/stories260K-";
  if (!std::filesystem::exists(folder + "f32.gguf")) GTEST_SKIP() << "No suite stories260k.";
  const auto source = GgufFile::open(folder + "f32.gguf");
  ASSERT_TRUE(source) << source.error().message;
  for (const std::string type : {"F16", "BF16", "Q2_K", "Q3_K_M", "Q4_K_M", "Q6_K"}) {
    const auto real = GgufFile::open(folder + type + ".gguf");
    ASSERT_TRUE(real) << real.error().message;
    const Names names = choose((*source)->metadata(), (*source)->list(), type);
    EXPECT_EQ(names.size(), (*real)->tensors().size()) << type;
    for (const GgufTensor& tensor : (*real)->tensors()) {
      EXPECT_EQ(names.at(tensor.name), dtype_name(tensor.dtype)) << type << " " << tensor.name;
    }
    EXPECT_EQ((*real)->metadata().integer("general.file_type").value(),
              find_quant_mixture(type)->file_type);
  }
}

// First and last layers bear less loss.
TEST(QuantizeTypes, MediumMixturesGiveMoreBitsToEndsAndThirds) {
  const Names names = choose(model_metadata(8, 4), model_tensors(16, true), "Q4_K_M");
  // 16 layers: 0-1 and 14-15 are the outer eighths; between them (layer - 2) % 3 == 2.
  const std::vector<int> more = {0, 1, 4, 7, 10, 13, 14, 15};
  EXPECT_EQ(layers_with(names, "attn_v", "q6_K", 16), more);
  EXPECT_EQ(layers_with(names, "ffn_down", "q6_K", 16), more);
  EXPECT_EQ(layers_with(names, "attn_q", "q4_K", 16).size(), 16U);
  EXPECT_EQ(names.at("token_embd.weight"), "q4_K");
  EXPECT_EQ(names.at("output.weight"), "q6_K");
  EXPECT_EQ(names.at("blk.3.attn_norm.weight"), "f32");
}

// The two around it.
TEST(QuantizeTypes, SmallAndLargeMixtures) {
  const auto tensors = model_tensors(16, true);
  Names names = choose(model_metadata(8, 4), tensors, "q4_k_s");
  EXPECT_EQ(layers_with(names, "attn_v", "q5_K", 16), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(layers_with(names, "ffn_down", "q5_K", 16), (std::vector<int>{0, 1}));
  names = choose(model_metadata(8, 4), tensors, "Q3_K_M");
  EXPECT_EQ(layers_with(names, "attn_v", "q5_K", 16), (std::vector<int>{0, 1}));
  // A sixteenth of 16 layers is one.
  EXPECT_EQ(layers_with(names, "ffn_down", "q5_K", 16), (std::vector<int>{0}));
  EXPECT_EQ(layers_with(names, "ffn_down", "q4_K", 16).size(), 15U);
  EXPECT_EQ(layers_with(names, "attn_output", "q4_K", 16).size(), 16U);
  names = choose(model_metadata(8, 4), tensors, "Q3_K_L");
  EXPECT_EQ(layers_with(names, "attn_output", "q5_K", 16).size(), 16U);
  names = choose(model_metadata(8, 4), tensors, "Q3_K_S");
  EXPECT_EQ(layers_with(names, "attn_v", "q3_K", 16).size(), 16U);
}

// So it gets what the head would get.
TEST(QuantizeTypes, TiedHeadIsTheEmbedding) {
  const Names names = choose(model_metadata(8, 4), model_tensors(2, false), "q4_0");
  EXPECT_EQ(names.at("token_embd.weight"), "q6_K");
  EXPECT_EQ(names.at("blk.0.attn_v.weight"), "q4_0");
  EXPECT_EQ(choose(model_metadata(8, 4), model_tensors(2, false), "q8_0").at("token_embd.weight"),
            "q8_0");
}

// They are few there.
TEST(QuantizeTypes, GroupedQueriesAndExpertsGiveValuesMoreBits) {
  const auto tensors = model_tensors(2, true);
  // 8 query heads on 4 key heads are groups of 2; on 2 key heads they are groups of 4, from which
  // on the values are so few that they get more bits.
  EXPECT_EQ(choose(model_metadata(8, 4), tensors, "Q2_K").at("blk.0.attn_v.weight"), "q3_K");
  EXPECT_EQ(choose(model_metadata(8, 2), tensors, "Q2_K").at("blk.0.attn_v.weight"), "q4_K");
  const Names names = choose(model_metadata(8, 2, 8), tensors, "Q4_K_M");
  EXPECT_EQ(names.at("blk.0.attn_v.weight"), "q8_0");
  EXPECT_EQ(names.at("blk.0.attn_k.weight"), "q8_0");
  EXPECT_EQ(names.at("blk.0.attn_output.weight"), "q5_K");
}

// Other tensors stay larger.
TEST(QuantizeTypes, Mxfp4MixtureIsForExperts) {
  const std::vector<WeightInfo> tensors = {
      {"blk.0.ffn_up_exps.weight", DType::kF32, Shape{4, 8, 64}},
      {"blk.0.ffn_up_exps.bias", DType::kF32, Shape{4, 8}},
      {"blk.0.ffn_gate_inp.weight", DType::kF32, Shape{4, 64}},
      {"blk.0.attn_q.weight", DType::kF32, Shape{8, 64}}};
  const Names names = choose(model_metadata(8, 8, 4), tensors, "MXFP4_MOE");
  EXPECT_EQ(names, (Names{{"blk.0.ffn_up_exps.weight", "mxfp4"},
                          {"blk.0.ffn_up_exps.bias", "f32"},
                          {"blk.0.ffn_gate_inp.weight", "f32"},
                          {"blk.0.attn_q.weight", "q8_0"}}));
}

// The user's word is the last.
TEST(QuantizeTypes, PureAndKeepOverrideTheMixture) {
  const auto tensors = model_tensors(2, true);
  const Metadata metadata = model_metadata(8, 8);
  EXPECT_EQ(choose(metadata, tensors, "Q4_K_M", {}, true).at("output.weight"), "q4_K");
  const Names names = choose(metadata, tensors, "Q4_K_M",
                             {{"blk.?.attn_v.*", DType::kF16}, {"attn_", DType::kQ8_0}});
  EXPECT_EQ(names.at("blk.0.attn_v.weight"), "f16");
  EXPECT_EQ(names.at("blk.1.attn_k.weight"), "q8_0");
  EXPECT_EQ(names.at("blk.1.attn_norm.weight"), "f32");
}

// A rule without a match is a typing error.
TEST(QuantizeTypes, ErrorsNameRuleAndTensor) {
  const auto tensors = model_tensors(1, true);
  const auto error_of = [&](std::string_view type, const std::vector<KeepRule>& rules) {
    return choose(model_metadata(8, 8), tensors, type, rules).at("error");
  };
  EXPECT_EQ(error_of("q9", {}).substr(0, 60),
            "'q9' is not a type to quantise to; the types are f32, f16, b");
  EXPECT_EQ(error_of("q4_0", {{"attn_x", DType::kF16}}),
            "No matrix of the model matches the pattern 'attn_x'.");
  EXPECT_EQ(error_of("q4_0", {{"attn_norm", DType::kF16}}),
            "No matrix of the model matches the pattern 'attn_norm'.");
  EXPECT_EQ(error_of("q4_0", {{"attn_v", DType::kIQ2_S}}),
            "Matrices that match 'attn_v' cannot become iq2_s, which has no encoder.");
  EXPECT_EQ(error_of("q4_0", {{"attn_v", DType::kF8E4M3}}),
            "Matrices that match 'attn_v' cannot become f8e4m3, which has no encoder.");
  const auto narrow = choose(model_metadata(8, 8), {{"a.weight", DType::kF32, Shape{2, 48}}},
                             "q4_0", {{"a", DType::kQ8_0}});
  EXPECT_EQ(narrow.at("error"),
            "Tensor 'a.weight' has rows of 48, which is not a multiple of the q8_0 block of 32.");
}

}  // namespace
}  // namespace quern
