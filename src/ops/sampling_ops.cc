// Choosing a token from logits: greedy, top k, top p.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/fail.h"
#include "ops/elementwise.h"
#include "ops/lanes.h"
#include "ops/math/strict_math.h"
#include "ops/max_min.h"
#include "ops/random_access.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using namespace op_parts;
using namespace type_rules;
using Types = std::vector<TensorType>;

// One distribution of rank 1; a batch is a node for each row.
Result<void> check_logits(const TensorType& logits) {
  QUERN_TRY(expect_float("logits", logits));
  return expect_rank("logits", logits, 1);
}

// One id, i32 [1].
Result<Types> infer_greedy(const InferContext& context) {
  QUERN_TRY(check_logits(*context.inputs[0]));
  return Types{{DType::kI32, {Dim::constant(1)}}};
}

// Outputs token [1], kept_ids [kept], kept_probs [kept].
Result<Types> sample_types(const InferContext& context, const Dim& kept) {
  const double temperature = context.attributes.number("temperature");
  // NaN fails the comparison. Infinity would make all weights equal, whatever the logits are; 0 is
  // allowed and means greedy.
  if (!(temperature >= 0) || std::isinf(temperature)) {
    return fail::invalid("Attribute 'temperature' is {}; it must be finite and 0 or more.",
                         temperature);
  }
  return Types{
      {DType::kI32, {Dim::constant(1)}}, {DType::kI32, {kept}}, {context.inputs[0]->dtype, {kept}}};
}

// The number kept is min(top_k, N). Beside a symbol it is the symbol itself, because the smaller of
// the two is no extent that can be written; then places are padded.
Result<Types> infer_top_k(const InferContext& context) {
  QUERN_TRY(check_logits(*context.inputs[0]));
  const int64_t k = context.attributes.integer("top_k");
  if (k < 1) return fail::invalid("Attribute 'top_k' is {}; it must be 1 or more.", k);
  const Dim& vocabulary = context.inputs[0]->dims[0];
  const bool keeps_all = !vocabulary.is_constant() || k > vocabulary.factor;
  return sample_types(context, keeps_all ? vocabulary : Dim::constant(k));
}

// How many tokens reach p shows only in the run, so the outputs have room for all of them.
Result<Types> infer_top_p(const InferContext& context) {
  QUERN_TRY(check_logits(*context.inputs[0]));
  const double p = context.attributes.number("top_p");
  if (p > 0 && p <= 1) return sample_types(context, context.inputs[0]->dims[0]);
  return fail::invalid("Attribute 'top_p' is {}; it must be above 0 and at most 1.", p);
}

// The index of the largest logit, the lowest among equals.
template <class T>
Result<int64_t> greedy(const FloatInput<T>& logits) {
  if (logits.size() == 0) {
    return fail::invalid("Port 'logits' has 0 elements; it needs 1 or more to sample from.");
  }
  int64_t best = 0;
  // From 0, so that a NaN in the first place is found as well.
  for (int64_t i = 0; i < logits.size(); ++i) {
    if (logits[i] != logits[i]) return fail::invalid("Element {} of 'logits' is NaN.", i);
    if (logits[i] > logits[best]) best = i;
  }
  return best;
}

// The same, where there is a token to choose: -infinity forbids one, +infinity is no weight.
template <class T>
Result<int64_t> finite_greedy(const FloatInput<T>& logits) {
  QUERN_ASSIGN_OR_RETURN(const int64_t best, greedy(logits));
  if (!std::isinf(logits[best])) return best;
  return fail::invalid("Element {} of 'logits', the largest, is {}; it must be finite.", best,
                       logits[best]);
}

// The argmax alone: no random number, no temperature.
struct GreedyKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> logits(context.inputs[0]);
    QUERN_ASSIGN_OR_RETURN(const int64_t best, finite_greedy(logits));
    context.outputs[0].as<int32_t>()[0] = static_cast<int32_t>(best);
    return {};
  }
};

// Candidates in falling order of logits (stable), with exp(logit / temperature - max).
template <class T>
struct Candidates {
  std::vector<int32_t> ids;
  std::vector<T> weights;
  T total = 0;  // lanes(32) sum over the vocabulary in its own order
};

// max = best / t; weight = exp(logit / t - max), each step rounded. The total is taken before
// sorting, so that no order of ties can touch it.
template <class T>
Result<Candidates<T>> rank_candidates(const FloatInput<T>& logits, double temperature) {
  QUERN_ASSIGN_OR_RETURN(const int64_t best, finite_greedy(logits));
  Candidates<T> result;
  const T t = static_cast<T>(temperature);
  // Above 0 in f64 may still round to 0, and dividing by a tiny number may overflow: then the
  // weights would be NaN.
  if (!std::isfinite(logits[best] / t) || t == 0) {
    return fail::invalid("Attribute 'temperature' is {}; it is too small for the largest logit {}.",
                         temperature, static_cast<double>(logits[best]));
  }
  const T max = logits[best] / t;
  const auto weight = [&](int64_t i) { return strict_exp(logits[i] / t - max); };
  result.total = lanes_sum<T>(logits.size(), weight);
  result.ids.resize(static_cast<size_t>(logits.size()));
  std::iota(result.ids.begin(), result.ids.end(), 0);
  // Stable: equal logits stay in the order of their ids.
  std::ranges::stable_sort(result.ids, [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  // The same steps as in the total, hence the same bits.
  for (const int32_t id : result.ids) result.weights.push_back(weight(id));
  return result;
}

// Writes the kept candidates with renormalised probabilities and draws one of them.
template <class T>
void draw(const KernelContext& context, const Candidates<T>& candidates, size_t num_kept) {
  // A plain sum in falling order of weights, over what is kept.
  T sum = 0;
  for (size_t i = 0; i < num_kept; ++i) sum = sum + candidates.weights[i];
  FloatOutput<T> probabilities(context.outputs[2]);
  auto* kept = context.outputs[1].as<int32_t>();
  // No id is -1, and padding has no share.
  std::fill_n(kept, probabilities.size(), -1);
  std::fill_n(probabilities.data(), probabilities.size(), T(0));
  // One number of 24 bits for the draw, word 0 of the node's sequence.
  const T u = random_words(context).uniform_f32(0);
  // Rounded probabilities may sum to less than u: then the last that has a share is drawn.
  size_t chosen = 0;
  bool is_drawn = false;
  T reached = 0;
  for (size_t i = num_kept; i-- > 0;) kept[i] = candidates.ids[i];
  for (size_t i = 0; i < num_kept; ++i) {
    const T p = candidates.weights[i] / sum;
    probabilities[static_cast<int64_t>(i)] = p;
    reached = reached + p;
    // `chosen` follows the tokens that have a share until the running sum passes u, and then stays.
    if (!is_drawn && p > T(0)) chosen = i;
    is_drawn = is_drawn || u < reached;
  }
  context.outputs[0].as<int32_t>()[0] = candidates.ids[chosen];
}

// Temperature 0 keeps the largest logit alone.
template <class T>
Result<void> sample_greedily(const KernelContext& context, const FloatInput<T>& logits) {
  QUERN_ASSIGN_OR_RETURN(const int64_t best, finite_greedy(logits));
  draw(context, Candidates<T>{{static_cast<int32_t>(best)}, {T(1)}, T(1)}, 1);
  return {};
}

// The k largest logits; a tie at the border goes to the lower ids.
struct TopKKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> logits(context.inputs[0]);
    const double temperature = context.attributes.number("temperature");
    if (temperature == 0) return sample_greedily(context, logits);
    QUERN_ASSIGN_OR_RETURN(const auto candidates, rank_candidates(logits, temperature));
    const auto k = static_cast<size_t>(context.attributes.integer("top_k"));
    draw(context, candidates, std::min(k, candidates.ids.size()));
    return {};
  }
};

// Shares of the whole vocabulary add up in falling order until they reach top_p, which rounds to T.
// The token that crosses is kept, and there is always one.
struct TopPKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> logits(context.inputs[0]);
    const double temperature = context.attributes.number("temperature");
    if (temperature == 0) return sample_greedily(context, logits);
    QUERN_ASSIGN_OR_RETURN(const auto candidates, rank_candidates(logits, temperature));
    const T top_p = static_cast<T>(context.attributes.number("top_p"));
    T reached = 0;
    size_t num_kept = 0;
    while (num_kept < candidates.ids.size() && (num_kept == 0 || reached < top_p)) {
      reached = reached + candidates.weights[num_kept++] / candidates.total;
    }
    draw(context, candidates, num_kept);
    return {};
  }
};

// What both samplers share. `limit` is top_k or top_p; the words of the document hold for both.
OpDef sample_op(std::string id, std::string doc, AttributeDef limit, OpDef::Infer infer,
                OpDef::Kernel kernel) {
  return {.id = std::move(id),
          .doc = std::move(doc) +
                 " Weights are exp(logit / temperature - max) in falling order of logits, ties by "
                 "index; probabilities are weight / sum of the kept; the token is the first whose "
                 "running sum passes u, 24 random bits. Kept ids are padded with -1, probabilities "
                 "with 0. Temperature 0 is greedy; a NaN logit is an error.",
          .shape_rule =
              "logits [N] floats; token i32 [1], kept_ids i32 and kept_probs "
              "of logits' dtype [min(top_k, N)] (top_p: [N]).",
          .edge_rule =
              "NaN, +infinity, only -infinity and no logits are errors; "
              "-infinity is never drawn.",
          .f32_bound = 8,
          .inputs = {port("logits")},
          .outputs = {port("token"), port("kept_ids"), port("kept_probs")},
          .attributes = {std::move(limit), number("temperature", 1.0, "0 or more."),
                         seed_attribute(), node_id_attribute()},
          .effect = Effect::kRandom,
          .infer = infer,
          .reference = kernel};
}

}  // namespace

void register_sampling_ops(OpRegistry& registry) {
  registry.add({.id = "sampling.greedy_sample",
                .doc = "The index of the largest logit, the lowest among equals. NaN is an error.",
                .shape_rule = "logits [N] floats; token i32 [1].",
                .edge_rule = "NaN, +infinity, only -infinity and no logits are errors.",
                .f32_bound = 0,
                .inputs = {port("logits")},
                .outputs = {port("token")},
                .infer = infer_greedy,
                .reference = float_kernel<GreedyKernel>});
  registry.add(sample_op("sampling.top_k_sample", "One of the k likeliest tokens.",
                         integer("top_k", kRequired, "How many to keep, 1 or more."), infer_top_k,
                         float_kernel<TopKKernel>));
  registry.add(sample_op("sampling.top_p_sample",
                         "One of the likeliest tokens whose probabilities reach top_p, the one "
                         "that crosses it included.",
                         number("top_p", kRequired, "Probability to keep, (0, 1]."), infer_top_p,
                         float_kernel<TopPKernel>));
}

}  // namespace quern
