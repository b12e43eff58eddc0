// Receipts: the same bits on other settings; every change is refused with its reason.
#include "generate/receipt.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/cpu/backend.h"
#include "backends/reference/backend.h"
#include "base/sha256.h"
#include "e2e/model_runner.h"
#include "formats/synth.h"
#include "support/faulty_backend.h"
#include "support/temporary_folder.h"

namespace quern::test {
namespace {

using nlohmann::ordered_json;

// A receipt of a sampled run on the CPU with two threads.
class Receipts : public testing::Test {
 protected:
  Receipts() : folder_("receipt") {
    SynthOptions options;
    options.dtype = DType::kQ4_1;
    EXPECT_TRUE(write_synthetic_model(model_path(), options));
    receipt_ = make({});
  }
  std::string model_path() const { return folder_.file("m.gguf"); }

  Receipt make(EngineOptions options) {
    // Not the machine's best: the check then runs on other kernels than the run.
    options.device_options = {.num_threads = 2, .isa = "avx2"};
    if (!(*register_backends().find("cpu"))->open(options.device_options)) {
      options.device_options.isa.clear();  // another processor
    }
    const auto engine = Engine::open(model_path(), options);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
    Receipt receipt = *begin_receipt(**engine);
    receipt.prompt = {5, 17, 300, 44};
    receipt.sampler.temperature = 0.9;
    // The largest seed, which does not fit a double: JSON must keep it as an integer.
    receipt.sampler.seed = 18'446'744'073'709'551'615U;
    // Minus infinity has no number in JSON; 0.1F is no round double.
    receipt.sampler.logit_bias = {{7, -std::numeric_limits<float>::infinity()}, {9, 0.1F}};
    GenerateOptions generate_options;
    generate_options.max_tokens = 40;
    generate_options.sampler = receipt.sampler;
    generate_options.on_logits = [&](std::span<const float> row) {
      receipt.logits.push_back(hash_logits(row));
    };
    const auto sequence = (*engine)->kv().create_sequence();
    const auto result = generate(**engine, *sequence, receipt.prompt, generate_options, {});
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    receipt.tokens = result->tokens;
    return receipt;
  }

  // "" where the run has the receipt's bits, else the reason.
  std::string check(const Receipt& receipt, CheckOptions options = {}) const {
    const auto report = check_receipt(receipt, options);
    return report ? "" : report.error().message;
  }

  TemporaryFolder folder_;
  Receipt receipt_;
};

// With the whole text in the failure.
void expect_part(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// Threads and instruction sets do not change a bit.
TEST_F(Receipts, CheckOnEverySetting) {
  EXPECT_EQ(receipt_.tokens.size(), receipt_.logits.size());
  EXPECT_GT(receipt_.tokens.size(), 1U);
  for (const std::string& isa : isa_caps()) {
    for (const int threads : {1, 2}) {
      EXPECT_EQ(check(receipt_, {.device_options = {threads, isa}}), "") << isa << threads;
    }
  }
  EXPECT_EQ(check(receipt_, {.device = "reference"}), "");
  const auto report = check_receipt(receipt_, {});
  EXPECT_EQ(report->num_prompt_tokens, 4);
  EXPECT_EQ(report->num_steps, static_cast<int64_t>(receipt_.tokens.size()));
}

// Also what few runs use.
TEST_F(Receipts, JsonKeepsEverything) {
  Receipt receipt = receipt_;
  receipt.overrides = {{"rope.freq_base", MetadataValue::number(12345.5)},
                       {"rope.scaling.type", MetadataValue::text("linear")},
                       {"context_length", MetadataValue::number(int64_t{99})}};
  receipt.sampler.dry.multiplier = 0.5;
  receipt.sampler.dry_breakers = {1, 2, 3};
  receipt.sampler.order = {SamplerStageKind::kTopK, SamplerStageKind::kTemperature};
  const std::string text = receipt_to_json(receipt);
  const auto back = parse_receipt(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(receipt_to_json(*back), text);
  EXPECT_EQ(back->sampler.seed, receipt.sampler.seed);
  EXPECT_EQ(back->sampler.dry_breakers, receipt.sampler.dry_breakers);
  EXPECT_EQ(back->sampler.logit_bias[0].bias, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(back->overrides[0].value, receipt.overrides[0].value);
  EXPECT_EQ(back->tokens, receipt.tokens);
  EXPECT_EQ(back->graph_hash, receipt.graph_hash);
  const std::string path = folder_.file("r.json");
  ASSERT_TRUE(write_receipt(path, receipt));
  EXPECT_EQ(receipt_to_json(*read_receipt(path)), text);
}

// An edit of the file is seen before anything runs.
// One edit in each part; the digest of exactly that part must be named.
TEST_F(Receipts, EditedFilesNameTheEditedPart) {
  const ordered_json whole = ordered_json::parse(receipt_to_json(receipt_));
  const auto error = [&](const char* part, const ordered_json& value) {
    ordered_json edited = whole;
    edited[ordered_json::json_pointer(part)] = value;
    const auto receipt = parse_receipt(edited.dump());
    return receipt ? "no error" : receipt.error().message;
  };
  const int32_t token = receipt_.tokens[3];
  EXPECT_EQ(
      error("/tokens/3", token == 8 ? 9 : 8),
      "The receipt's 'tokens' do not match their digest: the receipt was changed after the run.");
  expect_part(error("/prompt/0", 6), "'prompt' do not match");
  expect_part(error("/sampler/temperature", 0.8), "'sampler' do not match");
  expect_part(error("/options/activations", "int8"), "'options' do not match");
  expect_part(error("/model/graph", "00"), "'model' do not match");
  expect_part(error("/logits/0", "00"), "'logits' do not match");
  expect_part(error("/operations/math.add", 2), "'operations' do not match");
  EXPECT_EQ(error("/quern_receipt", 2), "The receipt has version 2; this build reads version 1.");
  EXPECT_EQ(error("/digests/tokens", nullptr), "The receipt has no digest of 'tokens'.");
}

// Where the digests were made to fit, the run itself shows the change.
// What a forger with a working digest can change, one thing at a time: each is found by the run,
// and at the step where it begins to matter.
TEST_F(Receipts, ForgedReceiptsFailAtAStep) {
  Receipt forged = receipt_;
  forged.tokens[3] = forged.tokens[3] == 8 ? 9 : 8;
  expect_part(check(forged), "Step 3: the logits have the same bits, but the receipt says token");
  forged = receipt_;
  forged.prompt[1] = 18;
  expect_part(check(forged),
              "Step 0: the logits do not have the bits of the receipt, but every node");
  forged = receipt_;
  forged.logits[5][0] = forged.logits[5][0] == 'a' ? 'b' : 'a';
  expect_part(check(forged), "Step 5: the logits do not have the bits");
  forged = receipt_;
  forged.sampler.seed = 3;
  expect_part(check(forged), "the sampler chooses");
  forged = receipt_;
  forged.activations = Activations::kInt8;
  expect_part(check(forged), "The model's graph is not that of the run");
  forged = receipt_;
  forged.operations["math.add"] = 7;
  expect_part(check(forged), "The run used version 7 of math.add; this build has version 1");
}

// Wherever it is.
TEST_F(Receipts, OneFlippedBitOfTheModelIsSeen) {
  const auto size = std::filesystem::file_size(model_path());
  // In the header, in the middle of the weights, and in the last byte.
  for (const uintmax_t at : {uintmax_t{30}, size / 2, size - 1}) {
    const std::string path = folder_.file("flipped.gguf");
    std::filesystem::copy_file(model_path(), path,
                               std::filesystem::copy_options::overwrite_existing);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    const std::string error = check(receipt_, {.model = path});
    expect_part(error, "is not the file of the run: its SHA-256 is ");
    expect_part(error, receipt_.files[0].sha256);
  }
}

// Not only that something differs.
TEST_F(Receipts, AFaultyDeviceIsNamedWithStepAndNode) {
  auto registry = std::make_shared<BackendRegistry>();
  registry->add(make_reference_backend());
  // A rotation with base 9,999 instead of 10,000: a fault that no reader of the text would see.
  registry->add(make_faulty_backend(make_cpu_backend(),
                                    {.fault = change_attribute("blk.1.q_rope", "base", 9999.0)}));
  const std::string error = check(receipt_, {.device = "faulty", .backends = registry});
  expect_part(error,
              "Step 0: the logits do not have the bits of the receipt. Node 'blk.1.q_rope' "
              "(positional.rope_at) is the first that differs");
}

// Others promise no bits.
TEST_F(Receipts, OnlyStrictRunsHaveOne) {
  EngineOptions options;
  options.compile.numerics = Numerics::kFast;
  const auto engine = Engine::open(model_path(), options);
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ(begin_receipt(**engine).error().message,
            "A receipt is a promise of bits; it needs strict numerics, not fast.");
}

TEST(ReceiptJson, MalformedTextIsRefused) {
  for (const char* text : {"", "{", "[]", "5", "{\"a\": 1}", "{\"quern_receipt\": \"x\"}",
                           "{\"quern_receipt\": 1}", "{\"quern_receipt\": 1, \"digests\": 5}"}) {
    EXPECT_FALSE(parse_receipt(text)) << text;
  }
  // Nested deeper than a recursive parser's stack.
  EXPECT_FALSE(parse_receipt(std::string(100'000, '[')));
}

// Every part replaced by something of another kind, with a digest that fits.
// With fitting digests, so that the readers of the parts are reached.
TEST_F(Receipts, WrongKindsAreRefused) {
  const ordered_json whole = ordered_json::parse(receipt_to_json(receipt_));
  for (const auto& [part, content] : whole.items()) {
    if (part == "digests" || part == "quern_receipt") continue;
    for (const ordered_json& value :
         {ordered_json(nullptr), ordered_json(5), ordered_json("x"),
          ordered_json::array({"x", 1.5, nullptr}), ordered_json({{"a", ordered_json::array()}})}) {
      ordered_json edited = whole;
      edited[part] = value;
      edited["digests"][part] = Sha256().update(value.dump()).hex_digest();
      EXPECT_FALSE(parse_receipt(edited.dump())) << part << " = " << value.dump();
    }
  }
}

}  // namespace
}  // namespace quern::test
