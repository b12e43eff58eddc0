// Receipts as text: every member is read back, and one that is absent or wrong is named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "generate/receipt.h"
#include "support/temporary_folder.h"

namespace quern {
namespace {

using Json = nlohmann::ordered_json;

// A receipt in which no member has its default.
Receipt example() {
  Receipt r;
  r.quern_version = "9.8.7";
  r.files = {{.path = "m \"1\".gguf", .sha256 = std::string(64, 'a'), .scale = 1},
             {.path = "m2.gguf", .sha256 = std::string(64, 'b'), .scale = 1},
             {.path = "lora.gguf", .sha256 = std::string(64, 'c'), .scale = -0.25}};
  r.num_model_files = 2;
  r.architecture = "llama";
  r.graph_hash = 0xfedcba9876543210U;
  r.operations = {{"math.add", 1}, {"attention.cached", 3}};
  r.activations = Activations::kInt8;
  r.key_type = DType::kF16;
  r.value_type = DType::kQ8_0;
  r.overrides = {{"rope.freq_base", MetadataValue::number(1e-300)},
                 {"context_length", MetadataValue::number(std::numeric_limits<int64_t>::min())},
                 {"rope.scaling.type", MetadataValue::text("yarn")}};
  SamplerOptions& s = r.sampler;
  s.temperature = 0.1;
  s.top_k = 7;
  s.top_p = 0.3;
  s.min_p = 0.2;
  s.seed = std::numeric_limits<uint64_t>::max();
  s.typical_p = 0.4;
  s.top_n_sigma = 1.5;
  s.penalties = {.repeat = 1.1, .frequency = -0.5, .presence = 0.25, .window = -1};
  s.dry = {.multiplier = 0.8, .base = 2.5, .allowed_length = 4, .range = 100};
  s.dry_breakers = {0, 13, 2147483647};
  s.xtc = {.probability = 0.05, .threshold = 0.15};
  s.mirostat = {.version = 2, .tau = 3.0, .eta = 0.05};
  s.dynamic_temperature = {.range = 0.5, .exponent = 1.5};
  s.logit_bias = {{5, -std::numeric_limits<float>::infinity()}, {6, 0.1F}, {7, -3e-39F}};
  s.order = {SamplerStageKind::kTemperature, SamplerStageKind::kXtc, SamplerStageKind::kDry};
  r.prompt = {1, 2, 3};
  r.tokens = {4, 5};
  r.logits = {"00ff", "11ee"};
  r.device = "cpu";
  r.arch = "avx2";
  r.threads = 12;
  return r;
}

// The example as JSON, to be edited.
Json example_json() {
  return Json::parse(receipt_to_json(example()));
}

// Digests that fit the parts, as a forger would make them.
void seal(Json& json) {
  for (const auto& [part, old] : json["digests"].items()) {
    if (json.contains(part))
      json["digests"][part] = Sha256().update(json[part].dump()).hex_digest();
  }
}

// Why the JSON is no receipt.
std::string error_of(const Json& json) {
  const auto receipt = parse_receipt(json.dump());
  return receipt ? "no error" : receipt.error().message;
}

// Numbers at the ends of their ranges, so that nothing is rounded on the way.
TEST(ReceiptJson, EveryMemberComesBack) {
  const Receipt r = example();
  const auto back = parse_receipt(receipt_to_json(r));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->quern_version, r.quern_version);
  ASSERT_EQ(back->files.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back->files[i].path, r.files[i].path);
    EXPECT_EQ(back->files[i].sha256, r.files[i].sha256);
    EXPECT_EQ(back->files[i].scale, r.files[i].scale);
  }
  EXPECT_EQ(back->num_model_files, 2U);
  EXPECT_EQ(back->architecture, "llama");
  EXPECT_EQ(back->graph_hash, r.graph_hash);
  EXPECT_EQ(back->operations, r.operations);
  EXPECT_EQ(back->activations, r.activations);
  EXPECT_EQ(back->key_type, r.key_type);
  EXPECT_EQ(back->value_type, r.value_type);
  ASSERT_EQ(back->overrides.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back->overrides[i].key, r.overrides[i].key);
    EXPECT_EQ(back->overrides[i].value, r.overrides[i].value) << r.overrides[i].key;
  }
  EXPECT_EQ(back->prompt, r.prompt);
  EXPECT_EQ(back->tokens, r.tokens);
  EXPECT_EQ(back->logits, r.logits);
  EXPECT_EQ(back->device, "cpu");
  EXPECT_EQ(back->arch, "avx2");
  EXPECT_EQ(back->threads, 12);
}

// A forgotten option would make a receipt that cannot be checked.
TEST(ReceiptJson, EverySamplerOptionComesBack) {
  const SamplerOptions s = example().sampler;
  const SamplerOptions b = parse_receipt(receipt_to_json(example()))->sampler;
  EXPECT_EQ(b.temperature, s.temperature);
  EXPECT_EQ(b.top_k, s.top_k);
  EXPECT_EQ(b.top_p, s.top_p);
  EXPECT_EQ(b.min_p, s.min_p);
  EXPECT_EQ(b.seed, s.seed);
  EXPECT_EQ(b.typical_p, s.typical_p);
  EXPECT_EQ(b.top_n_sigma, s.top_n_sigma);
  EXPECT_EQ(b.penalties.repeat, s.penalties.repeat);
  EXPECT_EQ(b.penalties.frequency, s.penalties.frequency);
  EXPECT_EQ(b.penalties.presence, s.penalties.presence);
  EXPECT_EQ(b.penalties.window, s.penalties.window);
  EXPECT_EQ(b.dry.multiplier, s.dry.multiplier);
  EXPECT_EQ(b.dry.base, s.dry.base);
  EXPECT_EQ(b.dry.allowed_length, s.dry.allowed_length);
  EXPECT_EQ(b.dry.range, s.dry.range);
  EXPECT_EQ(b.dry_breakers, s.dry_breakers);
  EXPECT_EQ(b.xtc.probability, s.xtc.probability);
  EXPECT_EQ(b.xtc.threshold, s.xtc.threshold);
  EXPECT_EQ(b.mirostat.version, s.mirostat.version);
  EXPECT_EQ(b.mirostat.tau, s.mirostat.tau);
  EXPECT_EQ(b.mirostat.eta, s.mirostat.eta);
  EXPECT_EQ(b.dynamic_temperature.range, s.dynamic_temperature.range);
  EXPECT_EQ(b.dynamic_temperature.exponent, s.dynamic_temperature.exponent);
  ASSERT_EQ(b.logit_bias.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(b.logit_bias[i].token, s.logit_bias[i].token);
    EXPECT_EQ(b.logit_bias[i].bias, s.logit_bias[i].bias);
  }
  EXPECT_EQ(b.order, s.order);
}

// Breakers count only where DRY does; without it they would be thousands of useless numbers.
TEST(ReceiptJson, BreakersAreLeftOutWithoutDry) {
  Receipt r = example();
  r.sampler.dry.multiplier = 0;
  EXPECT_TRUE(parse_receipt(receipt_to_json(r))->sampler.dry_breakers.empty());
}

// Each value of each object removed in turn, with digests that fit.
TEST(ReceiptJson, AbsentMembersAreNamed) {
  const Json whole = example_json();
  for (const char* part : {"made_by", "model", "options", "sampler"}) {
    for (const auto& [name, value] : whole[part].items()) {
      Json edited = whole;
      edited[part].erase(name);
      seal(edited);
      EXPECT_EQ(error_of(edited), fmt::format("The receipt's {} '{}' is missing.", part, name));
    }
  }
  for (const auto& [name, value] : whole["digests"].items()) {
    Json edited = whole;
    edited.erase(name);
    EXPECT_EQ(error_of(edited), fmt::format("The receipt has no '{}'.", name));
    edited = whole;
    edited["digests"].erase(name);
    EXPECT_EQ(error_of(edited), fmt::format("The receipt has no digest of '{}'.", name));
  }
  for (const char* name : {"path", "sha256"}) {
    Json edited = whole;
    edited["model"]["files"][1].erase(name);
    seal(edited);
    EXPECT_EQ(error_of(edited), fmt::format("The receipt's file '{}' is missing.", name));
  }
}

// Without a digest that fits, a change of any leaf is found before it is looked at.
TEST(ReceiptJson, AnyChangedLeafBreaksItsDigest) {
  const Json whole = example_json();
  const Json flat = whole.flatten();
  int num_leaves = 0;
  for (const auto& [pointer, value] : flat.items()) {
    if (pointer.starts_with("/digests") || pointer == "/quern_receipt") continue;
    Json edited = whole;
    Json& leaf = edited[Json::json_pointer(pointer)];
    leaf = value.is_string() ? Json(value.get<std::string>() + "x") : Json(-77.5);
    const std::string part = pointer.substr(1, pointer.find('/', 1) - 1);
    EXPECT_EQ(error_of(edited),
              fmt::format("The receipt's '{}' do not match their digest: the receipt was changed "
                          "after the run.",
                          part))
        << pointer;
    ++num_leaves;
  }
  EXPECT_GT(num_leaves, 55);
}

// A change of a receipt's JSON, and the error that it must give.
struct EditCase {
  const char* pointer;
  Json value;
  const char* error;
};

// One row for each kind of mistake.
TEST(ReceiptJson, WrongMembersAreNamed) {
  const EditCase cases[] = {
      {"/made_by/threads", 1.5, "The receipt's made_by 'threads' is not such an integer."},
      {"/made_by/threads", int64_t{1} << 40,
       "The receipt's made_by 'threads' is not such an integer."},
      {"/made_by/quern", 1, "The receipt's made_by 'quern' is not text."},
      {"/made_by", Json::array(), "The receipt's made_by 'quern' is missing."},
      {"/model/files/0/scale", "big", "The receipt's file 'scale' is not a number."},
      {"/model/files/0", nullptr, "The receipt's file 'path' is missing."},
      {"/model/files", 5, "The receipt's model 'model_files' does not fit the files."},
      {"/model/files", Json::array(), "The receipt's model 'model_files' does not fit the files."},
      {"/model/model_files", 0, "The receipt's model 'model_files' does not fit the files."},
      {"/model/model_files", 4, "The receipt's model 'model_files' does not fit the files."},
      {"/model/model_files", -1, "The receipt's model 'model_files' is not such an integer."},
      {"/model/graph", "", "The receipt's model 'graph' is no hash."},
      {"/model/graph", "xyz", "The receipt's model 'graph' is no hash."},
      {"/model/graph", "-1", "The receipt's model 'graph' is no hash."},
      {"/model/graph", "11112222333344445", "The receipt's model 'graph' is no hash."},
      {"/operations", Json::array(), "The receipt's operations are not an object."},
      {"/operations/math.add", "1", "The receipt's operation 'math.add' is not such an integer."},
      {"/options/numerics", "fast", "The receipt's options 'numerics' is not strict."},
      {"/options/activations", "auto", "The receipt's options 'activations' is not known."},
      {"/options/activations", "int9", "The receipt's options 'activations' is not known."},
      {"/options/cache_type_k", "f33", "The receipt's options 'cache_type_k' is no dtype."},
      {"/options/cache_type_v", "", "The receipt's options 'cache_type_v' is no dtype."},
      {"/options/overrides", 7, "The receipt's options 'overrides' is not an object."},
      {"/options/overrides/context_length", nullptr,
       "The receipt's override 'context_length' is no number and no text."},
      {"/options/overrides/context_length", std::numeric_limits<uint64_t>::max(),
       "The receipt's override 'context_length' is no number and no text."},
      {"/sampler/temperature", "warm", "The receipt's sampler 'temperature' is not a number."},
      {"/sampler/temperature", -1, "The temperature is -1; it must be from 0 to 1000000."},
      {"/sampler/seed", -1, "The receipt's sampler 'seed' is not such an integer."},
      {"/sampler/top_k", 1e30, "The receipt's sampler 'top_k' is not such an integer."},
      {"/sampler/dry_breakers", 3, "The receipt's sampler 'dry_breakers' is not a list."},
      {"/sampler/dry_breakers/0", int64_t{1} << 31,
       "The receipt's sampler 'dry_breakers' holds no such integer."},
      {"/sampler/logit_bias/0", 5,
       "The receipt's sampler 'logit_bias' holds something that is not text."},
      {"/sampler/logit_bias/0", "5",
       "The logit bias '5' is not of the form ID+BIAS or ID-BIAS (15+1.5, 15-inf)."},
      {"/sampler/order", "xtc;xtc", "The sampler stage 'xtc' stands twice in the order."},
      {"/prompt", Json::array(), "The receipt's part 'prompt' has no token."},
      {"/prompt", "abc", "The receipt's part 'prompt' is not a list."},
      {"/prompt/0", 1.0, "The receipt's part 'prompt' holds no such integer."},
      {"/logits", Json::array(), "The receipt's part 'logits' does not fit the tokens."},
      {"/logits/1", 4, "The receipt's part 'logits' holds something that is not text."},
      {"/tokens/1", -3000000000, "The receipt's part 'tokens' holds no such integer."},
  };
  const Json whole = example_json();
  for (const EditCase& c : cases) {
    Json edited = whole;
    edited[Json::json_pointer(c.pointer)] = c.value;
    seal(edited);
    EXPECT_EQ(error_of(edited), c.error) << c.pointer << " = " << c.value.dump();
  }
}

// Inside a part: its digest fits, and nobody looked.
TEST(ReceiptJson, UnknownMembersOfPartsAreNamed) {
  for (const char* part : {"made_by", "model", "options", "sampler"}) {
    Json edited = example_json();
    edited[part]["signed"] = true;
    seal(edited);
    EXPECT_EQ(error_of(edited), fmt::format("The receipt's {} 'signed' is unknown.", part));
  }
  Json edited = example_json();
  edited["model"]["files"][0]["size"] = 1;
  seal(edited);
  EXPECT_EQ(error_of(edited), "The receipt's file 'size' is unknown.");
}

// The library keeps the last one, and a person may read the first.
TEST(ReceiptJson, AKeyThatStandsTwiceIsRefused) {
  std::string text = example_json().dump();
  const size_t at = text.find("\"tokens\"");
  ASSERT_NE(at, std::string::npos);
  text.insert(at, "\"tokens\":[1,2,3],");
  const auto receipt = parse_receipt(text);
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().message, "The receipt has the key 'tokens' twice.");
}

// What nothing reads has no digest, and a digest of nothing is no better.
TEST(ReceiptJson, UnknownKeysAreNamed) {
  Json json = example_json();
  json["note"] = "made on a Monday";
  EXPECT_EQ(error_of(json),
            "The receipt has the unknown key 'note'; its keys are quern_receipt, made_by, model, "
            "operations, options, sampler, prompt, tokens, logits and digests.");
  json = example_json();
  json["Tokens"] = json["tokens"];
  EXPECT_TRUE(error_of(json).starts_with("The receipt has the unknown key 'Tokens'; "));
  json = example_json();
  json["digests"]["note"] = "00";
  EXPECT_EQ(error_of(json), "The receipt has a digest of 'note', which is no part of it.");
  EXPECT_EQ(error_of(example_json()), "no error");
}

// Cuts of a real one, and other JSON.
TEST(ReceiptJson, TextThatIsNoReceipt) {
  const std::string no_receipt =
      "It is not a receipt: a JSON object with 'quern_receipt' is expected.";
  const std::string whole = receipt_to_json(example());
  for (size_t cut = 0; cut + 2 < whole.size(); cut += 7) {
    const auto receipt = parse_receipt(std::string_view(whole).substr(0, cut));
    ASSERT_FALSE(receipt) << cut;
    EXPECT_EQ(receipt.error().message, no_receipt) << cut;
  }
  for (const char* text : {"null", "[{\"quern_receipt\": 1}]", "{\"quern_receipt\": 1} x",
                           "{\"quern_receipt\": 1}\n{}", "\xff\xfe", "{\"QUERN_RECEIPT\": 1}"}) {
    const auto receipt = parse_receipt(text);
    ASSERT_FALSE(receipt) << text;
    EXPECT_EQ(receipt.error().message, no_receipt) << text;
  }
}

// They may mean something else.
TEST(ReceiptJson, OtherVersionsAreNotRead) {
  Json json = example_json();
  json["quern_receipt"] = 2;
  const auto newer = parse_receipt(json.dump());
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(newer.error().message, "The receipt has version 2; this build reads version 1.");
  json["quern_receipt"] = "1";
  EXPECT_EQ(error_of(json), "The receipt's format 'quern_receipt' is not such an integer.");
}

// Reading and writing.
TEST(ReceiptJson, FilesNameTheirPath) {
  const test::TemporaryFolder folder("receipt_json");
  const std::string path = folder.file("r.json");
  ASSERT_TRUE(write_receipt(path, example()));
  const auto back = read_receipt(path);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(receipt_to_json(*back), receipt_to_json(example()));
  std::ofstream(path) << "{}";
  EXPECT_EQ(read_receipt(path).error().message,
            "While reading '" + path +
                "': It is not a receipt: a JSON object with 'quern_receipt' is expected.");
  EXPECT_EQ(read_receipt(folder.file("none.json")).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(write_receipt(folder.file("no/such/folder/r.json"), example()));
}

// SHA-256 of the bytes of f32: python3 -c "import hashlib, numpy as np;
// print(hashlib.sha256(np.array([1.5, -0.0], '<f4').tobytes()).hexdigest()[:32])"
TEST(HashLogits, IsTheHashOfLittleEndianFloats) {
  EXPECT_EQ(hash_logits(std::vector<float>{1.5F, -0.0F}), "937d530fa41fcbc6164988a1952b6921");
  EXPECT_EQ(hash_logits({}), "e3b0c44298fc1c149afbf4c8996fb924");
  EXPECT_NE(hash_logits(std::vector<float>{0.0F}), hash_logits(std::vector<float>{-0.0F}));
}

}  // namespace
}  // namespace quern
