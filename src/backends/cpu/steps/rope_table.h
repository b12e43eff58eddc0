// Cosines and sines of the positions of a run, made once for all layers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/cpu/machine.h"
#include "ops/rope_frequencies.h"

namespace quern::cpu {

// Rows for the tokens of the last call of update(). One thread only.
template <class T>
class RopeTable {
 public:
  RopeTable(const RopeSpec& spec, RopeStyle style) : spec_(spec), style_(style) {}

  // Makes the rows of these positions, unless they are there. `factors` may be empty.
  void update(std::span<const int32_t> positions, std::span<const double> factors,
              Machine& machine);

  // The row of a token: its index in the positions of update(), not its position.
  const T* cos(int64_t token) const { return cos_.data() + token * row_size(); }
  const T* sin(int64_t token) const { return sin_.data() + token * row_size(); }
  // Elements of a row: n_rot / 2, or n_rot with signs in sin for interleaved pairs, as the kernels
  // want them.
  int64_t row_size() const { return style_ == RopeStyle::kHalf ? spec_.n_rot / 2 : spec_.n_rot; }

 private:
  void make_row(int64_t token, std::span<T> cos, std::span<T> sin);

  RopeSpec spec_;
  RopeStyle style_;
  std::vector<double> factors_;
  std::vector<double> frequencies_;
  std::vector<int32_t> positions_;
  std::vector<T> cos_;
  std::vector<T> sin_;
};

extern template class RopeTable<float>;
extern template class RopeTable<double>;

}  // namespace quern::cpu
