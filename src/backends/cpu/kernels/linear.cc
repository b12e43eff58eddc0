// Chooses the part of `linear` by the kind and number of activations.
#include "backends/cpu/kernels/linear.h"

#include "backends/cpu/kernels/linear_parts.h"

namespace quern::cpu {

int64_t linear_scratch_bytes(const PackedWeight& weight, const KernelTable& kernels,
                             int64_t num_tokens, int num_threads, bool is_fast) {
  if (has_integer_activations(weight)) {
    return integer_scratch_bytes(weight, kernels.linear, num_tokens, num_threads);
  }
  if (weight.form() != PackedWeight::Form::kF64 && makes_tiles(weight, num_tokens)) {
    return tile_scratch_bytes(weight, kernels, num_tokens, num_threads, is_fast);
  }
  return float_scratch_bytes(weight, kernels.linear, num_tokens, num_threads);
}

void linear(const LinearCall& call, const KernelTable& kernels, ThreadPool& pool) {
  if (call.num_tokens == 0 || call.weight->rows() == 0) return;
  if (has_integer_activations(*call.weight)) {
    linear_integers(call, kernels.linear, pool);
  } else if (call.weight->form() == PackedWeight::Form::kF64) {
    linear_doubles(call, kernels.linear, pool);
  } else if (makes_tiles(*call.weight, call.num_tokens)) {
    linear_tiles(call, kernels, pool);
  } else {
    linear_floats(call, kernels.linear, pool);
  }
}

}  // namespace quern::cpu
