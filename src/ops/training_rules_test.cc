// Type rules of losses, optimisers, metrics, sampling and the operations with two forms.
#include <gtest/gtest.h>

#include "support/op_typing.h"

namespace quern::test {
namespace {

// Losses of all elements.
// Losses compare two tensors of one float type without broadcasting and give a scalar of that type;
// gradients have the type of `pred`.
TEST(LossRules, OneTypeAndAScalar) {
  expect_types({
      {"train.loss.mse", "f32[T, 3]; f32[T, 3]", "", "f32[]"},
      {"train.loss.mse", "f32[3]; f32[4]", "",
       "train.loss.mse: Port 'target' has type f32[4]; it needs the type of 'pred', f32[3]."},
      {"train.loss.mse", "f32[3]; f64[3]", "",
       "train.loss.mse: Port 'target' has type f64[3]; it needs the type of 'pred', f32[3]."},
      {"train.loss.mse", "i32[3]; i32[3]", "",
       "train.loss.mse: Port 'pred' has type i32[3]; it needs floating-point elements."},
      {"losses.mae", "f16[2, 2]; f16[2, 2]", "", "f16[]"},
      // NaN is not above 0. An infinite delta is allowed: the loss is then quadratic everywhere.
      {"losses.huber", "f32[3]; f32[3]", "{delta = 0}",
       "losses.huber: Attribute 'delta' is 0; it must be above 0."},
      {"losses.huber", "f32[3]; f32[3]", "{delta = nan}",
       "losses.huber: Attribute 'delta' is nan; it must be above 0."},
      {"losses.huber", "f32[3]; f32[3]", "{delta = inf}", "f32[]"},
      // The target is the first port here, so the other one is named.
      {"losses.kl_divergence", "f32[3]; f32[3, 1]", "",
       "losses.kl_divergence: Port 'pred' has type f32[3, 1]; it needs the type of 'target', "
       "f32[3]."},
      {"losses.binary_cross_entropy", "f32[3]", "",
       "losses.binary_cross_entropy needs its input 'target'."},
      // A gradient keeps the extents of the prediction, symbols too.
      {"train.loss.mse_grad", "f32[T]; f32[T]", "", "f32[T]"},
      {"train.grad.mse", "f32[3]; f32[2]", "",
       "train.grad.mse: Port 'target' has type f32[2]; it needs the type of 'pred', f32[3]."},
  });
}

// Told apart by the dtype of the targets.
// Float targets are shares of the type of the logits, i32 and i64 ids have one entry for each row.
// A vector of logits is one row, whose id is a scalar.
TEST(CrossEntropyRules, ProbabilitiesOrClassIds) {
  expect_types({
      {"train.loss.cross_entropy", "f32[T, 5]; f32[T, 5]", "", "f32[]"},
      {"train.loss.cross_entropy", "f32[5]; f32[5]", "", "f32[]"},
      {"train.loss.cross_entropy", "f32[T, 5]; i64[T]", "", "f32[]"},
      {"train.loss.cross_entropy", "f32[5]; i32[]", "", "f32[]"},
      {"train.loss.cross_entropy_grad", "f16[T, 5]; i32[T]", "", "f16[T, 5]"},
      // A batch of more than one axis is the caller's to flatten.
      {"train.loss.cross_entropy", "f32[2, 3, 5]; f32[2, 3, 5]", "",
       "train.loss.cross_entropy: Port 'logits' has type f32[2, 3, 5]; it needs rank 1 or 2."},
      {"train.loss.cross_entropy", "f32[]; f32[]", "",
       "train.loss.cross_entropy: Port 'logits' has type f32[]; it needs rank 1 or 2."},
      {"train.loss.cross_entropy", "f32[4, 5]; f32[5]", "",
       "train.loss.cross_entropy: Port 'targets' has type f32[5]; it needs the type of 'logits', "
       "f32[4, 5]."},
      {"train.loss.cross_entropy", "f32[4, 5]; i32[5]", "",
       "train.loss.cross_entropy: Port 'targets' has type i32[5]; it needs one class id for each "
       "row of f32[4, 5]."},
      {"train.loss.cross_entropy", "f32[4, 5]; i32[4, 1]", "",
       "train.loss.cross_entropy: Port 'targets' has type i32[4, 1]; it needs one class id for "
       "each row of f32[4, 5]."},
      {"train.loss.cross_entropy", "f32[5]; i32[1]", "",
       "train.loss.cross_entropy: Port 'targets' has type i32[1]; it needs one class id for each "
       "row of f32[5]."},
      // u8 is no id, so it is judged as a tensor of shares.
      {"train.loss.cross_entropy", "f32[4, 5]; u8[4]", "",
       "train.loss.cross_entropy: Port 'targets' has type u8[4]; it needs the type of 'logits', "
       "f32[4, 5]."},
      {"train.loss.cross_entropy", "i8[4, 5]; i32[4]", "",
       "train.loss.cross_entropy: Port 'logits' has type i8[4, 5]; it needs floating-point "
       "elements."},
      {"train.grad.cross_entropy", "f32[4, 5]; f64[4, 5]", "",
       "train.grad.cross_entropy: Port 'targets' has type f64[4, 5]; it needs the type of "
       "'logits', f32[4, 5]."},
  });
}

// f32 for narrow parameters.
// In: params, grads, states, step. Out: params, states, step. States are f32, and f64 for f64
// parameters, so that what comes out goes in again.
TEST(OptimizerRules, StatesHaveTheTypeOfTheirOutputs) {
  expect_types({
      {"train.optimizer.sgd", "f32[T]; f32[T]", "", "f32[T]; f32[T]; i64[]"},
      {"train.optimizer.adam", "f16[2, 3]; f16[2, 3]", "",
       "f16[2, 3]; f32[2, 3]; f32[2, 3]; i64[]"},
      {"train.optimizer.adam", "f64[3]; f64[3]; f64[3]; f64[3]; i64[]", "",
       "f64[3]; f64[3]; f64[3]; i64[]"},
      {"train.optimizer.adam", "f16[3]; f16[3]; f32[3]; f32[3]; i64[]", "",
       "f16[3]; f32[3]; f32[3]; i64[]"},
      // A state of a narrow type, and one of another extent.
      {"train.optimizer.adam", "f32[3]; f32[3]; f16[3]", "",
       "train.optimizer.adam: Port 'm' has type f16[3]; it must be f32[3], as its output."},
      {"train.optimizer.adam", "f32[3]; f32[3]; f32[4]", "",
       "train.optimizer.adam: Port 'm' has type f32[4]; it must be f32[3], as its output."},
      // `_` leaves states out. The step is an i64 scalar and nothing else.
      {"train.optimizer.adam", "f32[3]; f32[3]; _; _; i32[]", "",
       "train.optimizer.adam: Port 'step' has type i32[]; it must be i64[], as its output."},
      {"train.optimizer.adam", "f32[3]; f32[3]; _; _; i64[1]", "",
       "train.optimizer.adam: Port 'step' has type i64[1]; it must be i64[], as its output."},
      {"train.optimizer.adam", "f32[3]; f32[4]", "",
       "train.optimizer.adam: Port 'grads' has type f32[4]; it needs the type of 'params', "
       "f32[3]."},
      {"train.optimizer.adam", "f32[3]; f64[3]", "",
       "train.optimizer.adam: Port 'grads' has type f64[3]; it needs the type of 'params', "
       "f32[3]."},
      {"train.optimizer.adam", "i32[3]; i32[3]", "",
       "train.optimizer.adam: Port 'params' has type i32[3]; it needs floating-point elements."},
      {"train.optimizer.adam", "f32[3]", "", "train.optimizer.adam needs its input 'grads'."},
      {"train.optimizer.adam", "f32[3]; f32[3]", R"({beta1 = "0.9"})",
       R"(Attribute 'beta1' of train.optimizer.adam is "0.9"; it must be a number.)"},
      // lars alone has no default rate.
      {"train.optimizer.lars", "f32[3]; f32[3]", "",
       "train.optimizer.lars needs the attribute 'lr'."},
      {"train.optimizer.lars", "f32[3]; f32[3]", "{lr = 0.1}", "f32[3]; f32[3]; i64[]"},
      // A state in the middle may be given while its neighbours are not.
      {"train.optimizer.rmsprop", "f32[3]; f32[3]; _; f32[3]; _; i64[]", "",
       "f32[3]; f32[3]; f32[3]; f32[3]; i64[]"},
      {"train.optimizer.lion", "f32[3]; f32[3]; f64[3]", "",
       "train.optimizer.lion: Port 'm' has type f64[3]; it must be f32[3], as its output."},
      // lbfgs also keeps the last parameters and gradients [N], two histories [hist_size, N], and
      // two counts.
      {"train.optimizer.lbfgs", "f32[N]; f32[N]", "{hist_size = 3}",
       "f32[N]; f32[N]; f32[N]; f32[3, N]; f32[3, N]; i64[2]"},
      {"train.optimizer.lbfgs", "f32[4]; f32[4]; f32[4]; f32[4]; f32[3, 4]; f32[3, 4]; i64[2]",
       "{hist_size = 3}", "f32[4]; f32[4]; f32[4]; f32[3, 4]; f32[3, 4]; i64[2]"},
      {"train.optimizer.lbfgs", "f32[4]; f32[4]; _; _; f32[4, 3]", "{hist_size = 3}",
       "train.optimizer.lbfgs: Port 's_history' has type f32[4, 3]; it must be f32[3, 4]."},
      {"train.optimizer.lbfgs", "f32[4]; f32[4]; _; _; _; _; i64[3]", "",
       "train.optimizer.lbfgs: Port 'counts' has type i64[3]; it must be i64[2]."},
      // From 1 to 4096; what a line search would need is no tensor.
      {"train.optimizer.lbfgs", "f32[4]; f32[4]", "{hist_size = 0}",
       "train.optimizer.lbfgs: Attribute 'hist_size' is 0; it must be from 1 to 4096."},
      {"train.optimizer.lbfgs", "f32[4]; f32[4]", "{hist_size = 4097}",
       "train.optimizer.lbfgs: Attribute 'hist_size' is 4097; it must be from 1 to 4096."},
      {"train.optimizer.lbfgs", "f32[4]; f32[4]", "{line_search = true}",
       "train.optimizer.lbfgs: A line search evaluates the loss, which an operation cannot; the "
       "trainer does it."},
      {"train.optimizer.lbfgs", "f32[2, 2]; f32[2, 2]", "",
       "train.optimizer.lbfgs: Port 'params' has type f32[2, 2]; it needs rank 1."},
      {"train.optimizer.lbfgs", "f32[4]; f32[5]", "",
       "train.optimizer.lbfgs: Port 'grads' has type f32[5]; it must be f32[4]."},
      // Weights [out, in], activity before [in] and after [out]; bcm asks for a threshold of each
      // output as well.
      {"train.optimizer.hebbian", "f32[2, 3]; f32[3]; f32[2]", "", "f32[2, 3]"},
      {"train.optimizer.hebbian", "f32[2, 3]; f32[3]; f32[2]; f32[2]", R"({rule = "bcm"})",
       "f32[2, 3]"},
      {"train.optimizer.hebbian", "f32[2, 3]; f32[3]; f32[2]", R"({rule = "bcm"})",
       "train.optimizer.hebbian: Port 'theta' must be given."},
      {"train.optimizer.hebbian", "f32[2, 3]; f32[2]; f32[3]", "",
       "train.optimizer.hebbian: Port 'pre' has type f32[2]; it must be f32[3]."},
      {"train.optimizer.hebbian", "f32[2, 3]; f32[3]; f64[2]", "",
       "train.optimizer.hebbian: Port 'post' has type f64[2]; it must be f32[2]."},
      {"train.optimizer.hebbian", "f32[6]; f32[3]; f32[2]", "",
       "train.optimizer.hebbian: Port 'params' has type f32[6]; it needs rank 2."},
      {"train.optimizer.hebbian", "f32[2, 3]; f32[3]; f32[2]", R"({rule = "anti"})",
       "Attribute 'rule' of train.optimizer.hebbian is 'anti'; the choices are hebb, oja, bcm."},
  });
}

// Out of one call, into the next.
// A value and the counts so far, both f64: 2 of accuracy and perplexity, 3 of f1. Counts may come
// in as any float.
TEST(MetricRules, CountsAreCarried) {
  expect_types({
      {"bench.accuracy", "f32[N, 5]; i64[N]", "", "f64[]; f64[2]"},
      {"bench.accuracy", "f16[N, 5]; i32[N]; f64[2]", "", "f64[]; f64[2]"},
      {"bench.accuracy", "f32[N, 5]; i32[N]; f32[2]", "", "f64[]; f64[2]"},
      {"bench.accuracy", "f32[N, 5]; i32[N]; f64[3]", "",
       "bench.accuracy: Port 'counts' has type f64[3]; the extent of axis 0 must be 2, the counts "
       "of the metric."},
      // Scores are rows [N, C]; there is an id for each of them.
      {"bench.accuracy", "f32[N, 5]; f32[N]", "",
       "bench.accuracy: Port 'targets' has type f32[N]; its elements must be i64 or i32."},
      {"bench.accuracy", "f32[4, 5]; i32[5]", "",
       "bench.accuracy: Port 'targets' has type i32[5]; the extent of axis 0 must be 4, one for "
       "each row."},
      {"bench.accuracy", "f32[5]; i32[5]", "",
       "bench.accuracy: Port 'predicted' has type f32[5]; it needs rank 2."},
      {"bench.perplexity", "f64[N, 5]; i32[N]", "", "f64[]; f64[2]"},
      {"bench.perplexity", "i32[4, 5]; i32[4]", "",
       "bench.perplexity: Port 'probs' has type i32[4, 5]; it needs floating-point elements."},
      {"bench.f1", "f32[N]; f32[N]; f64[3]", "", "f64[]; f64[3]"},
      {"bench.f1", "f32[3]; f32[3]; f64[2]", "",
       "bench.f1: Port 'counts' has type f64[2]; the extent of axis 0 must be 3, the counts of the "
       "metric."},
      // f1 has scores as targets, of one type with the predictions; an alias has its own name in
      // errors.
      {"bench.f1", "f32[3]; i32[3]", "",
       "bench.f1: Port 'targets' has type i32[3]; it needs the type of 'predicted', f32[3]."},
      {"bench.metric.f1", "f32[3]; f32[4]", "",
       "bench.metric.f1: Port 'targets' has type f32[4]; it needs the type of 'predicted', "
       "f32[3]."},
  });
}

// A fixed number, at most the logits.
// min(top_k, N) candidates are kept, N where the vocabulary is a symbol, and up to N by top_p.
// Shares have the dtype of the logits.
TEST(SamplingRules, KeptCandidates) {
  expect_types({
      {"sampling.greedy_sample", "f32[V]", "", "i32[1]"},
      {"sampling.greedy_sample", "f32[1, 5]", "",
       "sampling.greedy_sample: Port 'logits' has type f32[1, 5]; it needs rank 1."},
      {"sampling.greedy_sample", "i32[5]", "",
       "sampling.greedy_sample: Port 'logits' has type i32[5]; it needs floating-point elements."},
      {"sampling.top_k_sample", "f32[9]", "{top_k = 3}", "i32[1]; i32[3]; f32[3]"},
      {"sampling.top_k_sample", "f16[9]", "{top_k = 20}", "i32[1]; i32[9]; f16[9]"},
      {"sampling.top_k_sample", "f32[V]", "{top_k = 3}", "i32[1]; i32[V]; f32[V]"},
      {"sampling.top_k_sample", "f32[9]", "{top_k = 0}",
       "sampling.top_k_sample: Attribute 'top_k' is 0; it must be 1 or more."},
      // Negative, infinite and NaN temperatures; 0 would be greedy.
      {"sampling.top_k_sample", "f32[9]", "{top_k = 3, temperature = -1}",
       "sampling.top_k_sample: Attribute 'temperature' is -1; it must be finite and 0 or more."},
      {"sampling.top_k_sample", "f32[9]", "{top_k = 3, temperature = inf}",
       "sampling.top_k_sample: Attribute 'temperature' is inf; it must be finite and 0 or more."},
      {"sampling.top_k_sample", "f32[9]", "{top_k = 3, temperature = nan}",
       "sampling.top_k_sample: Attribute 'temperature' is nan; it must be finite and 0 or more."},
      {"sampling.top_k_sample", "f32[9]", "", "sampling.top_k_sample needs the attribute 'top_k'."},
      {"sampling.top_p_sample", "f64[9]", "{top_p = 1}", "i32[1]; i32[9]; f64[9]"},
      // A share of 0 keeps nothing, more than 1 is no probability.
      {"sampling.top_p_sample", "f32[9]", "{top_p = 0}",
       "sampling.top_p_sample: Attribute 'top_p' is 0; it must be above 0 and at most 1."},
      {"sampling.top_p_sample", "f32[9]", "{top_p = 1.5}",
       "sampling.top_p_sample: Attribute 'top_p' is 1.5; it must be above 0 and at most 1."},
      {"sampling.top_p_sample", "f32[9]", "{top_p = nan}",
       "sampling.top_p_sample: Attribute 'top_p' is nan; it must be above 0 and at most 1."},
  });
}

// Each with ports of its own.
// Estimator: times [K, N] and parameters [K] of K processes. Table: queries, times and scalars,
// whose ports have names of their own.
TEST(HawkesRules, TwoForms) {
  expect_types({
      {"hawkes.intensity", "f64[K, N]; f64[K]; f64[K]; f64[K]", "", "f64[K, N]"},
      {"hawkes.intensity", "f64[Q]; f64[N]; f64[]; f64[]; f64[]", R"({form = "table"})", "f64[Q]"},
      {"hawkes.intensity", "f64[K, N]; f64[K]; f64[K]", "",
       "hawkes.intensity needs its input 'mu'."},
      {"hawkes.intensity", "f64[K, N]; f64[K]; f64[N]; f64[K]", "",
       "hawkes.intensity: Port 'beta' has type f64[N]; it must be f64[K]."},
      {"hawkes.intensity", "f64[N]; f64[K]; f64[K]; f64[K]", "",
       "hawkes.intensity: Port 'times' has type f64[N]; it needs rank 2."},
      // All ports of a table are required, and a scalar is not a vector of one.
      {"hawkes.intensity", "f64[Q]; f64[N]; f64[]; f64[]", R"({form = "table"})",
       "hawkes.intensity: Port 'mu' must be given."},
      {"hawkes.intensity", "f64[Q]; f64[N]; f64[1]; f64[]; f64[]", R"({form = "table"})",
       "hawkes.intensity: Port 'alpha' has type f64[1]; it must be f64[]."},
      {"hawkes.intensity", "f64[Q]; f32[N]; f64[]; f64[]; f64[]", R"({form = "table"})",
       "hawkes.intensity: Port 'times' has type f32[N]; it must be f64[N]."},
      {"hawkes.intensity", "f64[K, N]; f64[K]; f64[K]; f64[K]", R"({form = "samples"})",
       "Attribute 'form' of hawkes.intensity is 'samples'; the choices are estimator, table."},
      // Which triangle is filled is a choice of three names.
      {"hawkes.kernel_matrix", "f32[N]", "{alpha = 1, beta = 2}", "f32[N, N]"},
      {"hawkes.kernel_matrix", "f32[N]", R"({alpha = 1, beta = 2, triangle = "diagonal"})",
       "Attribute 'triangle' of hawkes.kernel_matrix is 'diagonal'; the choices are auto, lower, "
       "upper."},
      {"hawkes.kernel_matrix", "f32[N, 1]", "{alpha = 1, beta = 2}",
       "hawkes.kernel_matrix: Port 'times' has type f32[N, 1]; it needs rank 1."},
      {"hawkes.kernel_matrix", "f32[N]", "{beta = 2}",
       "hawkes.kernel_matrix needs the attribute 'alpha'."},
      // The integral of the estimator is a vector of one, in the table a scalar is computed.
      {"hawkes.log_likelihood", "f64[N]; f64[1]", "", "f64[]"},
      {"hawkes.log_likelihood", "f64[N]; f64[]", "",
       "hawkes.log_likelihood: Port 'integral' has type f64[]; it must be f64[1]."},
      {"hawkes.log_likelihood", "f64[N]; f64[]; f64[]; f64[]; f64[]", R"({form = "table"})",
       "f64[]"},
      {"hawkes.log_likelihood", "f64[N]; f64[]; f64[]; f64[]", R"({form = "table"})",
       "hawkes.log_likelihood: Port 'horizon' must be given."},
      // The output has room for max_steps events of each process.
      {"hawkes.simulate", "f64[K]; f64[K]; f64[K]", "{max_steps = 7}", "f64[K, 7]"},
      {"hawkes.simulate", "f64[3]; f64[3]; f64[4]", "{max_steps = 7}",
       "hawkes.simulate: Port 'beta' has type f64[4]; it must be f64[3]."},
      {"hawkes.simulate", "f64[3]; f64[3]; f64[3]", "{max_steps = 0}",
       "hawkes.simulate: Attribute 'max_steps' is 0; it must be from 1 to 2^31."},
      {"hawkes.simulate", "f64[3]; f64[3]; f64[3]", "{max_steps = 7, horizon = 0}",
       "hawkes.simulate: Attribute 'horizon' is 0; it must be above 0."},
      {"hawkes.simulate", "f64[3]; f64[3]; f64[3]", "{max_steps = 7, horizon = nan}",
       "hawkes.simulate: Attribute 'horizon' is nan; it must be above 0."},
      {"hawkes.simulate", "f64[3]; f64[3]; f64[3]", "",
       "hawkes.simulate needs the attribute 'max_steps'."},
  });
}

// Each with ports of its own.
// Estimators read samples in rows [N, ...]; tables hold probabilities with an axis for each
// variable.
TEST(CausalRules, TwoForms) {
  expect_types({
      {"causal.backdoor_adjustment", "f64[N]; f64[N, 2]; f64[N, 3]", "", "f64[2]"},
      {"causal.backdoor_adjustment", "f64[4, 5, 3]; f64[3]", R"({form = "table"})", "f64[4, 5]"},
      {"causal.backdoor_adjustment", "f64[3]; f64[3]", R"({form = "table"})", "f64[]"},
      {"causal.backdoor_adjustment", "f64[N]; f64[N, 2]", "",
       "causal.backdoor_adjustment: Port 'Z' must be given."},
      {"causal.backdoor_adjustment", "f64[4]; f64[5, 2]; f64[4, 3]", "",
       "causal.backdoor_adjustment: Port 'X' has type f64[5, 2]; it must be f64[4, 2]."},
      {"causal.backdoor_adjustment", "f64[4]; f64[4]; f64[4, 3]", "",
       "causal.backdoor_adjustment: Port 'X' has type f64[4]; it needs rank 2."},
      // A table needs an axis to sum over.
      {"causal.backdoor_adjustment", "f64[]; f64[3]", R"({form = "table"})",
       "causal.backdoor_adjustment: Port 'p_y_given_xz' has type f64[]; it needs rank 1 or more."},
      {"causal.backdoor_adjustment", "f64[4, 5]; f64[4]", R"({form = "table"})",
       "causal.backdoor_adjustment: Port 'p_z' has type f64[4]; it must be f64[5]."},
      {"causal.cate", "f32[N, 2]; f32[N]; f32[N]", "", "f32[N]"},
      {"causal.cate", "f32[2, 3]; f32[2, 3]", R"({form = "table"})", "f32[2, 3]"},
      {"causal.cate", "f32[N, 2]; f32[N]", "", "causal.cate: Port 'Y' must be given."},
      {"causal.cate", "f32[N, 2]; f32[N]; f64[N]", "",
       "causal.cate: Port 'Y' has type f64[N]; it must be f32[N]."},
      {"causal.cate", "f32[2, 3]; f32[3]", R"({form = "table"})",
       "causal.cate: Port 'control' has type f32[3]; it must be f32[2, 3]."},
      // A square matrix of floats.
      {"causal.cholesky", "f64[3, 3]", "", "f64[3, 3]"},
      {"causal.cholesky", "f64[3, 4]", "",
       "causal.cholesky: Port 'a' has type f64[3, 4]; it must be f64[3, 3]."},
      {"causal.cholesky", "f64[3]", "",
       "causal.cholesky: Port 'a' has type f64[3]; it needs rank 2."},
      {"causal.cholesky", "i32[3, 3]", "",
       "causal.cholesky: Port 'a' has type i32[3, 3]; it needs floating-point elements."},
      {"causal.counterfactual", "f64[3]; f64[2, 3]; f64[3, 3]", "", "f64[3]"},
      {"causal.counterfactual", "f64[3]; f64[3]; f64[3]; f64[3]", R"({form = "table"})", "f64[3]"},
      {"causal.counterfactual", "f64[3]; f64[3]; f64[3]", R"({form = "table"})",
       "causal.counterfactual: Port 'x_new' must be given."},
      {"causal.counterfactual", "f64[3]; f64[3, 2]; f64[3, 3]", "",
       "causal.counterfactual: Port 'intervention' has type f64[3, 2]; it must be f64[2, 3]."},
      {"causal.counterfactual", "f64[3]; f64[2, 3]; f64[2, 3]", "",
       "causal.counterfactual: Port 'model' has type f64[2, 3]; it must be f64[3, 3]."},
      // An adjacency is integers; in the table form there are only factors to multiply.
      {"causal.dag_markov_factorization", "f64[N, 3]; i64[3, 3]", "", "f64[]"},
      {"causal.dag_markov_factorization", "f64[N]", R"({form = "table"})", "f64[]"},
      {"causal.dag_markov_factorization", "f64[N, 3]", "",
       "causal.dag_markov_factorization: Port 'adj' must be given."},
      {"causal.dag_markov_factorization", "f64[N, 3]; f64[3, 3]", "",
       "causal.dag_markov_factorization: Port 'adj' has type f64[3, 3]; its elements must be i64 "
       "or i32 or i16 or i8 or u8."},
      {"causal.dag_markov_factorization", "f64[N, 3]; i64[2, 3]", "",
       "causal.dag_markov_factorization: Port 'adj' has type i64[2, 3]; it must be i64[3, 3]."},
      // The result holds a mean of 3 and a covariance of 9 in one vector, so N must be a constant.
      {"causal.do_calculus", "f64[3, 3]; u8[3]; f64[3]", "", "f64[12]"},
      {"causal.do_calculus", "f64[3, 3]; i32[3]", R"({form = "table"})", "f64[3, 3]"},
      {"causal.do_calculus", "f64[N, N]; u8[N]; f64[N]", "",
       "causal.do_calculus: Port 'cov' has type f64[N, N]; the extent of axis 0 must be a "
       "constant."},
      {"causal.do_calculus", "f64[N, N]; u8[N]", R"({form = "table"})", "f64[N, N]"},
      {"causal.do_calculus", "f64[3, 3]; u8[3]", "",
       "causal.do_calculus: Port 'values' must be given."},
      {"causal.do_calculus", "f64[3, 2]; u8[3]; f64[3]", "",
       "causal.do_calculus: Port 'cov' has type f64[3, 2]; it must be f64[3, 3]."},
      {"causal.do_calculus", "f64[3, 3]; f64[3]; f64[3]", "",
       "causal.do_calculus: Port 'mask' has type f64[3]; its elements must be i64 or i32 or i16 or "
       "i8 or u8."},
      // (2^32)^2 elements overflow, which the rule must see before any memory is asked for.
      {"causal.do_calculus", "f64[4294967296, 4294967296]; u8[4294967296]; f64[4294967296]", "",
       "causal.do_calculus: Port 'cov' has type f64[4294967296, 4294967296]; n + n * n elements "
       "are over the limit of 2^63 - 1."},
      {"causal.frontdoor_adjustment", "f64[N]; f64[N]; f64[N]", "{bins = 4}", "f64[4]"},
      {"causal.frontdoor_adjustment", "f64[2]; f64[3, 2]; f64[3]", R"({form = "table"})", "f64[]"},
      {"causal.frontdoor_adjustment", "f64[2]; f64[2, 3]; f64[3]", R"({form = "table"})",
       "causal.frontdoor_adjustment: Port 'p_y_given_xm' has type f64[2, 3]; it must be f64[3, "
       "2]."},
      {"causal.frontdoor_adjustment", "f64[5]; f64[5]; f64[4]", "",
       "causal.frontdoor_adjustment: Port 'M' has type f64[4]; it must be f64[5]."},
      // Bins are counted from 1 to 4096.
      {"causal.frontdoor_adjustment", "f64[5]; f64[5]; f64[5]", "{bins = 0}",
       "causal.frontdoor_adjustment: Attribute 'bins' is 0; it must be from 1 to 4096."},
      {"causal.frontdoor_adjustment", "f64[5]; f64[5]; f64[5]", "{bins = 4097}",
       "causal.frontdoor_adjustment: Attribute 'bins' is 4097; it must be from 1 to 4096."},
      // One output for each column of X; a vector counts as one column.
      {"causal.iv_estimate", "f64[N, 2]; f64[N]; f64[N]", "", "f64[1]"},
      {"causal.iv_estimate", "f64[N, 3]; f64[N, 2]; f64[N]", "", "f64[2]"},
      {"causal.iv_estimate", "f64[N]; f64[N]; f64[N]", R"({form = "table"})", "f64[]"},
      {"causal.iv_estimate", "f64[N]; f64[N]; f64[N]", "",
       "causal.iv_estimate: Port 'Z' has type f64[N]; it needs rank 2."},
      {"causal.iv_estimate", "f64[5, 2]; f64[4]; f64[5]", "",
       "causal.iv_estimate: Port 'X' has type f64[4]; it must be f64[5]."},
      {"causal.iv_estimate", "f64[5, 2]; f64[5, 1, 1]; f64[5]", "",
       "causal.iv_estimate: Port 'X' has type f64[5, 1, 1]; it must be f64[5]."},
  });
}

// Each with ports of its own.
// Estimator flows have the extents of W and an optional bias. Tables are square with a label for
// each node.
TEST(MarkovRules, TwoForms) {
  expect_types({
      {"markov_blanket.flow_active", "f32[3]; f32[2, 3]; f32[2]", "", "f32[2]"},
      {"markov_blanket.flow_active", "f32[3]; f32[2, 3]", "", "f32[2]"},
      {"markov_blanket.flow_active", "f32[3, 3]; i32[3]", R"({form = "table"})", "f32[3]"},
      {"markov_blanket.flow_active", "f32[2]; f32[2, 3]", "",
       "markov_blanket.flow_active: Port 'x_int' has type f32[2]; it must be f32[3]."},
      // The bias is as long as W has rows.
      {"markov_blanket.flow_internal", "f32[3]; f32[2, 3]; f32[3]", "",
       "markov_blanket.flow_internal: Port 'bias' has type f32[3]; it must be f32[2]."},
      {"markov_blanket.flow_internal", "f32[3, 2]; i32[3]", R"({form = "table"})",
       "markov_blanket.flow_internal: Port 'mi' has type f32[3, 2]; it must be f32[3, 3]."},
      {"markov_blanket.flow_internal", "f32[3, 3]; f32[3]", R"({form = "table"})",
       "markov_blanket.flow_internal: Port 'labels' has type f32[3]; its elements must be i64 or "
       "i32 or i16 or i8 or u8."},
      {"markov_blanket.mutual_information", "f64[N, 2]; f64[N, 3]", "", "f64[]"},
      {"markov_blanket.mutual_information", "f64[3, 4]", R"({form = "table"})", "f64[]"},
      {"markov_blanket.mutual_information", "f64[N, 2]", "",
       "markov_blanket.mutual_information: Port 'Y' must be given."},
      {"markov_blanket.mutual_information", "f64[5, 2]; f64[4, 2]", "",
       "markov_blanket.mutual_information: Port 'Y' has type f64[4, 2]; it must be f64[5, 2]."},
      // Four masks of the extent of x, or an adjacency with a mask of internal nodes; integers in
      // both.
      {"markov_blanket.partition", "f32[N]; u8[4, N]", "", "f32[N]"},
      {"markov_blanket.partition", "i32[3, 3]; i32[3]", R"({form = "table"})", "i64[3]"},
      {"markov_blanket.partition", "f32[3]; u8[3, 3]", "",
       "markov_blanket.partition: Port 'masks' has type u8[3, 3]; it must be u8[4, 3]."},
      {"markov_blanket.partition", "f32[3]; f32[4, 3]", "",
       "markov_blanket.partition: Port 'masks' has type f32[4, 3]; its elements must be i64 or i32 "
       "or i16 or i8 or u8."},
      {"markov_blanket.partition", "i32[3, 2]; i32[3]", R"({form = "table"})",
       "markov_blanket.partition: Port 'adjacency' has type i32[3, 2]; it must be i32[3, 3]."},
      {"markov_blanket.partition", "i32[3, 3]; i32[3, 1]", R"({form = "table"})",
       "markov_blanket.partition: Port 'internal' has type i32[3, 1]; it needs rank 1."},
      {"markov_blanket.partition", "f32[3, 3]; i32[3]", R"({form = "table"})",
       "markov_blanket.partition: Port 'adjacency' has type f32[3, 3]; its elements must be i64 or "
       "i32 or i16 or i8 or u8."},
  });
}

// Each with ports of its own.
// Estimator vectors hold means, then as many logarithms: their extent is even, or 2 N.
TEST(InferenceRules, TwoForms) {
  expect_types({
      {"active_inference.belief_update", "f32[6]; f32[3]", "", "f32[6]"},
      {"active_inference.belief_update", "f32[2*N]; f32[N]", "", "f32[2*N]"},
      {"active_inference.belief_update", "f32[N]; f32[N]", R"({form = "table"})", "f32[N]"},
      {"active_inference.belief_update", "f32[5]; f32[2]", "",
       "active_inference.belief_update: Port 'beliefs' has type f32[5]; it holds means and "
       "logarithms, so its extent must be even."},
      {"active_inference.belief_update", "f32[6]; f32[6]", "",
       "active_inference.belief_update: Port 'fe_grad' has type f32[6]; it must be f32[3]."},
      {"active_inference.belief_update", "f32[6]; f32[3]", R"({form = "table"})",
       "active_inference.belief_update: Port 'likelihood' has type f32[3]; it must be f32[6]."},
      // q_pi has a row for each policy. The second port is not read and may have any type.
      {"active_inference.expected_free_energy", "f32[K, N]", "", "f32[K]"},
      {"active_inference.expected_free_energy", "f32[K, N]; i8[7]", "", "f32[K]"},
      {"active_inference.expected_free_energy", "f32[N]; f32[N]; f32[M]", R"({form = "table"})",
       "f32[]"},
      {"active_inference.expected_free_energy", "f32[N]", "",
       "active_inference.expected_free_energy: Port 'q_pi' has type f32[N]; it needs rank 2."},
      // A table wants all of its ports.
      {"active_inference.expected_free_energy", "f32[N]; f32[N]", R"({form = "table"})",
       "active_inference.expected_free_energy: Port 'pred_state' must be given."},
      {"active_inference.free_energy", "f32[6]", "", "f32[]"},
      {"active_inference.free_energy", "f32[N]; f32[N]; f32[N]", R"({form = "table"})", "f32[]"},
      {"active_inference.free_energy", "f32[5]", "",
       "active_inference.free_energy: Port 'q' has type f32[5]; it holds means and logarithms, so "
       "its extent must be even."},
      {"active_inference.free_energy", "f32[3]; f32[3]; f32[4]", R"({form = "table"})",
       "active_inference.free_energy: Port 'prior' has type f32[4]; it must be f32[3]."},
      // Both forms have the same two ports.
      {"active_inference.precision_weight", "f32[T]; f32[T]", "", "f32[T]"},
      {"active_inference.precision_weight", "f32[3]; f32[4]", R"({form = "table"})",
       "active_inference.precision_weight: Port 'precision' has type f32[4]; it needs the type of "
       "'error', f32[3]."},
  });
}

// Both sides of a matrix.
// weights [m, n] decide: a representation has n elements, an error m.
TEST(CodingRules, WeightsDecideTheExtents) {
  expect_types({
      {"predictive_coding.prediction", "f32[N]; f32[M, N]", "", "f32[M]"},
      {"predictive_coding.prediction", "f32[3]; f32[3, 2]", "",
       "predictive_coding.prediction: Port 'rep' has type f32[3]; it must be f32[2]."},
      {"predictive_coding.prediction", "f32[3]; f32[3]", "",
       "predictive_coding.prediction: Port 'weights' has type f32[3]; it needs rank 2."},
      // Elementwise: all ports have the type of the first; the precision is optional.
      {"predictive_coding.prediction_error", "f32[N]; f32[N]", "", "f32[N]"},
      {"predictive_coding.prediction_error", "f32[N]; f32[N]; f32[N]", "", "f32[N]"},
      {"predictive_coding.prediction_error", "f32[3]; f32[3]; f32[4]", "",
       "predictive_coding.prediction_error: Port 'precision' has type f32[4]; it needs the type of "
       "'target', f32[3]."},
      {"predictive_coding.prediction_error", "f32[3]; f64[3]", "",
       "predictive_coding.prediction_error: Port 'pred' has type f64[3]; it needs the type of "
       "'target', f32[3]."},
      // err_self is of the level itself, so it has n elements.
      {"predictive_coding.update_representation", "f32[N]; f32[M]; f32[M, N]", "", "f32[N]"},
      {"predictive_coding.update_representation", "f32[N]; f32[M]; f32[M, N]; f32[N]", "",
       "f32[N]"},
      {"predictive_coding.update_representation", "f32[2]; f32[3]; f32[2, 3]", "",
       "predictive_coding.update_representation: Port 'rep' has type f32[2]; it must be f32[3]."},
      {"predictive_coding.update_representation", "f32[3]; f32[2]; f32[2, 3]; f32[2]", "",
       "predictive_coding.update_representation: Port 'err_self' has type f32[2]; it must be "
       "f32[3]."},
      {"predictive_coding.update_weights", "f32[M, N]; f32[N]; f32[M]", "", "f32[M, N]"},
      {"predictive_coding.update_weights", "f32[2, 3]; f32[2]; f32[3]", "",
       "predictive_coding.update_weights: Port 'rep' has type f32[2]; it must be f32[3]."},
      {"predictive_coding.update_weights", "f32[2, 3]; f32[3]; f64[2]", "",
       "predictive_coding.update_weights: Port 'err' has type f64[2]; it must be f32[2]."},
  });
}

// Vectors, or rows of them.
// Bundles join vectors of one type; every further port of a variadic operation is called 'a'.
// Rotations work on rows of any rank.
TEST(VectorRules, BundlesAndRotations) {
  expect_types({
      {"vsa.bundle", "f32[D]", "", "f32[D]"},
      {"vsa.bundle", "f32[D]; f32[D]; f32[D]", "", "f32[D]"},
      {"vsa.bundle", "f32[3]; f32[4]", "",
       "vsa.bundle: Port 'b' has type f32[4]; it needs the type of 'a', f32[3]."},
      {"vsa.bundle", "f32[3]; f64[3]", "",
       "vsa.bundle: Port 'b' has type f64[3]; it needs the type of 'a', f32[3]."},
      {"vsa.bundle", "f32[2, 3]; f32[2, 3]", "",
       "vsa.bundle: Port 'a' has type f32[2, 3]; it needs rank 1."},
      {"vsa.bundle", "i8[3]; i8[3]", "",
       "vsa.bundle: Port 'a' has type i8[3]; it needs floating-point elements."},
      {"vsa.bundle", "", "", "vsa.bundle needs its input 'a'."},
      {"vsa.bundle", "f32[3]; _; f32[3]", "",
       "vsa.bundle takes any number of inputs 'a', but none that is absent: 'b'."},
      {"vsa.permute", "f32[T, 5]", "{k = -7}", "f32[T, 5]"},
      {"vsa.permute", "f32[]", "",
       "vsa.permute: Port 'a' has type f32[]; it needs rank 1 or more."},
      {"vsa.inverse_permute", "i32[5]", "",
       "vsa.inverse_permute: Port 'a' has type i32[5]; it needs floating-point elements."},
  });
}

// Ranks, spacings and masses.
// Grids have 1 to 3 axes, lines one. Spacings and masses are above 0 and finite: they divide.
TEST(PhysicsRules, GridsAndSpacings) {
  expect_types({
      {"physics.laplacian", "f32[T, 3, 4]", "", "f32[T, 3, 4]"},
      {"physics.laplacian", "f32[2, 3, 4, 5]", "",
       "physics.laplacian: Port 'u' has type f32[2, 3, 4, 5]; it needs rank 1 to 3."},
      {"physics.laplacian", "f32[]", "",
       "physics.laplacian: Port 'u' has type f32[]; it needs rank 1 to 3."},
      {"physics.laplacian", "f32[3]", "{dx = 0}",
       "physics.laplacian: Attribute 'dx' is 0; it must be above 0 and finite."},
      {"physics.laplacian4", "f32[3]", "{dx = -1}",
       "physics.laplacian4: Attribute 'dx' is -1; it must be above 0 and finite."},
      {"physics.laplacian4", "f32[3]", "{dx = nan}",
       "physics.laplacian4: Attribute 'dx' is nan; it must be above 0 and finite."},
      {"physics.grad1d", "f32[3]", "{dx = inf}",
       "physics.grad1d: Attribute 'dx' is inf; it must be above 0 and finite."},
      {"physics.grad1d", "f32[3, 3]", "",
       "physics.grad1d: Port 'u' has type f32[3, 3]; it needs rank 1."},
      {"physics.divergence1d", "i32[3]", "",
       "physics.divergence1d: Port 'v' has type i32[3]; it needs floating-point elements."},
      {"physics.bohmian_velocity", "f32[3]", "{mass = 0}",
       "physics.bohmian_velocity: Attribute 'mass' is 0; it must be above 0 and finite."},
      {"physics.bohmian_velocity", "f32[3]", "{mass = inf}",
       "physics.bohmian_velocity: Attribute 'mass' is inf; it must be above 0 and finite."},
      // Valid numbers leave the type as it is.
      {"physics.bohmian_velocity", "f32[N]", "{mass = 2, dx = 0.5}", "f32[N]"},
      {"physics.quantum_potential", "f32[3, 1]", "",
       "physics.quantum_potential: Port 'rho' has type f32[3, 1]; it needs rank 1."},
      {"physics.madelung_continuity", "f32[N]; f32[N]", "", "f32[N]"},
      {"physics.madelung_continuity", "f32[3]; f32[4]", "",
       "physics.madelung_continuity: Port 'v' has type f32[4]; it needs the type of 'rho', "
       "f32[3]."},
      // The transform is of complex numbers alone.
      {"physics.fft1d", "complex64[N]", "", "complex64[N]"},
      {"physics.ifft1d", "complex128[5]", "", "complex128[5]"},
      {"physics.fft1d", "f32[8]", "",
       "physics.fft1d: Port 'x' has type f32[8]; its elements must be complex64 or complex128."},
      {"physics.fft1d", "complex64[2, 4]", "",
       "physics.fft1d: Port 'x' has type complex64[2, 4]; it needs rank 1."},
  });
}

// As many as the word has.
// The dtype of the words fixes how many counters there are; an empty buffer is fine.
TEST(PospopRules, CountersForEachBit) {
  expect_types({
      {"pospop.count8", "u64[8]; u8[N]", "", "u64[8]"},
      {"pospop.count_string", "u64[8]; u8[0]", "", "u64[8]"},
      {"pospop.count16", "u64[16]; u16[N]", "", "u64[16]"},
      {"pospop.count32", "u64[32]; u32[N]", "", "u64[32]"},
      {"pospop.count64", "u64[64]; u64[N]", "", "u64[64]"},
      // Too many counters, the wrong word, counters or data of another dtype, a second axis.
      {"pospop.count8", "u64[16]; u8[N]", "",
       "pospop.count8: Port 'counts' has type u64[16]; the extent of axis 0 must be 8, one for "
       "each bit."},
      {"pospop.count16", "u64[16]; u8[N]", "",
       "pospop.count16: Port 'data' has type u8[N]; its elements must be u16."},
      {"pospop.count16", "u32[16]; u16[N]", "",
       "pospop.count16: Port 'counts' has type u32[16]; its elements must be u64."},
      {"pospop.count32", "u64[32]; i32[N]", "",
       "pospop.count32: Port 'data' has type i32[N]; its elements must be u32."},
      {"pospop.count64", "u64[64]; u64[2, 2]", "",
       "pospop.count64: Port 'data' has type u64[2, 2]; it needs rank 1."},
      {"pospop.count8", "u64[8]", "", "pospop.count8 needs its input 'data'."},
  });
}

// The mode decides which ports there are.
// The first port only orders the node. read needs no injection, read_write does.
TEST(ModelRules, GraftsAndFreezes) {
  expect_types({
      {"model.graft", "f32[1]; _; f32[T, 3]", "", "f32[T, 3]"},
      {"model.graft", "f32[1]; f32[T, 3]; f32[T, 3]", R"({mode = "read_write"})", "f32[T, 3]"},
      {"model.graft", "f32[1]; _; f32[T, 3]", R"({mode = "read_write"})",
       "model.graft: Attribute 'mode' is 'read_write', so port 'injection' must be given."},
      {"model.graft", "f32[1]; f32[3]; f32[T, 3]", R"({mode = "read_write"})",
       "model.graft: Port 'injection' has type f32[3]; it needs the type of 'source', f32[T, 3]."},
      {"model.graft", "f32[1]; _; f32[T, 3]", R"({mode = "write"})",
       "Attribute 'mode' of model.graft is 'write'; the choices are read, read_write."},
      {"model.graft", "f32[1]; _; i32[3]", "",
       "model.graft: Port 'source' has type i32[3]; it needs floating-point elements."},
      {"model.graft", "f32[1]", "", "model.graft needs its input 'source'."},
      // freeze passes any type of whole bytes through.
      {"model.freeze", "i8[T]", R"({pattern = "layer.*", frozen = false})", "i8[T]"},
      {"model.freeze", "q8_0[1, 32]", "",
       "model.freeze: Port 'trigger' has type q8_0[1, 32]; it needs elements of whole bytes."},
      {"model.freeze", "f32[1]", "{pattern = 5}",
       "Attribute 'pattern' of model.freeze is 5; it must be text."},
  });
}

// They would be ignored in silence.
// A port of the other form would be ignored in silence, so it is an error; absent ones (`_`) are
// not.
TEST(FormRules, InputsOfTheOtherFormAreRefused) {
  expect_types({
      {"active_inference.free_energy", "f32[6]; f32[6]; f32[6]", "",
       "active_inference.free_energy takes 1 inputs in the form 'estimator'; input 1 is not among "
       "them."},
      {"active_inference.free_energy", "f32[6]; _; _", "", "f32[]"},
      {"causal.counterfactual", "f64[3]; f64[2, 3]; f64[3, 3]; f64[3]", "",
       "causal.counterfactual takes 3 inputs in the form 'estimator'; input 3 is not among them."},
      {"causal.do_calculus", "f64[3, 3]; i32[3]; f64[3]", R"({form = "table"})",
       "causal.do_calculus takes 2 inputs in the form 'table'; input 2 is not among them."},
      {"markov_blanket.mutual_information", "f64[3, 4]; f64[3, 4]", R"({form = "table"})",
       "markov_blanket.mutual_information takes 1 inputs in the form 'table'; input 1 is not among "
       "them."},
      {"hawkes.intensity", "f64[2, 4]; f64[2]; f64[2]; f64[2]; f64[2]", "",
       "hawkes.intensity takes 4 inputs in the form 'estimator'; input 4 is not among them."},
  });
}

}  // namespace
}  // namespace quern::test
