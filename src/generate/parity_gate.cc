// Two tokens on two devices.
// The reference's logits are kept between loads; a kept file can let a device pass, never refuse
// it.
#include "generate/parity_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/fail.h"
#include "base/hash.h"
#include "formats/npy.h"
#include "generate/parity_memory.h"
#include "generate/weight_hash.h"
#include "hw/file_mappings.h"
#include "runtime/logit_parity.h"

namespace quern {
namespace {

// A short name for the library's.
namespace fs = std::filesystem;

// A graph's input of token numbers.
Result<Tensor> i32_vector(std::vector<int32_t> values) {
  return Tensor::from<int32_t>(DType::kI32, Shape{static_cast<int64_t>(values.size())}, values);
}

// Feeds tokens at positions start, start + 1, ... of sequence 0; the logits of the last one.
Result<std::vector<float>> feed(const GateSubject& subject, Executable& executable, KvStore& kv,
                                std::vector<int32_t> tokens, int32_t start) {
  const auto count = static_cast<int32_t>(tokens.size());
  std::vector<int32_t> positions;
  // All tokens stand in sequence 0 of a store of the gate's own.
  for (int32_t i = 0; i < count; ++i) positions.push_back(start + i);
  QUERN_TRY(kv.reserve(0, count));
  RunArguments arguments;
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["tokens"], i32_vector(std::move(tokens)));
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["positions"], i32_vector(std::move(positions)));
  const auto zeros = std::vector<int32_t>(static_cast<size_t>(count), 0);
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["sequences"], i32_vector(zeros));
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["output_rows"], i32_vector({count - 1}));
  // Two tokens are never a long sequence.
  if (subject.model->long_context_threshold > 0) {
    QUERN_ASSIGN_OR_RETURN(arguments.inputs["long_context"], i32_vector(zeros));
  }
  arguments.states["kv"] = &kv;
  QUERN_ASSIGN_OR_RETURN(const RunResult result, executable.run(arguments));
  QUERN_TRY(kv.commit(0, count));
  return result.find("logits")->read_as<float>();
}

// A store with sequence 0.
Result<std::unique_ptr<KvStore>> make_kv(const GateSubject& subject, Device& device) {
  QUERN_ASSIGN_OR_RETURN(auto kv, device.make_kv_store(*subject.model->graph.find_state("kv")));
  QUERN_ASSIGN_OR_RETURN([[maybe_unused]] const int32_t sequence, kv->create_sequence());
  return kv;
}

// Any second token will do, as long as it is not the first.
int32_t second_token(const GateSubject& subject) {
  // Differs from model to model; the middle of the table is no control token as a rule.
  const auto token = static_cast<int32_t>(subject.model->vocab_size / 2);
  return token == subject.first_token ? 0 : token;
}

// As decoding does it: one token a run.
Result<std::vector<float>> run_candidate(const GateSubject& subject, Executable& executable) {
  QUERN_ASSIGN_OR_RETURN(const auto kv, make_kv(subject, *subject.device));
  QUERN_TRY(feed(subject, executable, *kv, {subject.first_token}, 0));
  return feed(subject, executable, *kv, {second_token(subject)}, 1);
}

// The whole file was read; nothing reads it in this way again.
void release_pages(const WeightSource& weights) {
  const FileMappings mappings = FileMappings::read();
  for (const WeightInfo& info : weights.list()) {
    const auto tensor = weights.weight(info.name);
    const auto bytes = tensor ? tensor->host_view() : tl::unexpected(Error{});
    if (bytes) mappings.release(*bytes);
  }
}

// Both tokens in one run, which is cheaper here and the same by definition.
Result<std::vector<float>> run_reference(const GateSubject& subject) {
  if (subject.before_reference) subject.before_reference(subject.model->num_parameters);
  QUERN_ASSIGN_OR_RETURN(const auto device, subject.reference->open({}));
  QUERN_ASSIGN_OR_RETURN(
      const auto executable,
      compile_and_load(subject.model->graph, *subject.reference, *device, subject.weights, {}));
  QUERN_ASSIGN_OR_RETURN(const auto kv, make_kv(subject, *device));
  auto logits = feed(subject, *executable, *kv, {subject.first_token, second_token(subject)}, 0);
  release_pages(*subject.weights);
  return logits;
}

// Between the samples that name a model here, beside the stamp of its files: each load pays for
// them.
// 256 KiB apart: some thousand samples of a model of 1 GB.
constexpr size_t kHashStride = size_t{256} << 10;
// Files kept at most, of logits and of passes; the oldest make room.
// A row of logits is up to 1 MB, a pass is empty.
constexpr size_t kMaxKept = 128;

// The file that keeps the reference's logits of this model; empty where none is kept.
std::string cache_path(const GateSubject& subject) {
  if (subject.cache_folder.empty()) return "";
  Hasher hasher;
  // Another build may compute other bits, so its files are not this build's.
  hasher.text(QUERN_VERSION).number(semantic_hash(subject.model->graph));
  hasher.number(static_cast<uint64_t>(subject.first_token));
  hasher.text(subject.weights->stamp());
  hash_weights(*subject.weights, hasher, kHashStride);
  const std::string name = fmt::format("parity-{:016x}.npy", hasher.digest());
  return (fs::path(subject.cache_folder) / name).string();
}

// Removes the oldest kept files beyond the limit.
void make_room(const fs::path& folder) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> kept;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    // The folder may hold other files: they are not ours to remove.
    if (!entry.path().filename().string().starts_with("parity-")) continue;
    const auto time = fs::last_write_time(entry.path(), error);
    if (!error) kept.emplace_back(time, entry.path());
  }
  std::ranges::sort(kept);
  // One less than the limit stays, as one is about to be written.
  for (size_t i = 0; i + kMaxKept <= kept.size(); ++i) fs::remove(kept[i].second, error);
}

// Nothing where there is no file, or one of another shape.
std::optional<std::vector<float>> read_cached(const std::string& path, const GateSubject& subject) {
  if (path.empty()) return std::nullopt;
  const auto array = read_npy(path);
  // A damaged or foreign file counts as none.
  if (!array || array->tensor.dtype() != DType::kF32 ||
      !(array->tensor.shape() == Shape{subject.model->vocab_size})) {
    return std::nullopt;
  }
  auto logits = array->tensor.read_as<float>();
  return logits ? std::optional(std::move(*logits)) : std::nullopt;
}

// A cache that cannot be written costs time later and nothing else.
void write_cached(const std::string& path, const std::vector<float>& logits) {
  if (path.empty()) return;
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  make_room(fs::path(path).parent_path());
  const auto tensor =
      Tensor::from<float>(DType::kF32, Shape{static_cast<int64_t>(logits.size())}, logits);
  if (tensor) static_cast<void>(write_npy(path, *tensor).has_value());
}

// By the rule for the device's promises.
Result<void> compare(const GateSubject& subject, const std::vector<float>& logits,
                     const std::vector<float>& expected) {
  return check_parity(compare_logits(logits, expected), subject.device->capabilities().correctness,
                      subject.numerics, subject.device_name);
}

}  // namespace

Result<ParityGate> ParityGate::prepare(const GateSubject& subject) {
  // Token 0 would be out of range already.
  if (subject.model->vocab_size < 1) return fail::invalid("The model has no vocabulary.");
  ParityGate gate(subject);
  gate.has_passed_ = has_passed(passed_path(subject));
  if (gate.has_passed_) return gate;
  const std::string path = cache_path(subject);
  if (auto kept = read_cached(path, subject)) {
    gate.expected_ = std::move(*kept);
    gate.is_kept_ = true;
    return gate;
  }
  QUERN_ASSIGN_OR_RETURN(gate.expected_, run_reference(subject));
  write_cached(path, gate.expected_);
  return gate;
}

// Two tokens suffice: the second one attends, rotates and reads the cache. Only passes are
// remembered: a device that fails is asked again at each load.
Result<void> ParityGate::check(Executable& executable) const {
  if (has_passed_) return {};
  QUERN_ASSIGN_OR_RETURN(const std::vector<float> logits, run_candidate(subject_, executable));
  auto verdict = compare(subject_, logits, expected_);
  if (!verdict && is_kept_) {
    // A kept row that refuses the device is not believed: the reference runs and decides.
    QUERN_ASSIGN_OR_RETURN(const std::vector<float> expected, run_reference(subject_));
    write_cached(cache_path(subject_), expected);
    verdict = compare(subject_, logits, expected);
  }
  if (!verdict && !subject_.pack_cache.empty()) {
    Error error = verdict.error();
    error.message += fmt::format(
        " Or a file of packed weights in '{}' is damaged: without packed-*.bin there the weights "
        "are "
        "packed anew.",
        subject_.pack_cache);
    return tl::unexpected(std::move(error));
  }
  QUERN_TRY(verdict);
  // Named after loading, which may have written packed weights.
  remember_pass(passed_path(subject_));
  return {};
}

}  // namespace quern
