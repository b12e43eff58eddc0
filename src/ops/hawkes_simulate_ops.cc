// Simulation of Hawkes processes by Ogata's thinning.
#include <cmath>
#include <limits>
#include <vector>

#include "base/fail.h"
#include "ops/elementwise.h"
#include "ops/math/strict_math.h"
#include "ops/random_access.h"
#include "ops/register_ops.h"
#include "ops/two_forms.h"

namespace quern {
namespace {

using namespace op_parts;
using Types = std::vector<TensorType>;

// Rates of K processes; at most max_steps events of each, so that the result's shape is known.
// mu, alpha, beta [K]; events [K, max_steps]. 2^31 bounds what one process may ask for. A horizon
// of NaN fails the comparison.
Result<Types> infer_simulate(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType mu, float_port(context, 0, 1));
  QUERN_TRY(expect_port(context, 1, mu));
  QUERN_TRY(expect_port(context, 2, mu));
  const int64_t max_steps = context.attributes.integer("max_steps");
  const double horizon = context.attributes.number("horizon");
  if (max_steps < 1 || max_steps > int64_t{1} << 31) {
    return fail::invalid("Attribute 'max_steps' is {}; it must be from 1 to 2^31.", max_steps);
  }
  if (!(horizon > 0)) {
    return fail::invalid("Attribute 'horizon' is {}; it must be above 0.", horizon);
  }
  return Types{{mu.dtype, {mu.dims[0], Dim::constant(max_steps)}}};
}

// The intensity is mu + alpha * sum over past events of exp(-beta * age).
struct Process {
  double mu, alpha, beta;
};

// Parameters outside their domain would give an intensity that is not positive, or never end.
// Checked at run time, since the rates are tensors.
Result<void> check_process(const Process& p, size_t k) {
  const bool is_finite = std::isfinite(p.mu) && std::isfinite(p.alpha) && std::isfinite(p.beta);
  if (is_finite && p.mu > 0 && p.alpha >= 0 && p.beta > 0) return {};
  return fail::invalid(
      "Process {} has mu {}, alpha {}, beta {}; it needs mu > 0, alpha >= 0, beta > 0.", k, p.mu,
      p.alpha, p.beta);
}

// Accepted events of one process. Candidate c draws the uniforms 2c and 2c + 1 after `first`: one
// for the waiting time under the bound on the intensity, one for the acceptance.
// Ogata 1981: between events the intensity only falls, so its value now bounds what comes. A
// candidate waits an exponential time with that rate, and is accepted with the probability
// lambda(t) / bound.
std::vector<double> simulate(const Process& process, double horizon, int64_t max_steps,
                             const RandomWords& random, uint64_t first) {
  std::vector<double> events;
  double time = 0, excitation = 0;
  for (uint64_t c = 0; static_cast<int64_t>(events.size()) < max_steps; ++c) {
    const double bound = process.mu + excitation;  // the intensity only falls until an event
    // u is in [0, 1), so 1 - u is in (0, 1] and the logarithm is finite; wait may be 0.
    const double wait = -strict_log(1 - random.uniform_f64(first + 2 * c)) / bound;
    time = time + wait;
    // An infinite horizon ends by max_steps alone; an infinite time would never be past it.
    if (!(time <= horizon) || std::isinf(time)) break;
    // Decayed to the candidate's time, whether it is accepted or not.
    excitation = excitation * strict_exp(-(process.beta * wait));
    const double accept = random.uniform_f64(first + 2 * c + 1) * bound;
    if (accept > process.mu + excitation) continue;
    excitation = excitation + process.alpha;
    events.push_back(time);
  }
  return events;
}

// 2^23 streams of 2^40 numbers, each of two 32-bit words, use up the 64-bit index of words.
constexpr size_t kMaxProcesses = size_t{1} << 23;

// One row for each process. Each has 2^40 random words of its own, so that a process's events do
// not depend on how many candidates the others needed.
Result<void> run_simulate(const KernelContext& context) {
  const std::vector<double> mu = load_all<double>(context.inputs[0]),
                            alpha = load_all<double>(context.inputs[1]),
                            beta = load_all<double>(context.inputs[2]);
  const TensorView& out = context.outputs[0];
  const int64_t max_steps = out.shape[1];
  const RandomWords random = random_words(context);
  if (mu.size() > kMaxProcesses) {
    return fail::invalid("Port 'mu' has {} processes; the limit is {}.", mu.size(), kMaxProcesses);
  }
  for (size_t k = 0; k < mu.size(); ++k) {
    const Process process{mu[k], alpha[k], beta[k]};
    QUERN_TRY(check_process(process, k));
    std::vector<double> row = simulate(process, context.attributes.number("horizon"), max_steps,
                                       random, uint64_t{k} << 40);
    // Rows have one length; -1 is no time.
    row.resize(static_cast<size_t>(max_steps), -1.0);
    store_row(out, static_cast<int64_t>(k) * max_steps, max_steps, row.data());
  }
  return {};
}

}  // namespace

void register_hawkes_simulate_ops(OpRegistry& registry) {
  registry.add(
      {.id = "hawkes.simulate",
       .doc = "Events of K independent processes with intensity mu + alpha sum exp(-beta "
              "(t - t_i)) by Ogata's thinning, in f64: at most max_steps events up to the "
              "horizon, ascending, then -1. mu > 0, alpha >= 0, beta > 0, or an error. "
              "Philox as random.uniform.",
       .shape_rule = "mu, alpha, beta [K] of one float dtype; events [K, max_steps].",
       .edge_rule = "NaN and infinite parameters are errors. K = 0 gives none. "
                    "alpha >= beta explodes, so only max_steps ends it.",
       .f32_bound = 1,
       .inputs = {port("mu"), port("alpha"), port("beta")},
       .outputs = {port("events")},
       .attributes = {integer("max_steps", kRequired, "Most events of a process."),
                      number("horizon", std::numeric_limits<double>::infinity(), "End of time."),
                      seed_attribute(), node_id_attribute()},
       .effect = Effect::kRandom,
       .infer = infer_simulate,
       .reference = run_simulate});
}

}  // namespace quern
