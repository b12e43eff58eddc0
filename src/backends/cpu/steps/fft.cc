// physics.fft1d and ifft1d of a power of two: the stages of the radix-2 definition, grouped so that
// memory is passed over a few times only. Other sizes run the reference kernel.
#include <bit>
#include <vector>

#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"
#include "ops/math/strict_math.h"

namespace quern::cpu {
namespace {

// Elements of a block whose stages run together in the first-level cache.
constexpr int64_t kBlock = 2048;
// Below this the reference kernel takes no longer.
constexpr int64_t kSmallest = 1024;
// Work of an element in units of for_ranges.
constexpr int64_t kCostOfStages = 3;

// Roots of unity for one n, made at its first run and kept.
// exp(sign * 2 pi i k / n) by stages, see fft_kernels.h: computed in f64, then rounded.
template <class T>
class Roots {
 public:
  void prepare(int64_t n, int sign) {
    if (std::ssize(re_) == n) return;
    re_.assign(static_cast<size_t>(n), T(0));
    im_.assign(static_cast<size_t>(n), T(0));
    const double step = sign * 6.283185307179586476925 / static_cast<double>(n);
    // The last stage has every root below n / 2; the others take every 2nd, 4th, ...
    for (int64_t k = 0; k < n / 2; ++k) {
      const double angle = step * static_cast<double>(k);
      re_[static_cast<size_t>(n / 2 + k)] = static_cast<T>(strict_cos(angle));
      im_[static_cast<size_t>(n / 2 + k)] = static_cast<T>(strict_sin(angle));
    }
    for (auto i = static_cast<size_t>(n / 2); i-- > 1;) {
      re_[i] = re_[2 * i];
      im_[i] = im_[2 * i];
    }
  }
  const T* re() const { return re_.data(); }
  const T* im() const { return im_.data(); }

 private:
  std::vector<T> re_;
  std::vector<T> im_;
};

template <class T>
class FftStep final : public Step {
 public:
  FftStep(Machine& machine, bool is_inverse, std::unique_ptr<Step> reference)
      : machine_(machine), is_inverse_(is_inverse), reference_(std::move(reference)) {}

  Result<void> run(const StepContext& context) override {
    const int64_t n = context.inputs[0].shape[0];
    if (n < kSmallest || !std::has_single_bit(static_cast<uint64_t>(n))) {
      return reference_->run(context);
    }
    QUERN_ASSIGN_OR_RETURN(std::byte * scratch, machine_.scratch(2 * n * int64_t{sizeof(T)}));
    roots_.prepare(n, is_inverse_ ? 1 : -1);
    FftPlanes<T> planes{.re = reinterpret_cast<T*>(scratch),
                        .im = reinterpret_cast<T*>(scratch) + n,
                        .root_re = roots_.re(),
                        .root_im = roots_.im()};
    const FftFunctions<T>& kernels = functions_of<T>(machine_.kernels.fft);
    const auto* x = context.inputs[0].as<const T>();
    // The bit-reversed order and the first log2(lanes) stages; columns of whole vectors.
    const int64_t lanes = kernels.lanes, columns = n / lanes / lanes;
    for_ranges(machine_.pool, columns, kCostOfStages * lanes * lanes,
               [&](int64_t begin, int64_t end, int) {
                 kernels.first(x, n, begin * lanes, end * lanes, planes);
               });
    // Stages up to kBlock in the first-level cache, the rest in passes over memory, up to three
    // stages each (2^20 points: three passes in all).
    run_blocks(planes, n);
    for (int64_t half = std::min(n, kBlock); half < n;) half = run_pass(planes, n, half);
    auto* y = context.outputs[0].as<T>();
    const T divisor = is_inverse_ ? static_cast<T>(n) : T(1);
    for_ranges(machine_.pool, n / lanes, lanes, [&](int64_t begin, int64_t end, int) {
      kernels.interleave(planes, begin * lanes, end * lanes, divisor, y);
    });
    return {};
  }

 private:
  // Four stages go as two and two: three and one would make a pass for a single stage.
  // How many stages from `half` on one pass makes, so that `end` is reached: at most 3.
  static int stages_of(int64_t half, int64_t end) {
    const int rest = std::countr_zero(static_cast<uint64_t>(end / half));
    return rest == 4 ? 2 : std::min(rest, 3);
  }

  // All stages inside blocks: kBlock numbers in two planes are 16 KiB of f32.
  void run_blocks(const FftPlanes<T>& planes, int64_t n) {
    const FftFunctions<T>& kernels = functions_of<T>(machine_.kernels.fft);
    const int64_t block = std::min(n, kBlock);
    for_ranges(machine_.pool, n / block, block * 3 * kCostOfStages,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t b = begin; b < end; ++b) {
                   for (int64_t half = kernels.lanes; half < block;) {
                     const int stages = stages_of(half, block);
                     for (int64_t base = 0; base < block; base += half << stages) {
                       kernels.pass(planes, b * block + base, half, stages, 0, half);
                     }
                     half <<= stages;
                   }
                 }
               });
  }

  // One pass over all memory; returns the half of the next.
  int64_t run_pass(const FftPlanes<T>& planes, int64_t n, int64_t half) {
    const FftFunctions<T>& kernels = functions_of<T>(machine_.kernels.fft);
    const int stages = stages_of(half, n);
    const int64_t group = half << stages;
    // Columns of a group are independent, so they are cut into parts for the threads; half is at
    // least kBlock here, a multiple of kPart.
    constexpr int64_t kPart = 512;
    const int64_t parts = half / kPart;
    for_ranges(machine_.pool, n / group * parts, kPart * kCostOfStages << stages,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t first = i % parts * kPart;
                   kernels.pass(planes, i / parts * group, half, stages, first, first + kPart);
                 }
               });
    return group;
  }

  Machine& machine_;
  bool is_inverse_;
  Roots<T> roots_;
  std::unique_ptr<Step> reference_;
};

}  // namespace

MadeStep make_fft(const StepRequest& request) {
  const bool is_inverse = request.op_id() == "physics.ifft1d";
  QUERN_ASSIGN_OR_RETURN(auto reference, make_reference(request));
  if (request.input_type(0).dtype == DType::kComplex64) {
    return std::make_unique<FftStep<float>>(request.machine, is_inverse, std::move(reference));
  }
  return std::make_unique<FftStep<double>>(request.machine, is_inverse, std::move(reference));
}

}  // namespace quern::cpu
