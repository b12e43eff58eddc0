// math.matmul: both operands are values of the graph.
#include "backends/cpu/kernels/linear.h"
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

// c [m, n] = a [m, k] b [k, n], in T; narrow floats are widened as a whole and rounded at the end.
template <class T>
class MatmulStep final : public Step {
 public:
  MatmulStep(Machine& machine, Numerics numerics) : machine_(machine), numerics_(numerics) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& a = context.inputs[0];
    const TensorView& b = context.inputs[1];
    const TensorView& c = context.outputs[0];
    const MatmulSize size{a.shape[0], a.shape[1], b.shape[1]};
    const bool is_bf16 = a.dtype == DType::kBF16 && b.dtype == DType::kBF16;
    if (is_bf16 && numerics_ == Numerics::kFast && can_multiply_bf16(machine_.kernels, size)) {
      return run_bf16(context, size);
    }
    MatmulCall<T> call{
        .m = size.m, .k = size.k, .n = size.n, .fuses = numerics_ != Numerics::kStrict};
    const bool is_direct = a.dtype == kDTypeOf<T>;
    const int64_t own =
        matmul_scratch_bytes<T>(machine_.kernels, size, machine_.pool.num_threads());
    const int64_t converted =
        is_direct ? 0 : bytes_of(a.shape) + bytes_of(b.shape) + bytes_of(c.shape);
    QUERN_ASSIGN_OR_RETURN(std::byte * scratch, machine_.scratch(round_up(own, 64) + converted));
    call.scratch = scratch;
    if (is_direct) {
      call.a = a.as<const T>();
      call.b = b.as<const T>();
      call.c = c.as<T>();
      matmul(call, machine_.kernels, machine_.pool);
      return {};
    }
    auto* wide_a = reinterpret_cast<T*>(scratch + round_up(own, 64));
    auto* wide_b = wide_a + bytes_of(a.shape) / static_cast<int64_t>(sizeof(T));
    call.c = wide_b + bytes_of(b.shape) / static_cast<int64_t>(sizeof(T));
    load_row(a, 0, a.shape.num_elements(), wide_a);
    load_row(b, 0, b.shape.num_elements(), wide_b);
    call.a = wide_a;
    call.b = wide_b;
    matmul(call, machine_.kernels, machine_.pool);
    store_row(c, 0, c.shape.num_elements(), call.c);
    return {};
  }

 private:
  Result<void> run_bf16(const StepContext& context, const MatmulSize& size) {
    const int64_t own =
        matmul_bf16_scratch_bytes(machine_.kernels, size, machine_.pool.num_threads());
    QUERN_ASSIGN_OR_RETURN(std::byte * scratch, machine_.scratch(own));
    matmul_bf16({.size = size,
                 .a = context.inputs[0].as<const uint16_t>(),
                 .b = context.inputs[1].as<const uint16_t>(),
                 .c = context.outputs[0].as<uint16_t>(),
                 .scratch = scratch},
                machine_.kernels, machine_.pool);
    return {};
  }

  static int64_t bytes_of(const Shape& shape) {
    return round_up(shape.num_elements() * static_cast<int64_t>(sizeof(T)), 64);
  }

  Machine& machine_;
  Numerics numerics_;
};

}  // namespace

MadeStep make_matmul(const StepRequest& request) {
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    return std::make_unique<MatmulStep<T>>(request.machine, request.numerics);
  });
}

}  // namespace quern::cpu
