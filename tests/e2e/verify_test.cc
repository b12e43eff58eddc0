// Devices that are wrong on purpose: verify names the node, the parity gate refuses the device.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "backends/cpu/backend.h"
#include "backends/reference/backend.h"
#include "e2e/model_runner.h"
#include "formats/manifest/manifest.h"
#include "formats/safetensors.h"
#include "formats/synth.h"
#include "formats/weight_files.h"
#include "generate/replay.h"
#include "generate/verify_model.h"
#include "quern/op.h"
#include "support/faulty_backend.h"
#include "support/temporary_folder.h"

namespace quern::test {
namespace {

// Reference, CPU, and a CPU with a fault.
std::shared_ptr<const BackendRegistry> backends_with(FaultyOptions options) {
  auto registry = std::make_shared<BackendRegistry>();
  registry->add(make_reference_backend());
  registry->add(make_cpu_backend());
  registry->add(make_faulty_backend(make_cpu_backend(), std::move(options)));
  return registry;
}

// A synthetic model, compared on two devices.
class Verify : public testing::Test {
 protected:
  Verify() : folder_("verify") {
    SynthOptions options;
    options.dtype = DType::kQ4_0;
    const auto written = write_synthetic_model(model_path(), options);
    EXPECT_TRUE(written) << (written ? "" : written.error().message);
    auto files = open_model_files(model_path(), {});
    EXPECT_TRUE(files) << (files ? "" : files.error().message);
    files_ = std::move(*files);
  }
  std::string model_path() const { return folder_.file("m.gguf"); }

  Result<VerifyReport> verify(FaultyOptions options) {
    VerifyOptions verify;
    verify.device = "faulty";
    return verify_model(files_, std::vector<int32_t>{5, 17, 300, 5},
                        *backends_with(std::move(options)), verify);
  }
  // The name of the node that a fault is found at.
  std::string culprit(FaultyOptions options) {
    const auto report = verify(std::move(options));
    if (!report) return report.error().message;
    if (!report->comparison.first) return "none";
    return files_.model.graph.node(report->comparison.first->node).name;
  }

  TemporaryFolder folder_;
  ModelFiles files_;
};

// No node is left out.
TEST_F(Verify, SoundDevicesAgreeOnEveryNode) {
  const auto report = verify({});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->comparison.first);
  EXPECT_EQ(report->tolerance, 0);
  EXPECT_GT(report->comparison.num_values, 50);
  EXPECT_EQ(report->run_names,
            (std::vector<std::string>{"prefill of 4 tokens", "decode of 1 token"}));
}

// Rotation, norms and attention.
// Faults in the first and last layer and behind all layers: the search must go by the graph's
// order.
TEST_F(Verify, NamesTheNodeAtFault) {
  const struct {
    const char* node;
    const char* attribute;
    AttributeValue value;
  } faults[] = {{"blk.1.q_rope", "base", 9999.0},
                {"blk.0.k_rope", "base", 9999.0},
                {"blk.1.attn_norm", "eps", 1e-3},
                {"blk.0.attention", "scale", 0.3},
                {"output_norm", "eps", 1e-3}};
  for (const auto& fault : faults) {
    EXPECT_EQ(culprit({.fault = change_attribute(fault.node, fault.attribute, fault.value)}),
              fault.node);
  }
}

// For whoever mends it.
TEST_F(Verify, SaysWhereAndHowMuch) {
  const auto report = verify({.fault = change_attribute("blk.1.q_rope", "base", 9999.0)});
  ASSERT_TRUE(report && report->comparison.first);
  const Divergence& first = *report->comparison.first;
  EXPECT_EQ(first.run, 0U);
  EXPECT_FALSE(first.needs_whole_graph);
  EXPECT_EQ(first.shape, (Shape{4, 4, 16}));
  // Position 0 is never rotated.
  // [4, 4, 16]: position 0 is the first 64 elements, whose rotation by angle 0 is right with any
  // base. 192 are left.
  EXPECT_GE(first.difference.first_index, 64);
  EXPECT_LE(first.difference.num_different, 192);
  EXPECT_GT(first.difference.max_absolute, 0);
  // Everything behind the fault differs, too.
  EXPECT_GT(report->comparison.num_divergent, 10);
  const std::string text =
      describe_divergence(files_.model.graph, report->comparison, "faulty", "reference");
  EXPECT_NE(text.find("Node 'blk.1.q_rope' (positional.rope_at) is the first that differs"),
            std::string::npos);
  EXPECT_NE(text.find("f32[T, 4, 16], element ["), std::string::npos) << text;
}

// A fault of what several nodes become together, gone as soon as one looks at their values.
TEST_F(Verify, FindsFaultsThatOnlyTheWholeGraphHas) {
  const GraphFault hidden = [](const Graph& graph, const CompileOptions& options) -> Result<Graph> {
    // The fault goes away as soon as more than one value is kept, as a fault of fusion does.
    if (options.readable.size() > 1) return graph;
    return change_attribute("blk.1.ffn_norm", "eps", 1e-2)(graph, options);
  };
  const auto report = verify({.fault = hidden});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->comparison.first);
  EXPECT_TRUE(report->comparison.first->needs_whole_graph);
  EXPECT_EQ(files_.model.graph.node(report->comparison.first->node).name, "blk.1.ffn_norm");
}

// Unless they promise bits.
TEST_F(Verify, ApproximateDevicesHaveATolerance) {
  // One part in a million of the base: far below the tolerance of 1e-3.
  const GraphFault tiny = change_attribute("blk.1.q_rope", "base", 10000.01);
  EXPECT_EQ(culprit({.fault = tiny}), "blk.1.q_rope");
  EXPECT_EQ(culprit({.fault = tiny, .correctness = CorrectnessClass::kApprox}), "none");
}

// Before devices are opened.
TEST_F(Verify, RefusesTokensThatTheModelHasNot) {
  const auto registry = backends_with({});
  const VerifyOptions options;
  EXPECT_FALSE(verify_model(files_, {}, *registry, options));
  EXPECT_EQ(verify_model(files_, std::vector<int32_t>{512}, *registry, options).error().message,
            "Token 512 is outside the vocabulary of 512.");
}

// What is saved runs again: on the sound device to what was expected, on the faulty one to what it
// gave.
TEST_F(Verify, SavedInputsRepeatTheFault) {
  const struct {
    const char* node;
    const char* attribute;
    double value;
  } faults[] = {{"blk.1.q_rope", "base", 9999.0},   // inputs only
                {"blk.0.attention", "scale", 0.3},  // reads the cache
                {"blk.1.attn_norm", "eps", 1e-3}};  // has a weight
  for (const auto& [node, attribute, value] : faults) {
    SCOPED_TRACE(node);
    const GraphFault fault = change_attribute(node, attribute, value);
    const auto report = verify({.fault = fault});
    ASSERT_TRUE(report && report->comparison.first);
    const AdaptedWeights weights = files_.weights();
    const std::string folder = folder_.file(node);
    const auto saved =
        save_replay(folder, files_.model.graph, report->comparison, &weights, "faulty", "x");
    ASSERT_TRUE(saved) << saved.error().message;
    const auto manifest = read_manifest(folder + "/node.yaml", builtin_ops());
    ASSERT_TRUE(manifest) << manifest.error().message;
    std::vector<std::string> weight_files;
    if (std::filesystem::exists(folder + "/weights.gguf"))
      weight_files.push_back(folder + "/weights.gguf");
    EXPECT_EQ(weight_files.empty(), std::string_view(node) != "blk.1.attn_norm");
    const auto replay_weights = open_weight_files(weight_files);
    ASSERT_TRUE(replay_weights) << replay_weights.error().message;
    const auto registry = backends_with({.fault = fault});
    for (const auto& [name, file] :
         {std::pair("cpu", "/expected"), std::pair("faulty", "/actual")}) {
      const auto backend = registry->find(name);
      const auto device = (*backend)->open({});
      const auto executable =
          compile_and_load(manifest->graph, **backend, **device, replay_weights->get(), {});
      ASSERT_TRUE(executable) << executable.error().message;
      RunArguments arguments;
      const auto inputs = SafetensorsFile::open(folder + "/inputs.safetensors");
      for (const NodeId id : manifest->graph.inputs()) {
        const std::string& input = manifest->graph.node(id).name;
        arguments.inputs[input] = *(*inputs)->weight(input);
      }
      std::unique_ptr<KvStore> kv;
      if (manifest->graph.find_state("kv") != nullptr) {
        kv = *(*device)->make_kv_store(*manifest->graph.find_state("kv"));
        ASSERT_TRUE(kv->create_sequence());
        ASSERT_TRUE(kv->reserve(0, 4));
        arguments.states["kv"] = kv.get();
      }
      const auto result = (*executable)->run(arguments);
      ASSERT_TRUE(result) << result.error().message;
      const auto wanted = SafetensorsFile::open(folder + file + ".safetensors");
      ASSERT_TRUE(wanted) << wanted.error().message;
      EXPECT_EQ(result->find(node)->read().value(), (*wanted)->weight(node)->read().value())
          << name;
    }
  }
}

// The gate ---------------------------------------------------------------------------------------

// The gate of an engine, with a folder for what it keeps.
class ParityGate : public Verify {
 protected:
  Result<std::unique_ptr<Engine>> open(FaultyOptions faulty, bool has_gate = true) {
    EngineOptions options;
    options.device = "faulty";
    options.backends = backends_with(std::move(faulty));
    options.has_parity_gate = has_gate;
    options.cache_folder = folder_.file("cache");
    options.program_stamp = program_stamp_;
    options.device_options.num_threads = num_threads_;
    options.pack_cache = pack_cache_;
    return Engine::open(model_path(), options);
  }
  std::string error(FaultyOptions faulty) {
    const auto engine = open(std::move(faulty));
    return engine ? "" : engine.error().message;
  }
  // A device that the gate refuses, unless it remembers a pass: this program cannot tell it from
  // the sound one.
  FaultyOptions wrong() const {
    return {.fault = change_attribute("blk.1.q_rope", "base", 9000.0)};
  }
  std::vector<std::filesystem::path> passes() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file("cache"))) {
      if (entry.path().extension() == ".passed") found.push_back(entry.path());
    }
    return found;
  }
  std::string program_stamp_;  // empty: passes are not remembered
  int num_threads_ = 1;
  std::string pack_cache_;
  std::string cached_file() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file("cache"))) {
      return entry.path().string();
    }
    return "";
  }
};

// And a flag serves the model all the same.
TEST_F(ParityGate, RefusesADeviceWithTheReason) {
  const std::string text = error({.fault = change_attribute("blk.1.q_rope", "base", 9000.0)});
  EXPECT_NE(text.find("Device faulty fails the parity gate: for one token its logits differ"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("under strict it must have the reference's bits"), std::string::npos) << text;
  EXPECT_TRUE(open({.fault = change_attribute("blk.1.q_rope", "base", 9000.0)}, false));
}

// The second time with kept logits.
TEST_F(ParityGate, LetsSoundDevicesPass) {
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({}), "");  // with the reference's logits kept
}

// By angle and best token.
TEST_F(ParityGate, ApproximateDevicesMustBeClose) {
  EXPECT_EQ(error({.fault = change_attribute("blk.1.q_rope", "base", 9999.9),
                   .correctness = CorrectnessClass::kApprox}),
            "");
  // Such an eps shrinks all logits by one factor.
  const std::string text = error({.fault = change_attribute("output_norm", "eps", 1e12),
                                  .correctness = CorrectnessClass::kApprox});
  EXPECT_EQ(text, "");  // a scale of all logits keeps the cosine and the best token
  const std::string turned = error({.fault = change_attribute("blk.0.attn_norm", "eps", 1e6),
                                    .correctness = CorrectnessClass::kApprox});
  EXPECT_NE(turned.find("agree on the best token and have a cosine of 0.999"), std::string::npos)
      << turned;
}

// Kept logits of an older or damaged file never refuse a sound device, nor let a faulty one pass.
TEST_F(ParityGate, KeptLogitsAreNotBlindlyBelieved) {
  EXPECT_EQ(error({}), "");
  const std::string path = cached_file();
  ASSERT_NE(path, "");
  const auto size = std::filesystem::file_size(path);
  // Header of .npy, then 512 logits.
  EXPECT_EQ(size, 128 + 512 * 4U);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    // Inside the logits: a kept row that is wrong.
    file.seekp(200);
    file.put('\x7f');
  }
  EXPECT_EQ(error({}), "");
  std::filesystem::resize_file(path, 100);
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(std::filesystem::file_size(path), size);  // written anew
  EXPECT_NE(error({.fault = change_attribute("blk.1.q_rope", "base", 9000.0)}), "");
}

// For the same program, model and device alone.
TEST_F(ParityGate, RemembersWhatPassed) {
  program_stamp_ = "one";
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(passes().size(), 1U);
  EXPECT_EQ(error(wrong()), "");  // not looked at
  program_stamp_ = "another";
  EXPECT_NE(error(wrong()), "");
  program_stamp_ = "one";
  num_threads_ = 2;
  EXPECT_NE(error(wrong()), "");
  num_threads_ = 1;
  EXPECT_EQ(error(wrong()), "");
  program_stamp_ = "";
  EXPECT_NE(error(wrong()), "");
  EXPECT_EQ(passes().size(), 1U);
}

// Written at its old size, as another program would leave it.
TEST_F(ParityGate, AChangedModelMustPassAgain) {
  program_stamp_ = "one";
  EXPECT_EQ(error({}), "");
  {
    std::fstream file(model_path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const int last = file.get();
    file.seekp(-1, std::ios::end);
    file.put(static_cast<char>(last));
  }
  EXPECT_NE(error(wrong()), "");
}

// The device computes with what is in them.
TEST_F(ParityGate, ChangedFilesOfPackedWeightsMustPassAgain) {
  program_stamp_ = "one";
  pack_cache_ = folder_.file("packed");
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error(wrong()), "");
  std::filesystem::path packed;
  for (const auto& entry : std::filesystem::directory_iterator(pack_cache_)) packed = entry.path();
  ASSERT_FALSE(packed.empty());
  const auto time = std::filesystem::last_write_time(packed);
  std::filesystem::last_write_time(packed, time - std::chrono::hours(1));
  EXPECT_NE(error(wrong()), "");
}

TEST_F(ParityGate, RemembersNoFailureAndNoDamagedPass) {
  program_stamp_ = "one";
  EXPECT_NE(error(wrong()), "");
  EXPECT_TRUE(passes().empty());
  EXPECT_EQ(error({}), "");
  ASSERT_EQ(passes().size(), 1U);
  std::filesystem::resize_file(passes()[0], 5);
  EXPECT_NE(error(wrong()), "");
  EXPECT_EQ(error({}), "");  // written anew
  EXPECT_EQ(error(wrong()), "");
}

// Its stores are its own.
TEST_F(ParityGate, LeavesTheEnginesResultsAlone) {
  const auto with = open({}), without = open({}, false);
  ASSERT_TRUE(with && without);
  const std::vector<int32_t> tokens{5, 17, 300};
  EXPECT_EQ(run_logits(**with, tokens, 0), run_logits(**without, tokens, 0));
}

// One wrong base among thirty layers.
// The base of the model is 100,000: 10,000 is another model's.
TEST(VerifySmolLm2, NamesTheRopeOfLayer7) {
  const std::string path = smollm2_file();
  QUERN_NEED_FILE(path, "SmolLM2");
  const auto files = open_model_files(path, {});
  ASSERT_TRUE(files) << files.error().message;
  VerifyOptions options;
  options.device = "faulty";
  const auto registry = backends_with({.fault = change_attribute("blk.7.q_rope", "base", 10000.0)});
  const auto report = verify_model(*files, std::vector<int32_t>{1, 504, 2048}, *registry, options);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->comparison.first);
  EXPECT_EQ(files->model.graph.node(report->comparison.first->node).name, "blk.7.q_rope");
  options.device = "cpu";
  const auto sound = verify_model(*files, std::vector<int32_t>{1, 504, 2048}, *registry, options);
  ASSERT_TRUE(sound) << sound.error().message;
  EXPECT_FALSE(sound->comparison.first);
}

}  // namespace
}  // namespace quern::test
