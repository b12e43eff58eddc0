// Sizes and order of the arrays of packed activations.
#include "backends/cpu/kernels/activation_layout.h"

#include "base/checked_math.h"

namespace quern::cpu {

ActivationLayout make_activation_layout(int64_t num_tokens, int64_t columns, int block, int bits) {
  ActivationLayout layout;
  layout.num_tokens = num_tokens;
  layout.columns = columns;
  layout.block = block;
  layout.bits = bits;
  const int64_t elements = num_tokens * columns;
  const int64_t planes = layout.num_planes();
  int64_t end = 0;
  const auto place = [&end](int64_t bytes) {
    const int64_t begin = end;
    end += round_up(bytes, 64);
    return begin;
  };
  layout.q = place(elements * planes);
  layout.d = place(elements / block * 4);
  layout.int_sums = place(elements / layout.run() * planes * 4);
  if (block == 32) {
    layout.sums = place(elements / 32 * 4);
  } else {
    layout.pairs_16 = place(elements / 16 * planes * 2);
    layout.pairs_32 = place(elements / 32 * planes * 2);
  }
  layout.size_bytes = end;
  return layout;
}

bool can_pack_activations(int64_t columns, int64_t block, int64_t bits) {
  return (block == 32 || block == 256) && (bits == 8 || bits == 16) && columns % block == 0;
}

}  // namespace quern::cpu
