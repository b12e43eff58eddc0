// Rows of the table, over the threads.
#include "backends/cpu/steps/rope_table.h"

#include <algorithm>

#include "backends/cpu/work_split.h"

namespace quern::cpu {
namespace {

// A cosine and a sine in f64, in units of for_ranges.
constexpr int64_t kCostPerPair = 400;

}  // namespace

template <class T>
void RopeTable<T>::update(std::span<const int32_t> positions, std::span<const double> factors,
                          Machine& machine) {
  const bool has_factors = std::ranges::equal(factors, factors_);
  if (has_factors && std::ranges::equal(positions, positions_) && !frequencies_.empty()) return;
  if (!has_factors || frequencies_.empty()) {
    factors_.assign(factors.begin(), factors.end());
    frequencies_ = rope_frequencies(spec_, factors_);
  }
  positions_.assign(positions.begin(), positions.end());
  const size_t size = positions.size() * static_cast<size_t>(row_size());
  cos_.resize(size);
  sin_.resize(size);
  const int64_t pairs = spec_.n_rot / 2;
  for_ranges(machine.pool, static_cast<int64_t>(positions.size()), pairs * kCostPerPair,
             [&](int64_t begin, int64_t end, int) {
               std::vector<T> cos(static_cast<size_t>(pairs)), sin(static_cast<size_t>(pairs));
               for (int64_t t = begin; t < end; ++t) make_row(t, cos, sin);
             });
}

template <class T>
void RopeTable<T>::make_row(int64_t token, std::span<T> cos, std::span<T> sin) {
  rope_cos_sin<T>(spec_, frequencies_, positions_[static_cast<size_t>(token)], cos, sin);
  T* cos_row = cos_.data() + token * row_size();
  T* sin_row = sin_.data() + token * row_size();
  if (style_ == RopeStyle::kHalf) {
    std::ranges::copy(cos, cos_row);
    std::ranges::copy(sin, sin_row);
    return;
  }
  for (size_t i = 0; i < cos.size(); ++i) {
    cos_row[2 * i] = cos_row[2 * i + 1] = cos[i];
    sin_row[2 * i] = -sin[i];
    sin_row[2 * i + 1] = sin[i];
  }
}

template class RopeTable<float>;
template class RopeTable<double>;

}  // namespace quern::cpu
