// The optimisers of ai.onnx.preview.training: inputs R (rate), T (steps), all parameters, all
// gradients, then each state of all; outputs the parameters and states anew.
#include <array>
#include <cmath>

#include "base/fail.h"
#include "formats/onnx/node_context.h"
#include "ops/math/strict_math.h"

namespace quern::onnx {
namespace {

// The domain of these operators.
constexpr std::string_view kDomain = "ai.onnx.preview.training";

// Input i of group k, of `groups` groups after R and T.
struct Groups {
  size_t count = 0;  // tensors in a group
  // Inputs stand in groups: all parameters, then all gradients, and so on.
  size_t input(size_t group, size_t i) const { return 2 + group * count + i; }
};
// Errors: a number of inputs that makes no groups.
Result<Groups> read_groups(const NodeContext& c, size_t groups) {
  if (c.num_inputs() < 2 + groups || (c.num_inputs() - 2) % groups != 0) {
    return fail::invalid("{} has {} inputs.", c.node().op_type, c.num_inputs());
  }
  return Groups{(c.num_inputs() - 2) / groups};
}

// gradient + norm_coefficient * parameter.
ValueId decayed(NodeContext& c, ValueId x, ValueId gradient) {
  return c.g().op("math.add", {gradient, c.g().scale(x, c.number("norm_coefficient", 0))});
}
// x - rate * step.
ValueId moved(TensorAlgebra& g, ValueId x, double rate, ValueId step) {
  return g.op("elementwise.sub", {x, g.with_scalar("math.mul", step, rate)});
}

// Duchi et al. 2011.
Result<void> adagrad(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const Groups groups, read_groups(c, 3));
  QUERN_ASSIGN_OR_RETURN(const double rate, c.known_number(0));
  QUERN_ASSIGN_OR_RETURN(const double steps, c.known_number(1));
  // The rate of this step; rate and step count must be known while the graph is built.
  const double r = rate / (1 + steps * c.number("decay_factor", 0));
  for (size_t i = 0; i < groups.count; ++i) {
    const ValueId x = c.in(groups.input(0, i));
    const ValueId gradient = decayed(c, x, c.in(groups.input(1, i)));
    const ValueId squares =
        g.op("math.add", {c.in(groups.input(2, i)), g.op("math.mul", {gradient, gradient})});
    const ValueId root =
        g.with_scalar("math.add", g.op("elementwise.sqrt", {squares}), c.number("epsilon", 0));
    c.out(i, moved(g, x, r, g.op("elementwise.div", {gradient, root})));
    c.out(groups.count + i, squares);
  }
  return c.done();
}

// a * old + (1 - a) * now.
ValueId mixed(TensorAlgebra& g, double a, ValueId old, ValueId now) {
  return g.op("math.add", {g.scale(old, a), g.scale(now, 1 - a)});
}

// Kingma and Ba 2014, with the bias corrections of the operator's description.
Result<void> adam(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const Groups groups, read_groups(c, 4));
  QUERN_ASSIGN_OR_RETURN(const double rate, c.known_number(0));
  QUERN_ASSIGN_OR_RETURN(const double steps, c.known_number(1));
  const double alpha = c.number("alpha", 0.9), beta = c.number("beta", 0.999);
  const double r =
      steps > 0 ? rate * std::sqrt(1 - strict_pow(beta, steps)) / (1 - strict_pow(alpha, steps))
                : rate;
  for (size_t i = 0; i < groups.count; ++i) {
    const ValueId x = c.in(groups.input(0, i));
    const ValueId gradient = decayed(c, x, c.in(groups.input(1, i)));
    const ValueId mean = mixed(g, alpha, c.in(groups.input(2, i)), gradient);
    const ValueId square =
        mixed(g, beta, c.in(groups.input(3, i)), g.op("math.mul", {gradient, gradient}));
    const ValueId root =
        g.with_scalar("math.add", g.op("elementwise.sqrt", {square}), c.number("epsilon", 0));
    const ValueId y = moved(g, x, r, g.op("elementwise.div", {mean, root}));
    const double after = c.number("norm_coefficient_post", 0);
    c.out(i, after == 0 ? y : g.scale(y, 1 - after));
    c.out(groups.count + i, mean);
    c.out(2 * groups.count + i, square);
  }
  return c.done();
}

// Plain or Nesterov's.
Result<void> momentum(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const Groups groups, read_groups(c, 3));
  QUERN_ASSIGN_OR_RETURN(const double rate, c.known_number(0));
  QUERN_ASSIGN_OR_RETURN(const double steps, c.known_number(1));
  const double alpha = c.number("alpha", 0), beta = steps > 0 ? c.number("beta", 0) : 1;
  for (size_t i = 0; i < groups.count; ++i) {
    const ValueId x = c.in(groups.input(0, i));
    const ValueId gradient = decayed(c, x, c.in(groups.input(1, i)));
    const ValueId velocity =
        g.op("math.add", {g.scale(c.in(groups.input(2, i)), alpha), g.scale(gradient, beta)});
    const bool is_nesterov = c.text("mode", "standard") == "nesterov";
    c.out(i,
          moved(g, x, rate,
                is_nesterov ? g.op("math.add", {gradient, g.scale(velocity, alpha)}) : velocity));
    c.out(groups.count + i, velocity);
  }
  return c.done();
}

constexpr std::array kMappers = {
    OpMapper{"Adagrad", adagrad, kDomain},
    OpMapper{"Adam", adam, kDomain},
    OpMapper{"Momentum", momentum, kDomain},
};

}  // namespace

std::span<const OpMapper> training_mappers() {
  return kMappers;
}

}  // namespace quern::onnx
