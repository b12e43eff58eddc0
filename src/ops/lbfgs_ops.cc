// Limited-memory BFGS by the two-loop recursion, with its history in explicit state.
#include <vector>

#include "base/fail.h"
#include "ops/blocked.h"
#include "ops/elementwise.h"
#include "ops/register_ops.h"
#include "ops/two_forms.h"

namespace quern {
namespace {

using namespace op_parts;
using Types = std::vector<TensorType>;

// Ports after params, grads: previous params and grads [N], histories of s and y [H, N], counts
// [2]: steps taken, pairs kept. The newest pair is the last of those kept.
// In f32, or f64 for f64: state of narrow parameters keeps more digits than they have, since s and
// y are small differences. Outputs 1 .. 5 are the state that inputs 2 .. 6 take at the next call.
Result<Types> infer_lbfgs(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType params, float_port(context, 0, 1));
  QUERN_TRY(expect_port(context, 1, params));
  const int64_t size = context.attributes.integer("hist_size");
  if (size < 1 || size > 4096) {
    return fail::invalid("Attribute 'hist_size' is {}; it must be from 1 to 4096.", size);
  }
  if (context.attributes.flag("line_search")) {
    return fail::unimplemented(
        "A line search evaluates the loss, which an operation cannot; the trainer does it.");
  }
  const TensorType vector{params.dtype == DType::kF64 ? DType::kF64 : DType::kF32, params.dims};
  const TensorType history{vector.dtype, {Dim::constant(size), params.dims[0]}};
  const Types outputs = {params,  vector,  vector,
                         history, history, {DType::kI64, {Dim::constant(2)}}};
  // Input p corresponds to output p - 1.
  for (size_t port = 2; port < context.inputs.size(); ++port) {
    if (context.inputs[port] != nullptr) QUERN_TRY(expect_port(context, port, outputs[port - 1]));
  }
  return outputs;
}

template <class T>
using Vector = std::vector<T>;

// A blocked(256) sum of products.
// The vectors have one length.
template <class T>
T dot(const Vector<T>& a, const Vector<T>& b) {
  return blocked_sum<T>(static_cast<int64_t>(a.size()), [&](int64_t i) {
    return a[static_cast<size_t>(i)] * b[static_cast<size_t>(i)];
  });
}

// y += alpha x.
template <class T>
void add_scaled(Vector<T>& y, T alpha, const Vector<T>& x) {
  for (size_t i = 0; i < y.size(); ++i) y[i] = y[i] + alpha * x[i];
}

// a - b by element.
template <class T>
Vector<T> difference(const Vector<T>& a, const Vector<T>& b) {
  Vector<T> d(a.size());
  for (size_t i = 0; i < d.size(); ++i) d[i] = a[i] - b[i];
  return d;
}

// Pairs (s, y), oldest first.
template <class T>
struct History {
  std::vector<Vector<T>> s, y;

  // The first num_pairs rows of [H, N]; the rest of the histories is not read.
  History(const KernelContext& context, size_t n, int64_t num_pairs) {
    const auto all_s = load_all<T>(context.inputs[4]), all_y = load_all<T>(context.inputs[5]);
    for (size_t k = 0; k < static_cast<size_t>(num_pairs); ++k) {
      const auto row = [&](const Vector<T>& all) {
        return Vector<T>(all.begin() + static_cast<std::ptrdiff_t>(k * n),
                         all.begin() + static_cast<std::ptrdiff_t>((k + 1) * n));
      };
      s.push_back(row(all_s));
      y.push_back(row(all_y));
    }
  }

  // Appends a pair and drops the oldest beyond `limit`.
  void push(Vector<T> new_s, Vector<T> new_y, size_t limit) {
    s.push_back(std::move(new_s));
    y.push_back(std::move(new_y));
    if (s.size() <= limit) return;
    s.erase(s.begin());
    y.erase(y.begin());
  }

  // Two-loop recursion: Nocedal and Wright, Numerical Optimization, algorithm 7.4, with the
  // initial scaling (7.20).
  // The inverse Hessian's approximation times g.
  Vector<T> apply(Vector<T> g) const {
    // Newest to oldest on the way down, oldest to newest on the way up. rho = 1 / (y s) is computed
    // where it is used; y s is above 1e-10 for every pair that this operation stored.
    Vector<T> alpha(s.size());
    for (size_t k = s.size(); k-- > 0;) {
      alpha[k] = dot(s[k], g) / dot(y[k], s[k]);
      add_scaled(g, -alpha[k], y[k]);
    }
    if (!s.empty()) {
      const T gamma = dot(s.back(), y.back()) / dot(y.back(), y.back());
      for (T& value : g) value = gamma * value;
    }
    for (size_t k = 0; k < s.size(); ++k) {
      const T beta = dot(y[k], g) / dot(y[k], s[k]);
      add_scaled(g, alpha[k] - beta, s[k]);
    }
    return g;
  }
};

// The rows in order; the rest of the view is zeros.
template <class T>
void store_history(const TensorView& view, const std::vector<Vector<T>>& rows) {
  Vector<T> all;
  for (const Vector<T>& row : rows) all.insert(all.end(), row.begin(), row.end());
  all.resize(static_cast<size_t>(view.shape.num_elements()));
  store_row(view, 0, view.shape.num_elements(), all.data());
}

// One step. Pairs without positive curvature are skipped, which keeps the approximation positive
// definite. The state that comes out is what the next call takes in.
struct LbfgsKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    Vector<T> params = load_all<T>(context.inputs[0]);
    const Vector<T> grads = load_all<T>(context.inputs[1]);
    const auto limit = context.attributes.integer("hist_size");
    // Absent counts are a first step: nothing else of the state is read then.
    int64_t steps = 0, num_pairs = 0;
    if (context.inputs[6].is_present()) {
      steps = context.inputs[6].as<const int64_t>()[0];
      num_pairs = context.inputs[6].as<const int64_t>()[1];
    }
    if (steps < 0 || steps == INT64_MAX) {
      return fail::invalid("The counts claim {} steps; they must be from 0 to below 2^63 - 1.",
                           steps);
    }
    const bool has_state = steps > 0 && context.inputs[2].is_present() &&
                           context.inputs[3].is_present() && context.inputs[4].is_present() &&
                           context.inputs[5].is_present();
    // Counts come from outside and would index the histories.
    if (num_pairs < 0 || num_pairs > limit || (num_pairs > 0 && !has_state)) {
      return fail::invalid("The counts claim {} pairs; the history holds up to {}.", num_pairs,
                           has_state ? limit : 0);
    }
    History<T> history(context, params.size(), num_pairs);
    // The pair of the step before: what the parameters moved, and what the gradient changed by.
    if (has_state) {
      Vector<T> s = difference(params, load_all<T>(context.inputs[2]));
      Vector<T> y = difference(grads, load_all<T>(context.inputs[3]));
      // NaN fails the comparison and is skipped.
      const bool is_curved = dot(y, s) > static_cast<T>(1e-10);
      if (is_curved) history.push(std::move(s), std::move(y), static_cast<size_t>(limit));
    }
    // The state keeps the parameters before this step; the next call takes the difference.
    store_row(context.outputs[1], 0, static_cast<int64_t>(params.size()), params.data());
    store_row(context.outputs[2], 0, static_cast<int64_t>(grads.size()), grads.data());
    add_scaled(params, -static_cast<T>(context.attributes.number("lr")), history.apply(grads));
    store_row(context.outputs[0], 0, static_cast<int64_t>(params.size()), params.data());
    store_history(context.outputs[3], history.s);
    store_history(context.outputs[4], history.y);
    context.outputs[5].as<int64_t>()[0] = steps + 1;
    context.outputs[5].as<int64_t>()[1] = static_cast<int64_t>(history.s.size());
    return {};
  }
};

}  // namespace

void register_lbfgs_ops(OpRegistry& registry) {
  registry.add(
      {.id = "train.optimizer.lbfgs",
       .doc = "p -= lr H g with H from the two-loop recursion over the last hist_size "
              "pairs s = p - p', y = g - g' with y s > 1e-10, scaled by (s y) / (y y) of "
              "the newest; -g without pairs. Dots are blocked(256). State is explicit; "
              "absent: the first step.",
       .shape_rule = "params, grads [n] of floats; histories [hist_size, n] and "
                     "previous values [n] in f32 (f64 for f64), counts i64 [2]: "
                     "step, pairs.",
       .edge_rule = "NaN and infinities spread to all elements. n = 0 gives none. "
                    "Counts without histories are an error; line_search is refused.",
       .f32_bound = 32,
       .inputs = {port("params"), port("grads"), optional_port("previous_params"),
                  optional_port("previous_grads"), optional_port("s_history"),
                  optional_port("y_history"), optional_port("counts")},
       .outputs = {port("params_out"), port("previous_params_out"), port("previous_grads_out"),
                   port("s_history_out"), port("y_history_out"), port("counts_out")},
       .attributes = {number("lr", 1.0, "Length of a step."),
                      integer("hist_size", 10, "Pairs to keep."),
                      flag("line_search", false, "Armijo search, done by the trainer."),
                      number("c1", 1e-4, "Slope of the Armijo condition.")},
       .infer = infer_lbfgs,
       .reference = float_kernel<LbfgsKernel>});
}

}  // namespace quern
