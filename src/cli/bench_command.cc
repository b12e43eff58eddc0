// quern bench: prefill and decode speed of a model.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "hw/memory_roof.h"

namespace quern::cli {
namespace {

struct BenchFlags {
  EngineFlags engine;
  int64_t prefill = 512;
  int64_t decode = 64;
  int64_t repetitions = 3;
  bool is_json = false;
  bool has_profile = false;
};

// Speeds of one repetition, in tokens per second.
struct Measurement {
  double prefill_per_second = 0;
  double decode_per_second = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Prefill of one sequence in chunks of 512, then decode one token at a time. The tokens are any:
// speed does not depend on them.
Result<Measurement> measure(Engine& engine, const BenchFlags& flags) {
  QUERN_ASSIGN_OR_RETURN(const int32_t sequence, engine.kv().create_sequence());
  std::vector<int32_t> tokens(static_cast<size_t>(flags.prefill));
  const auto vocab = static_cast<uint64_t>(engine.model().vocab_size);
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<int32_t>((i * 2654435761U) % vocab);
  }
  Measurement result;
  auto start = std::chrono::steady_clock::now();
  QUERN_TRY(engine.forward_chunked({sequence, tokens, Feed::Logits::kLast}, 512));
  result.prefill_per_second = static_cast<double>(flags.prefill) / seconds_since(start);
  start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < flags.decode; ++i) {
    const Feed feed{sequence, {tokens.data() + i % flags.prefill, 1}, Feed::Logits::kLast};
    QUERN_TRY(engine.forward({&feed, 1}));
  }
  result.decode_per_second = static_cast<double>(flags.decode) / seconds_since(start);
  QUERN_TRY(engine.kv().remove_sequence(sequence));
  return result;
}

// The upper of the two middle values of an even count.
double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Bytes of weights that one decoded token reads: all of them but the embedding table, unless it is
// the head too.
double bytes_per_token(const Engine& engine) {
  double bytes = 0;
  const bool is_tied = engine.file().find("output.weight") == nullptr;
  for (const GgufTensor& tensor : engine.file().tensors()) {
    if (tensor.name == "token_embd.weight" && !is_tied) continue;
    bytes += static_cast<double>(tensor.size_bytes);
  }
  return bytes;
}

// Kinds of work of one more measurement, those that took longest first.
Result<void> print_profile(Engine& engine, const BenchFlags& flags) {
  engine.executable().set_profiling(true);
  QUERN_TRY(measure(engine, flags));
  engine.executable().set_profiling(false);
  auto entries = engine.executable().take_profile();
  std::ranges::sort(entries, std::greater(), &ProfileEntry::seconds);
  for (const ProfileEntry& e : entries) {
    fmt::print("{:26} {:44} {:6} runs {:9.2f} us {:9.3f} ms {:6.1f} Gop/s {:6.1f} GB/s\n", e.op,
               e.detail, e.runs, 1e6 * e.seconds / static_cast<double>(e.runs), 1e3 * e.seconds,
               2e-9 * e.products / e.seconds, 1e-9 * e.bytes / e.seconds);
  }
  return {};
}

// The roof is measured before each repetition, so that both see the same machine.
Result<void> bench(const BenchFlags& flags) {
  QUERN_ASSIGN_OR_RETURN(const auto engine, flags.engine.open(flags.is_json));
  engine->allow_context(flags.prefill + flags.decode);
  QUERN_TRY(measure(*engine, flags));  // warm-up
  std::vector<double> prefill;
  std::vector<double> decode;
  std::vector<double> roof;
  const int threads = engine->device().capabilities().num_threads;
  for (int64_t i = 0; i < flags.repetitions; ++i) {
    roof.push_back(probe_read_bandwidth(threads));
    QUERN_ASSIGN_OR_RETURN(const Measurement m, measure(*engine, flags));
    prefill.push_back(m.prefill_per_second);
    decode.push_back(m.decode_per_second);
  }
  const double bandwidth = median(decode) * bytes_per_token(*engine);
  const double share = bandwidth / median(roof);
  if (flags.has_profile) {
    QUERN_TRY(print_profile(*engine, flags));
  }
  if (flags.is_json) {
    const nlohmann::json json = {{"model", flags.engine.model},
                                 {"arch", engine->device().capabilities().arch},
                                 {"threads", threads},
                                 {"numerics", flags.engine.numerics},
                                 {"activations", activations_name(engine->model().activations)},
                                 {"prefill_tokens", flags.prefill},
                                 {"prefill_tokens_per_second", median(prefill)},
                                 {"decode_tokens_per_second", median(decode)},
                                 {"decode_bytes_per_second", bandwidth},
                                 {"read_roof_bytes_per_second", median(roof)},
                                 {"decode_share_of_roof", share}};
    fmt::print("{}\n", json.dump());
    return {};
  }
  fmt::print("{} on {}, {} threads, {} numerics, {} activations\n", flags.engine.model,
             engine->device().capabilities().arch, threads, flags.engine.numerics,
             activations_name(engine->model().activations));
  fmt::print("prefill {:>5} tokens  {:>9.1f} tokens/s\n", flags.prefill, median(prefill));
  fmt::print(
      "decode  {:>5} tokens  {:>9.1f} tokens/s, {:.1f} GB/s of weights, {:.0f} % of the "
      "{:.1f} GB/s read roof\n",
      flags.decode, median(decode), bandwidth / 1e9, 100 * share, median(roof) / 1e9);
  return {};
}

}  // namespace

void set_up_bench(OptionSet& command, Action& action) {
  auto flags = std::make_shared<BenchFlags>();
  flags->engine.add_to(command);
  command.add_option("--prefill", flags->prefill, "Tokens of the prompt")
      .range(1, 1 << 20)
      .show_default();
  command.add_option("--decode", flags->decode, "Tokens decoded after it")
      .range(1, 1 << 20)
      .show_default();
  command.add_option("--repetitions", flags->repetitions, "Runs; medians are printed")
      .range(1, 1000)
      .show_default();
  command.add_flag("--profile", flags->has_profile, "Time of each kind of work");
  command.add_flag("--json", flags->is_json, "Result as JSON");
  action = [flags] { return bench(*flags); };
}

}  // namespace quern::cli
