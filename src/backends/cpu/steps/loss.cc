// Losses: means over all elements of a term of two tensors; chunks of 4,096 over the threads.
#include <algorithm>

#include "backends/cpu/steps/elementwise_pieces.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

// Work of an element in units of for_ranges: two reads, and a logarithm in some terms.
constexpr int64_t kCostPerElement = 4;

// Sums of chunks (lanes(32)), joined in order, then the mean: the definition of a mean over all
// elements. p and q are what the term needs (huber: delta and its half, halved in f64).
template <class T>
class LossStep final : public Step {
 public:
  LossStep(Machine& machine, typename LossFunctions<T>::Sum sum, double p)
      : machine_(machine), sum_(sum), p_(static_cast<T>(p)), q_(static_cast<T>(p / 2)) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& x = context.inputs[0];
    const int64_t n = x.shape.num_elements();
    const int64_t chunks = ceil_divide(n, kReduceChunk);
    // Narrow floats are converted chunk by chunk, both tensors.
    const int64_t rooms = x.dtype == kDTypeOf<T> ? 0 : 2 * kReduceChunk;
    QUERN_ASSIGN_OR_RETURN(
        std::byte * scratch,
        machine_.scratch((chunks + 1 + machine_.pool.num_threads() * rooms) * int64_t{sizeof(T)}));
    T* sums = reinterpret_cast<T*>(scratch);
    for_ranges(machine_.pool, chunks, kReduceChunk * kCostPerElement,
               [&](int64_t begin, int64_t end, int thread) {
                 T* room = sums + chunks + 1 + thread * rooms;
                 for (int64_t c = begin; c < end; ++c) {
                   const int64_t first = c * kReduceChunk;
                   const int64_t count = std::min(kReduceChunk, n - first);
                   sums[c] = sum_(elements(x, first, count, room),
                                  elements(context.inputs[1], first, count, room + kReduceChunk),
                                  count, p_, q_);
                 }
               });
    T total = 0;
    for (int64_t c = 0; c < chunks; ++c) total = total + sums[c];
    const T mean = total / static_cast<T>(n);
    store_row(context.outputs[0], 0, 1, &mean);
    return {};
  }

 private:
  Machine& machine_;
  typename LossFunctions<T>::Sum sum_;
  T p_;
  T q_;
};

// The kernel of a loss; null for those that are no mean of independent terms.
template <class T>
typename LossFunctions<T>::Sum find_sum(const LossFunctions<T>& functions, std::string_view id) {
  if (id == "train.loss.mse") return functions.squared_error;
  if (id == "losses.mae") return functions.absolute_error;
  if (id == "losses.huber") return functions.huber;
  if (id == "losses.binary_cross_entropy") return functions.binary_cross_entropy;
  if (id == "losses.kl_divergence") return functions.kl_divergence;
  return nullptr;
}

}  // namespace

MadeStep make_loss(const StepRequest& request) {
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    const auto sum = find_sum(functions_of<T>(request.machine.kernels.loss), request.op_id());
    if (sum == nullptr) return make_reference(request);
    const bool is_huber = request.op_id() == "losses.huber";
    return std::make_unique<LossStep<T>>(request.machine, sum,
                                         is_huber ? request.attributes().number("delta") : 0.0);
  });
}

}  // namespace quern::cpu
