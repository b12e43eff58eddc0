// Profiles of runs, averaged.
// Two runs to warm up are left out; the others are averaged node by node.
#include "cli/node_times.h"

#include "base/fail.h"
#include "quern/op.h"

namespace quern::cli {
namespace {

// A backend may still prepare weights in its second run.
constexpr int64_t kWarmUps = 2;

// Nodes that did not run have negative times.
std::vector<double> mean_times(const Graph& graph, const RunProfile& profile, int64_t repetitions) {
  std::vector<double> seconds(graph.nodes().size(), -1);
  for (const NodeTime& time : profile.nodes) {
    double& sum = seconds[static_cast<size_t>(time.node)];
    // A node's entries add up over the runs, so the sum is the mean.
    sum = (sum < 0 ? 0 : sum) + time.seconds / static_cast<double>(repetitions);
  }
  return seconds;
}

// Through the engine, as generation runs it.
class ModelTimes final : public NodeTimes {
 public:
  // The graph of the artifact must be that of the engine.
  ModelTimes(std::unique_ptr<Engine> engine, const Artifact& artifact)
      : engine_(std::move(engine)), artifact_(artifact) {}

  Result<std::vector<double>> measure(const RunSize& size, int64_t repetitions) override {
    engine_->allow_context(size.tokens + size.cached_rows);
    std::vector<int32_t> tokens(static_cast<size_t>(size.tokens + size.cached_rows));
    const auto vocabulary = static_cast<uint64_t>(engine_->model().vocab_size);
    for (size_t i = 0; i < tokens.size(); ++i) {
      // Knuth's multiplicative hash: tokens spread over the vocabulary and over the experts of a
      // mixture, the same in every run.
      tokens[i] = static_cast<int32_t>((i * 2654435761U) % vocabulary);
    }
    const auto cached =
        std::span<const int32_t>(tokens).first(static_cast<size_t>(size.cached_rows));
    const auto fed = std::span<const int32_t>(tokens).subspan(cached.size());
    QUERN_ASSIGN_OR_RETURN(const int32_t sequence, engine_->kv().create_sequence());
    if (!cached.empty()) {
      // As many at a time as generation reads a long prompt.
      QUERN_TRY(engine_->forward_chunked({sequence, cached, Feed::Logits::kNone}, 512));
    }
    RunProfile profile;
    // Every run starts from the same cache, so that all do the same work.
    for (int64_t i = 0; i < kWarmUps + repetitions; ++i) {
      engine_->profile_into(i < kWarmUps ? nullptr : &profile);
      const Feed feed{sequence, fed, Feed::Logits::kLast};
      const auto done = engine_->forward({&feed, 1});
      engine_->profile_into(nullptr);
      if (!done) return tl::unexpected(done.error());
      // Rows of the run are taken back.
      QUERN_TRY(engine_->kv().truncate(sequence, size.cached_rows));
    }
    QUERN_TRY(engine_->kv().remove_sequence(sequence));
    return mean_times(artifact_.graph(), profile, repetitions);
  }

 private:
  std::unique_ptr<Engine> engine_;
  const Artifact& artifact_;
};

// On zeros: times of dense work do not depend on values.
class GraphTimes final : public NodeTimes {
 public:
  // Borrows the artifact.
  GraphTimes(std::unique_ptr<Executable> executable, const Artifact& artifact)
      : executable_(std::move(executable)), artifact_(artifact) {}

  Result<std::vector<double>> measure(const RunSize& size, int64_t repetitions) override {
    RunArguments arguments;
    for (const NodeId id : artifact_.graph().inputs()) {
      const Node& node = artifact_.graph().node(id);
      const TensorType& type = artifact_.graph().value(node.outputs[0]).type;
      QUERN_ASSIGN_OR_RETURN(const Shape shape, type.resolve(size.symbols));
      // 0 is a valid index, too.
      QUERN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::zeros(type.dtype, shape));
      arguments.inputs.insert_or_assign(node.name, std::move(tensor));
    }
    RunProfile profile;
    for (int64_t i = 0; i < kWarmUps + repetitions; ++i) {
      arguments.profile = i < kWarmUps ? nullptr : &profile;
      QUERN_TRY(executable_->run(arguments));
    }
    return mean_times(artifact_.graph(), profile, repetitions);
  }

 private:
  std::unique_ptr<Executable> executable_;
  const Artifact& artifact_;
};

}  // namespace

// Loads the model once for all sizes.
Result<std::unique_ptr<NodeTimes>> NodeTimes::of_model(const EngineFlags& flags,
                                                       const Artifact& artifact, bool is_quiet) {
  QUERN_ASSIGN_OR_RETURN(auto engine, flags.open(is_quiet));
  return std::make_unique<ModelTimes>(std::move(engine), artifact);
}

// Errors say what such a graph lacks.
Result<std::unique_ptr<NodeTimes>> NodeTimes::of_graph(const Artifact& artifact, Device& device) {
  const Graph& graph = artifact.graph();
  if (!graph.states().empty()) {
    return fail::unimplemented("A graph with states is measured as part of a model file only.");
  }
  for (const Node& node : graph.nodes()) {
    if (node.op->id != "graph.weight") continue;
    return fail::unimplemented("The graph has the weight '{}'; measuring needs a model file.",
                               node.name);
  }
  QUERN_ASSIGN_OR_RETURN(auto executable, device.load(artifact, nullptr, {}));
  return std::make_unique<GraphTimes>(std::move(executable), artifact);
}

}  // namespace quern::cli
