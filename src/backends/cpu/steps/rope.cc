// positional.rope_at.
#include "backends/cpu/shared_tables.h"
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/rope_table.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

// A load, a multiply and an add or two for each element; angles are in the table.
constexpr int64_t kCostPerElement = 2;

// x [T, heads, head_dim] -> the same, the first n_rot elements of each head rotated.
template <class T>
class RopeStep final : public Step {
 public:
  RopeStep(Machine& machine, int64_t n_rot, RopeStyle style, std::shared_ptr<RopeTable<T>> table)
      : machine_(machine),
        n_rot_(n_rot),
        kernel_(style == RopeStyle::kHalf
                    ? functions_of<T>(machine.kernels.rope).rotate_half
                    : functions_of<T>(machine.kernels.rope).rotate_interleaved),
        table_(std::move(table)) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& x = context.inputs[0];
    const TensorView& y = context.outputs[0];
    const int64_t tokens = x.shape[0], heads = x.shape[1], head_dim = x.shape[2];
    const int64_t n = heads * head_dim;
    if (tokens == 0 || n == 0) return {};
    const auto* positions = context.inputs[1].as<const int32_t>();
    // Made by the first layer of a run; the others find it made.
    table_->update({positions, static_cast<size_t>(tokens)}, load_all<double>(context.inputs[2]),
                   machine_);
    QUERN_ASSIGN_OR_RETURN(
        std::byte * scratch,
        machine_.scratch(n * static_cast<int64_t>(sizeof(T)) * machine_.pool.num_threads()));
    const bool is_direct = x.dtype == kDTypeOf<T>;
    const auto rotate = [&](int64_t begin, int64_t end, int thread) {
      T* own = reinterpret_cast<T*>(scratch) + n * thread;
      for (int64_t t = begin; t < end; ++t) {
        const T* from = is_direct ? x.as<const T>() + t * n : own;
        T* to = is_direct ? y.as<T>() + t * n : own;
        if (!is_direct) load_row(x, t * n, n, own);
        kernel_({from, to, heads, head_dim, n_rot_, table_->cos(t), table_->sin(t)});
        if (!is_direct) store_row(y, t * n, n, own);
      }
    };
    for_ranges(machine_.pool, tokens, n * kCostPerElement, rotate);
    return {};
  }

 private:
  Machine& machine_;
  int64_t n_rot_;
  void (*kernel_)(const RopeRow<T>&);
  std::shared_ptr<RopeTable<T>> table_;
};

}  // namespace

MadeStep make_rope_at(const StepRequest& request) {
  const TensorType& x = request.input_type(0);
  const RopeSpec spec = rope_spec(request.attributes(), x.dims[2].factor);
  const RopeStyle style =
      request.attributes().text("style") == "half" ? RopeStyle::kHalf : RopeStyle::kInterleaved;
  return with_row_type(x.dtype, [&]<class T>(T) -> MadeStep {
    const ValueId factors = request.has_input(2) ? request.node().inputs[2] : kNoValue;
    return std::make_unique<RopeStep<T>>(request.machine, spec.n_rot, style,
                                         request.tables.rope<T>(spec, style, factors));
  });
}

}  // namespace quern::cpu
