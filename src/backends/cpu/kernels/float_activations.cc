// Interleaves tokens.
#include "backends/cpu/kernels/float_activations.h"

#include <algorithm>

#include "base/checked_math.h"

namespace quern::cpu {
namespace {

template <class T>
void interleave(const T* x, int64_t width, int64_t columns, T* out) {
  // Columns in runs that keep the lines of all tokens in the first-level cache.
  constexpr int64_t kRun = 16;
  for (int64_t first = 0; first < columns; first += kRun) {
    const int64_t end = std::min(columns, first + kRun);
    for (int64_t t = 0; t < width; ++t) {
      for (int64_t k = first; k < end; ++k) out[k * width + t] = x[t * columns + k];
    }
  }
}

}  // namespace

template <class T>
const T* pack_float_activations(const T* x, int64_t num_tokens, int64_t columns, int64_t tile,
                                T* room, ThreadPool& pool) {
  if (num_tokens <= 1) return x;
  pool.run(ceil_divide(num_tokens, tile), [&](int64_t chunk, int) {
    const int64_t end = std::min(num_tokens, (chunk + 1) * tile);
    for (int64_t token = chunk * tile; token < end;) {
      const int64_t width = float_tile_width(end - token, tile);
      interleave(x + token * columns, width, columns, room + token * columns);
      token += width;
    }
  });
  return room;
}

template const float* pack_float_activations<float>(const float*, int64_t, int64_t, int64_t, float*,
                                                    ThreadPool&);
template const double* pack_float_activations<double>(const double*, int64_t, int64_t, int64_t,
                                                      double*, ThreadPool&);

}  // namespace quern::cpu
