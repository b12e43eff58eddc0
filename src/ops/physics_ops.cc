// Finite differences on grids: gradients, laplacians, and fields of the Madelung equations.
#include <cmath>
#include <vector>

#include "base/fail.h"
#include "ops/elementwise.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using namespace op_parts;
using Types = std::vector<TensorType>;

// A spacing that is 0, negative or not finite makes no grid.
// NaN fails the first comparison.
Result<void> check_spacing(const Attributes& attributes) {
  const double dx = attributes.number("dx");
  if (dx > 0 && !std::isinf(dx)) return {};
  return fail::invalid("Attribute 'dx' is {}; it must be above 0 and finite.", dx);
}

// A vector of floats and a valid spacing.
Result<Types> infer_line(const InferContext& context) {
  QUERN_TRY(check_spacing(context.attributes));
  QUERN_TRY(type_rules::expect_rank(type_rules::port_name(context, 0), *context.inputs[0], 1));
  return infer_same_floats(context);
}

// As a line, with a mass to divide by.
Result<Types> infer_bohmian(const InferContext& context) {
  const double mass = context.attributes.number("mass");
  if (mass > 0 && !std::isinf(mass)) return infer_line(context);
  return fail::invalid("Attribute 'mass' is {}; it must be above 0 and finite.", mass);
}

// Grids of one to three axes.
Result<Types> infer_grid(const InferContext& context) {
  QUERN_TRY(check_spacing(context.attributes));
  const TensorType& u = *context.inputs[0];
  if (u.rank() >= 1 && u.rank() <= 3) return infer_same_floats(context);
  return fail::invalid("Port 'u' has type {}; it needs rank 1 to 3.", u.to_string());
}

// A constant of the formula in the type computed in.
// The product of constants is formed in f64, so that it rounds once.
template <class T>
T rounded(double value) {
  return static_cast<T>(value);
}

// (f(i + 1) - f(i - 1)) / (2 dx).
// The caller names the neighbours: it decides what lies beyond an end.
template <class T, class F>
T central(F&& f, int64_t before, int64_t after, double dx) {
  return (f(after) - f(before)) / rounded<T>(2 * dx);
}

// Central differences on a ring.
struct PeriodicGradientKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const double dx = context.attributes.number("dx");
    const FloatInput<T> u(context.inputs[0]);
    FloatOutput<T> y(context.outputs[0]);
    const int64_t n = u.size();
    // n - 1 ahead is one back, without a negative index. A single point is its own neighbour: 0.
    for (int64_t i = 0; i < n; ++i) {
      y[i] = central<T>([&](int64_t j) { return u[j]; }, (i + n - 1) % n, (i + 1) % n, dx);
    }
    return {};
  }
};

// Stencils of one axis: the weighted sum of neighbours, u(k) being k steps away ------------------

// The three-point second difference; error of order dx^2.
struct SecondOrder {
  static double divisor(double dx) { return dx * dx; }
  // The middle joins the left first, then the right: the order of the roundings.
  template <class T, class F>
  static T sum(F&& u) {
    return (u(-1) - T(2) * u(0)) + u(1);
  }
};
// The five-point second difference; error of order dx^4.
// Weights -1, 16, -30, 16, -1 over 12 dx^2 cancel the dx^2 term of the Taylor series.
struct FourthOrder {
  static double divisor(double dx) { return 12 * dx * dx; }
  template <class T, class F>
  static T sum(F&& u) {
    return (((T(16) * u(-1) - u(-2)) - T(30) * u(0)) + T(16) * u(1)) - u(2);
  }
};

// Sums over the axes in order, then one division.
// All axes have one spacing, so a single division at the end serves all of them.
template <class Stencil>
struct LaplacianKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const Shape& shape = context.inputs[0].shape;
    const T divisor = rounded<T>(Stencil::divisor(context.attributes.number("dx")));
    const FloatInput<T> u(context.inputs[0]);
    FloatOutput<T> y(context.outputs[0]);
    for (int64_t i = 0; i < y.size(); ++i) {
      T sum = 0;
      // The stride of the first axis is the size over its extent, and so on down to 1.
      int64_t stride = y.size();
      for (int axis = 0; axis < shape.rank(); ++axis) {
        const int64_t n = shape[axis];
        stride /= n;
        const int64_t position = i / stride % n;
        sum = sum + Stencil::template sum<T>([&](int64_t step) {
                // The remainder twice, since position + step may be below 0; on an axis shorter
                // than the stencil a step wraps past more than one end.
                const int64_t neighbour = ((position + step) % n + n) % n;  // indices wrap
                return u[i + (neighbour - position) * stride];
              });
      }
      y[i] = sum / divisor;
    }
    return {};
  }
};

// Fields on a line whose ends are 0 ---------------------------------------------------------------

// Evaluates a field at interior points and leaves 0 at both ends, where a central difference
// would need points outside.
template <class Field>
struct InteriorKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    FloatOutput<T> y(context.outputs[0]);
    const Field field(context.attributes);
    const FloatInput<T> a(context.inputs[0]);
    // Fields of one input get an empty second one and do not read it.
    const FloatInput<T> b(context.inputs.size() > 1 ? context.inputs[1] : TensorView{});
    const int64_t n = y.size();
    // Lines of one and two points are ends only.
    for (int64_t i = 0; i < n; ++i) {
      y[i] = i == 0 || i == n - 1 ? T(0) : field.template at<T>(a, b, i);
    }
    return {};
  }
};

// -1/2 laplacian(sqrt(rho)) / sqrt(rho) in units of hbar = m = 1 (Bohm 1952).
// rho is a density: below 0 its root is NaN, at 0 the last step divides by 0.
struct QuantumPotential {
  double dx;
  explicit QuantumPotential(const Attributes& a) : dx(a.number("dx")) {}
  template <class T>
  T at(const FloatInput<T>& rho, const FloatInput<T>&, int64_t i) const {
    const auto root = [&](int64_t j) { return std::sqrt(rho[j]); };
    const T second = ((root(i - 1) - T(2) * root(i)) + root(i + 1)) / rounded<T>(dx * dx);
    return (T(-0.5) * second) / root(i);
  }
};

// The gradient of the phase over the mass.
// Two divisions: by 2 dx, then by the mass.
struct BohmianVelocity {
  double dx, mass;
  explicit BohmianVelocity(const Attributes& a) : dx(a.number("dx")), mass(a.number("mass")) {}
  template <class T>
  T at(const FloatInput<T>& s, const FloatInput<T>&, int64_t i) const {
    return central<T>([&](int64_t j) { return s[j]; }, i - 1, i + 1, dx) / rounded<T>(mass);
  }
};

// The divergence of the probability current rho v.
// The product is formed at both neighbours, not differentiated by parts.
struct MadelungContinuity {
  double dx;
  explicit MadelungContinuity(const Attributes& a) : dx(a.number("dx")) {}
  template <class T>
  T at(const FloatInput<T>& rho, const FloatInput<T>& v, int64_t i) const {
    return central<T>([&](int64_t j) { return rho[j] * v[j]; }, i - 1, i + 1, dx);
  }
};

// The parts of a definition that all fields share; every one has a spacing.
OpDef field_op(std::string id, std::string doc, std::vector<PortDef> inputs, OpDef::Infer infer,
               OpDef::Kernel kernel, std::vector<AttributeDef> more = {}) {
  more.insert(more.begin(), number("dx", 1.0, "Spacing of the grid, above 0."));
  return {.id = std::move(id),
          .doc = std::move(doc),
          .inputs = std::move(inputs),
          .outputs = {port("y")},
          .attributes = std::move(more),
          .infer = infer,
          .reference = kernel};
}

}  // namespace

void register_physics_ops(OpRegistry& registry) {
  registry.add(with_notes(field_op("physics.grad1d", "(u[i + 1] - u[i - 1]) / (2 dx), periodic.",
                                   {port("u")}, infer_line, float_kernel<PeriodicGradientKernel>),
                          "A vector [n] of floats; y has its type.",
                          "NaN and infinities spread to their neighbours. n = 0 gives "
                          "none; indices wrap on grids shorter than the stencil.",
                          64, true));
  registry.add(
      with_notes(field_op("physics.divergence1d", "(v[i + 1] - v[i - 1]) / (2 dx), periodic.",
                          {port("v")}, infer_line, float_kernel<PeriodicGradientKernel>),
                 "A vector [n] of floats; y has its type.",
                 "NaN and infinities spread to their neighbours. n = 0 gives "
                 "none; indices wrap on grids shorter than the stencil.",
                 64, true));
  registry.add(
      with_notes(field_op("physics.laplacian",
                          "The sum over 1 to 3 axes of (u[i - 1] - 2 u[i]) + u[i + 1], divided by "
                          "dx^2; periodic.",
                          {port("u")}, infer_grid, float_kernel<LaplacianKernel<SecondOrder>>),
                 "u of floats, rank 1 to 3; y has its type.",
                 "NaN and infinities spread to their neighbours. No elements "
                 "give none; indices wrap on grids shorter than the stencil.",
                 64, true));
  registry.add(with_notes(
      field_op("physics.laplacian4",
               "The sum over 1 to 3 axes of -u[i - 2] + 16 u[i - 1] - 30 u[i] + 16 u[i + "
               "1] - u[i + 2], divided by 12 dx^2; periodic.",
               {port("u")}, infer_grid, float_kernel<LaplacianKernel<FourthOrder>>),
      "u of floats, rank 1 to 3; y has its type.",
      "NaN and infinities spread to their neighbours. No elements "
      "give none; indices wrap on grids shorter than the stencil.",
      64, true));
  registry.add(with_notes(
      field_op("physics.quantum_potential",
               "-1/2 (second difference of sqrt(rho)) / sqrt(rho), 0 at the ends.", {port("rho")},
               infer_line, float_kernel<InteriorKernel<QuantumPotential>>),
      "rho [n] of floats; y has its type.",
      "rho = 0 divides by 0, rho below 0 gives NaN. Fewer than 3 "
      "points give zeros.",
      64, true));
  registry.add(with_notes(
      field_op("physics.bohmian_velocity", "Central difference of S, / mass, 0 at the ends.",
               {port("S")}, infer_bohmian, float_kernel<InteriorKernel<BohmianVelocity>>,
               {number("mass", 1.0, "Mass, above 0.")}),
      "S [n] of floats; y has its type.",
      "NaN and infinities spread to their neighbours. Fewer than 3 "
      "points give zeros.",
      64, true));
  registry.add(
      with_notes(field_op("physics.madelung_continuity",
                          "Central difference of rho * v, 0 at the ends.", {port("rho"), port("v")},
                          infer_line, float_kernel<InteriorKernel<MadelungContinuity>>),
                 "rho, v, y: floats [n] of one dtype.",
                 "NaN and infinities spread to their neighbours. Fewer than 3 "
                 "points give zeros.",
                 64, true));
}

}  // namespace quern
