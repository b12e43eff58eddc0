// Tests of the keys that files describe models with: defaults, limits, and the error of each.
#include <gtest/gtest.h>

#include <limits>

#include "models/activations.h"
#include "models/adapter.h"
#include "models/decoder_config.h"
#include "models/mixture.h"
#include "models/rope_config.h"
#include "support/fake_model.h"

namespace quern {
namespace {

using test::FakeModel;

// Keys of a small llama.
class DecoderConfigTest : public testing::Test {
 protected:
  // The config as read, or one of zeros after a failed expectation: the tests then go on to fail.
  DecoderConfig config() const {
    const auto found = read_decoder_config(model_.metadata, model_, NormKind::kRms);
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    return found.value_or(DecoderConfig{});
  }
  std::string error() const {
    const auto found = read_decoder_config(model_.metadata, model_, NormKind::kRms);
    return found ? "no error" : found.error().message;
  }
  FakeModel model_{"llama"};
};

// Of the fake model.
// Ten different numbers but for the head sizes, so that two keys that are read into each other's
// field show.
TEST_F(DecoderConfigTest, ReadsTheSizes) {
  const DecoderConfig c = config();
  EXPECT_EQ(c.arch, "llama");
  EXPECT_EQ(c.num_layers, 2);
  EXPECT_EQ(c.hidden, 8);
  EXPECT_EQ(c.num_heads, 4);
  EXPECT_EQ(c.num_kv_heads, 2);
  EXPECT_EQ(c.key_dim, 2);
  EXPECT_EQ(c.value_dim, 2);
  EXPECT_EQ(c.ffn, 16);
  EXPECT_EQ(c.vocab, 12);
  EXPECT_EQ(c.context, 32);
  EXPECT_FLOAT_EQ(static_cast<float>(c.norm_eps), 1e-5F);
}

// Beside a mean of squares, in both kinds of norm; 0 and 1 are the ends.
TEST_F(DecoderConfigTest, TheEpsilonMustMakeSense) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const auto message = [&](NormKind norm) {
    const auto config = read_decoder_config(model_.metadata, model_, norm);
    return config ? std::string("no error") : config.error().message;
  };
  const std::pair<NormKind, std::string> kinds[] = {{NormKind::kRms, "layer_norm_rms_epsilon"},
                                                    {NormKind::kLayer, "layer_norm_epsilon"}};
  for (const auto& [norm, name] : kinds) {
    for (const auto& [value, text] : {std::pair<float, const char*>{-1.0F, "-1"},
                                      {1.5F, "1.5"},
                                      {kInf, "inf"},
                                      {-kInf, "-inf"},
                                      {std::numeric_limits<float>::quiet_NaN(), "nan"}}) {
      model_.set_number("attention." + name, value);
      EXPECT_EQ(message(norm),
                "Key 'llama.attention." + name + "' is " + text + "; it must be from 0 to 1.");
    }
    for (const float value : {0.0F, 1e-6F, 1.0F}) {
      model_.set_number("attention." + name, value);
      EXPECT_EQ(message(norm), "no error");
    }
  }
}

// Values the size of keys, unless the file says so.
// 6 and 3 are neither hidden / heads = 2 nor each other: a fallback in place of the key would show.
// value_dim follows key_dim until it has a key of its own.
TEST_F(DecoderConfigTest, HeadsMayHaveSizesOfTheirOwn) {
  model_.set_number("attention.key_length", uint32_t{6});
  EXPECT_EQ(config().key_dim, 6);
  EXPECT_EQ(config().value_dim, 6);
  model_.set_number("attention.value_length", uint32_t{3});
  EXPECT_EQ(config().value_dim, 3);
}

// Layers of different sizes are another family.
// The model has 2 layers. An empty list is the hostile case: front() of it would be undefined.
TEST_F(DecoderConfigTest, SizesThatAreListsMustAgree) {
  const std::vector<uint32_t> equal = {16, 16};
  model_.set("feed_forward_length", MetadataValue::numbers(std::span<const uint32_t>(equal)));
  EXPECT_EQ(config().ffn, 16);
  const std::vector<uint32_t> unequal = {16, 24};
  model_.set("feed_forward_length", MetadataValue::numbers(std::span<const uint32_t>(unequal)));
  EXPECT_EQ(error(), "Key 'llama.feed_forward_length' differs between layers: 16 and 24.");
  model_.set("feed_forward_length", MetadataValue::numbers(std::span<const uint32_t>()));
  EXPECT_EQ(error(), "Key 'llama.feed_forward_length' is 0; it must be from 1 to 67108864.");
}

// Products of sizes must not overflow.
// One above each limit, 0, a negative number and the largest int64: what a damaged or hostile file
// may say. The numbers in the texts are 2^16, 2^24, 2^40 and 4,096.
TEST_F(DecoderConfigTest, EachSizeHasItsLimits) {
  const auto with = [this](std::string_view key, int64_t value) {
    FakeModel model = model_;
    model.set_number(key, value);
    const auto found = read_decoder_config(model.metadata, model, NormKind::kRms);
    return found ? "no error" : found.error().message;
  };
  EXPECT_EQ(with("block_count", 0), "Key 'llama.block_count' is 0; it must be from 1 to 65536.");
  EXPECT_EQ(with("block_count", -3), "Key 'llama.block_count' is -3; it must be from 1 to 65536.");
  EXPECT_EQ(with("embedding_length", (1 << 24) + 1),
            "Key 'llama.embedding_length' is 16777217; it must be from 1 to 16777216.");
  EXPECT_EQ(with("context_length", std::numeric_limits<int64_t>::max()),
            "Key 'llama.context_length' is 9223372036854775807; it must be from 1 to "
            "1099511627776.");
  EXPECT_EQ(with("attention.head_count", 1 << 17),
            "Key 'llama.attention.head_count' is 131072; it must be from 1 to 65536.");
  // 5 is above the 4 heads, 3 divides them not: two errors of one key, of different texts.
  EXPECT_EQ(with("attention.head_count_kv", 5),
            "Key 'llama.attention.head_count_kv' is 5; it must be from 1 to 4.");
  EXPECT_EQ(with("attention.head_count_kv", 3),
            "Key 'llama.attention.head_count_kv' is 3; it must divide the 4 heads.");
  EXPECT_EQ(with("attention.key_length", 5000),
            "Key 'llama.attention.key_length' is 5000; it must be from 1 to 4096.");
}

// By name.
// kNotFound and not kInvalidArgument: a caller may fall back on another file.
TEST_F(DecoderConfigTest, MissingKeysAndTensorsAreNotFound) {
  FakeModel model("llama");
  model.weights.erase("token_embd.weight");
  EXPECT_EQ(read_decoder_config(model.metadata, model, NormKind::kRms).error().message,
            "There is no tensor 'token_embd.weight'.");
  Metadata bare;
  bare.set("general.architecture", MetadataValue::text("llama"));
  const auto missing = read_decoder_config(bare, model_, NormKind::kRms);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("llama.block_count"), std::string::npos);
}

// They attend to what comes later.
TEST_F(DecoderConfigTest, EncodersAreRefused) {
  model_.set("attention.causal", MetadataValue::number(false));
  EXPECT_EQ(error(), "Key 'llama.attention.causal' is false: the model is no decoder.");
}

// A list, a period, or what is usual.
// Six layers show periods 2 and 3 twice each. Usual periods: 0 slides everywhere, 1 nowhere, 3 on
// two of three. The pattern's number replaces the usual period; a list replaces both.
TEST_F(DecoderConfigTest, WindowsFollowTheirPattern) {
  const auto windows = [this](int64_t usual_period) {
    DecoderConfig c = config();
    c.num_layers = 6;
    std::vector<int64_t> found;
    const auto pattern = read_window_pattern(model_.metadata, c, usual_period);
    EXPECT_TRUE(pattern) << (pattern ? "" : pattern.error().message);
    for (int64_t layer = 0; layer < 6; ++layer) found.push_back(pattern->of_layer(layer));
    return found;
  };
  EXPECT_EQ(windows(0), (std::vector<int64_t>(6, 0)));  // no window at all
  model_.set_number("attention.sliding_window", uint32_t{4});
  EXPECT_EQ(windows(0), (std::vector<int64_t>(6, 4)));
  EXPECT_EQ(windows(1), (std::vector<int64_t>(6, 0)));
  EXPECT_EQ(windows(3), (std::vector<int64_t>{4, 4, 0, 4, 4, 0}));
  model_.set_number("attention.sliding_window_pattern", uint32_t{2});
  EXPECT_EQ(windows(3), (std::vector<int64_t>{4, 0, 4, 0, 4, 0}));
  // No period gives this list.
  const bool slides[] = {true, false, false, true, true, false};
  model_.set("attention.sliding_window_pattern",
             MetadataValue::numbers(std::span<const bool>(slides)));
  EXPECT_EQ(windows(3), (std::vector<int64_t>{4, 0, 0, 4, 4, 0}));
}

// Not negative, and a list as long as the model.
TEST_F(DecoderConfigTest, WindowsMustMakeSense) {
  const auto error_of = [this](std::string_view key, int64_t value) {
    FakeModel model = model_;
    model.set_number(key, value);
    const auto pattern = read_window_pattern(model.metadata, config(), 2);
    return pattern ? "no error" : pattern.error().message;
  };
  EXPECT_EQ(error_of("attention.sliding_window", -1),
            "Key 'llama.attention.sliding_window' is -1; it must be 0 or more.");
  EXPECT_EQ(error_of("attention.sliding_window_pattern", -2),
            "Key 'llama.attention.sliding_window_pattern' is -2; it must be 0 or more.");
  // One entry for two layers.
  const bool few[] = {true};
  model_.set("attention.sliding_window_pattern",
             MetadataValue::numbers(std::span<const bool>(few)));
  EXPECT_FALSE(read_window_pattern(model_.metadata, config(), 2));
}

// For heads of 8 values.
// `style` comes from the caller, as files do not say it.
class RopeConfigTest : public testing::Test {
 protected:
  Result<RopeConfig> read() const { return read_rope_config(model_.metadata, "llama", 8, "half"); }
  std::string error() const {
    const auto config = read();
    return config ? "no error" : config.error().message;
  }
  FakeModel model_{"llama"};
};

// The defaults of the first models.
TEST_F(RopeConfigTest, WithoutKeysTheWholeHeadRotates) {
  const auto config = read();
  ASSERT_TRUE(config);
  EXPECT_EQ(config->num_rotated, 8);
  EXPECT_EQ(config->base, 10000.0);
  EXPECT_EQ(config->style, "half");
  EXPECT_EQ(config->scaling, "none");
  EXPECT_EQ(config->factor, 1.0);
}

// The newer one wins.
// 4 and 2 are exact floats: the stored f32 comes back as the same double.
TEST_F(RopeConfigTest, LinearScalingHasTwoSpellings) {
  model_.set_number("rope.scale_linear", 4.0F);
  EXPECT_EQ(read()->scaling, "linear");
  EXPECT_EQ(read()->factor, 4.0);
  model_.set("rope.scaling.type", MetadataValue::text("linear"));
  model_.set_number("rope.scaling.factor", 2.0F);
  EXPECT_EQ(read()->factor, 2.0);
}

// YaRN multiplies cos and sin by 0.1 ln(factor) + 1 unless the file says otherwise.
// 0.1 * ln(4) + 1 = 1.13862943611..., from an independent logarithm; 1e-15 allows the last bits of
// the double. A missing factor is an error, since YaRN has no default.
TEST_F(RopeConfigTest, YarnHasATemperature) {
  model_.set("rope.scaling.type", MetadataValue::text("yarn"));
  EXPECT_EQ(read().error().code, ErrorCode::kNotFound);
  model_.set_number("rope.scaling.factor", 4.0F);
  model_.set_number("rope.scaling.original_context_length", uint32_t{16});
  const auto config = read();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_NEAR(config->attention_factor, 1.1386294361119891, 1e-15);
  EXPECT_EQ(config->original_context, 16);
  EXPECT_EQ(config->beta_fast, 32.0);
  model_.set_number("rope.scaling.attn_factor", 1.25F);
  EXPECT_EQ(read()->attention_factor, 1.25);
  // Two spellings of one number: the newer wins.
  model_.set_number("rope.scaling.yarn_attn_factor", 1.5F);
  EXPECT_EQ(read()->attention_factor, 1.5);
}

// Pairs need an even number of values.
TEST_F(RopeConfigTest, ValuesMustMakeSense) {
  // Odd, below 2, above the head of 8 and negative.
  for (const int64_t n : {0, 1, 3, 9, 10, -2}) {
    model_.set_number("rope.dimension_count", n);
    EXPECT_EQ(error(), "Key 'llama.rope.dimension_count' is " + std::to_string(n) +
                           "; it must be even, from 2 to the head size 8.");
  }
  model_.set_number("rope.dimension_count", int64_t{4});
  EXPECT_EQ(read()->num_rotated, 4);
  model_.set_number("rope.freq_base", 0.0F);
  EXPECT_EQ(error(), "Key 'llama.rope.freq_base' is 0; it must be positive and finite.");
  // NaN fails every comparison, so a check written as `base <= 0` would let it through.
  model_.set_number("rope.freq_base", std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(error(), "Key 'llama.rope.freq_base' is nan; it must be positive and finite.");
  model_.set_number("rope.freq_base", std::numeric_limits<float>::infinity());
  EXPECT_EQ(error(), "Key 'llama.rope.freq_base' is inf; it must be positive and finite.");
  model_.set_number("rope.freq_base", 1e4F);
  model_.set("rope.scaling.type", MetadataValue::text("spiral"));
  EXPECT_EQ(error(),
            "Key 'llama.rope.scaling.type' is 'spiral'; the types are none, linear, yarn.");
  EXPECT_EQ(read().error().code, ErrorCode::kUnimplemented);
  model_.set("rope.scaling.type", MetadataValue::text("linear"));
  model_.set_number("rope.scaling.factor", -1.0F);
  EXPECT_EQ(error(), "Key 'llama.rope.scaling.factor' is -1; it must be positive and finite.");
  model_.set_number("rope.scaling.factor", std::numeric_limits<float>::infinity());
  EXPECT_EQ(error(), "Key 'llama.rope.scaling.factor' is inf; it must be positive and finite.");
}

// The key is absent.
TEST(MixtureConfig, DenseModelsHaveNoExperts) {
  const FakeModel model("llama");
  const DecoderConfig c = read_decoder_config(model.metadata, model, NormKind::kRms).value();
  EXPECT_EQ(read_mixture_config(model.metadata, c)->num_experts, 0);
}

// A token cannot choose more experts than there are.
TEST(MixtureConfig, SizesMustMakeSense) {
  const auto error = [](std::string_view key, int64_t value) {
    FakeModel model("qwen3moe");
    model.set_number(key, value);
    const DecoderConfig c = read_decoder_config(model.metadata, model, NormKind::kRms).value();
    const auto mixture = read_mixture_config(model.metadata, c);
    return mixture ? "no error" : mixture.error().message;
  };
  // 4 experts of 4 is the largest legal choice: the boundary from both sides.
  EXPECT_EQ(error("expert_used_count", 4), "no error");
  EXPECT_EQ(error("expert_used_count", 5),
            "Key 'qwen3moe.expert_used_count' is 5; it must be from 1 to the 4 experts.");
  EXPECT_EQ(error("expert_used_count", 0),
            "Key 'qwen3moe.expert_used_count' is 0; it must be from 1 to the 4 experts.");
  EXPECT_EQ(error("expert_count", -1),
            "Key 'qwen3moe.expert_count' is -1; it must be from 0 to 65536.");
  EXPECT_EQ(error("expert_feed_forward_length", 0),
            "Key 'qwen3moe.expert_feed_forward_length' is 0; it must be from 1 to 67108864.");
}

// Words of the command line.
TEST(Activations, NamesRoundTrip) {
  // Every enumerator: a word that is missing in one of the two functions shows here.
  for (const Activations a :
       {Activations::kAuto, Activations::kF32, Activations::kInt8, Activations::kInt16}) {
    EXPECT_EQ(find_activations(activations_name(a)), a);
  }
  EXPECT_FALSE(find_activations("int4"));
  // A value that no enumerator has, as a damaged option would be: no crash, and no other's name.
  EXPECT_EQ(activations_name(static_cast<Activations>(9)), "unknown");
}

// int16 below 1e9 parameters, int8 from there up, f32 without quantised weights.
TEST(Activations, FollowTheSizeOfTheModel) {
  FakeModel model("llama");
  EXPECT_EQ(resolve_activations(Activations::kInt8, model), Activations::kF32);
  model.weights.clear();
  model.add("small", Shape{1, 32}, DType::kQ8_0);
  EXPECT_EQ(resolve_activations(Activations::kAuto, model), Activations::kInt16);
  EXPECT_EQ(resolve_activations(Activations::kInt8, model), Activations::kInt8);
  EXPECT_EQ(resolve_activations(Activations::kF32, model), Activations::kF32);
  // 32 elements of q8_0 and 999,999,967 floats: one below the limit, and `one` reaches it. The
  // source has a list and no bytes, so that the size costs nothing.
  model.add("large", Shape{1'000'000'000 - 33});
  EXPECT_EQ(count_parameters(model), 999'999'999);
  EXPECT_EQ(resolve_activations(Activations::kAuto, model), Activations::kInt16);
  model.add("one", Shape{1});
  EXPECT_EQ(resolve_activations(Activations::kAuto, model), Activations::kInt8);
}

// Metadata of a low-rank adapter.
class AdapterTest : public testing::Test {
 protected:
  AdapterTest() {
    metadata_.set("general.type", MetadataValue::text("adapter"));
    metadata_.set("adapter.type", MetadataValue::text("lora"));
    metadata_.set("general.architecture", MetadataValue::text("llama"));
  }
  std::string error() const {
    const auto adapter = make_adapter(metadata_, nullptr, "llama", 1, "lora.0/");
    return adapter ? "no error" : adapter.error().message;
  }
  Metadata metadata_;
};

// As the papers on low-rank adapters have it.
TEST_F(AdapterTest, TheFactorIsScaleTimesAlphaOverRank) {
  metadata_.set("adapter.lora.alpha", MetadataValue::number(16.0F));
  const auto adapter = make_adapter(metadata_, nullptr, "llama", 0.5, "lora.0/");
  ASSERT_TRUE(adapter);
  // 0.5 * 16 / 4.
  EXPECT_EQ((*adapter)->factor(4), 2.0);
  Adapter plain;
  plain.scale = 0.5;
  EXPECT_EQ(plain.factor(4), 0.5);  // without alpha, the scale alone
}

// By type and by architecture.
// One wrong field after the other, the earlier check masking the later: type before architecture.
TEST_F(AdapterTest, OtherFilesAreRefused) {
  EXPECT_EQ(error(), "no error");
  metadata_.set("general.architecture", MetadataValue::text("qwen2"));
  EXPECT_EQ(error(), "The adapter is for 'qwen2'; the model is 'llama'.");
  metadata_.set("adapter.type", MetadataValue::text("ia3"));
  EXPECT_EQ(error(),
            "The file is of type 'adapter' ('ia3'); it must be an adapter of type 'lora'.");
  metadata_.set("general.type", MetadataValue::text("model"));
  EXPECT_EQ(error(), "The file is of type 'model' ('ia3'); it must be an adapter of type 'lora'.");
  EXPECT_EQ(make_adapter(Metadata(), nullptr, "llama", 1, "").error().code, ErrorCode::kNotFound);
}

// Adapters and model may name weights alike.
// [2, 8] is lora_a of an 8-wide product with rank 2; [8, 8] is the base's own weight of the same
// name without prefix. Names that mix prefix and base must be nobody's.
TEST_F(AdapterTest, WeightsAreFoundUnderTheirPrefix) {
  const FakeModel base("llama");
  auto low_rank = std::make_shared<FakeModel>("llama");
  low_rank->weights.clear();
  low_rank->add("blk.0.attn_q.weight.lora_a", Shape{2, 8});
  const auto adapter = make_adapter(metadata_, low_rank, "llama", 1, "lora.0/").value();
  const AdaptedWeights weights(base, {adapter});
  EXPECT_EQ(weights.list().size(), base.weights.size() + 1);
  const auto info = weights.info("lora.0/blk.0.attn_q.weight.lora_a");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->name, "lora.0/blk.0.attn_q.weight.lora_a");
  EXPECT_EQ(weights.weight("lora.0/blk.0.attn_q.weight.lora_a")->shape(), (Shape{2, 8}));
  EXPECT_EQ(weights.info("blk.0.attn_q.weight")->shape, (Shape{8, 8}));
  EXPECT_FALSE(weights.info("lora.0/blk.0.attn_q.weight"));
  EXPECT_FALSE(weights.info("lora.1/blk.0.attn_q.weight.lora_a"));
}

}  // namespace
}  // namespace quern
