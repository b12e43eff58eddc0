// The plain loops that define attention over tensors.
#include "ops/head_attention.h"

#include <cmath>
#include <vector>

#include "ops/blocked.h"
#include "ops/float_rows.h"

namespace quern {

// The factor of the scores; 0 stands for 1 / sqrt(head_dim), computed in f64 and rounded once.
// std::sqrt of f64 is correctly rounded by IEEE 754, so it gives equal bits everywhere, unlike the
// other functions of <cmath>.
template <class T>
T attention_scale(double scale, int64_t head_dim) {
  return static_cast<T>(scale == 0.0 ? 1.0 / std::sqrt(static_cast<double>(head_dim)) : scale);
}
template float attention_scale(double, int64_t);
template double attention_scale(double, int64_t);

namespace {

// An additive mask [..., Tq, Tk] whose leading axes broadcast over batch and heads.
// Strides of 0 repeat a plane. `batch_` and `head_` count elements:
//   rank 2 [Tq, Tk]           head_ 0,      batch_ 0
//   rank 3 [H or 1, Tq, Tk]   head_ Tq*Tk,  batch_ 0           (0 for an extent of 1)
//   rank 4 [B or 1, H or 1, Tq, Tk]         batch_ (H or 1) * Tq * Tk
template <class T>
class Mask {
 public:
  explicit Mask(const TensorView& view) : values_(load_all<T>(view)) {
    // Absent, or present without elements: then no row is ever read.
    if (values_.empty()) return;
    const int rank = view.shape.rank();
    keys_ = view.shape[rank - 1];
    const int64_t plane = keys_ * view.shape[rank - 2];
    const int64_t heads = rank > 2 ? view.shape[rank - 3] : 1;
    if (heads > 1) head_ = plane;
    if (rank > 3 && view.shape[0] > 1) batch_ = plane * heads;
  }
  // The row of one query, or null without a mask.
  const T* row(int64_t b, int64_t h, int64_t query) const {
    return values_.empty() ? nullptr : values_.data() + b * batch_ + h * head_ + query * keys_;
  }

 private:
  std::vector<T> values_;
  int64_t keys_ = 0, head_ = 0, batch_ = 0;
};

// Every query row on its own: scores, then the online softmax of `attend`, whose chunks fix the
// order of the sums for all backends.
template <class T>
void attention(const KernelContext& context, const AttentionShape& shape, const AttentionRule& rule,
               const TensorView& mask_view) {
  // Everything is widened at once: a reference may use memory, and reads every row many times.
  const std::vector<T> q = load_all<T>(context.inputs[0]);
  const std::vector<T> k = load_all<T>(context.inputs[1]);
  const std::vector<T> v = load_all<T>(context.inputs[2]);
  const Mask<T> mask(mask_view);
  const T scale = attention_scale<T>(rule.scale, shape.head_dim);
  const T slope = static_cast<T>(rule.slope);
  std::vector<T> out(static_cast<size_t>(shape.value_dim));
  // The group size; kv_heads divides heads by the type rule.
  const int64_t group = shape.heads / shape.kv_heads;
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t h = 0; h < shape.heads; ++h) {
      for (int64_t i = 0; i < shape.queries; ++i) {
        const int64_t query = shape.keys - shape.queries + i;
        const T* q_row = q.data() + shape.q.at(b, h, i);
        const T* mask_row = mask.row(b, h, i);
        // The steps of numerics, each rounded: dot, * scale, + slope * distance, + mask. There is
        // no soft cap here (0). A slope of 0 leaves its step out, since s + 0 would turn -0 into
        // +0.
        const auto score = [&](int64_t key) {
          const T* k_row = k.data() + shape.k.at(b, h / group, key);
          T s = blocked_sum<T>(shape.head_dim, [&](int64_t d) { return q_row[d] * k_row[d]; });
          s = finish_score(s, scale, T(0));
          // key - query is negative for the past: a positive slope lowers old keys.
          if (slope != T(0)) s = s + slope * static_cast<T>(key - query);
          return mask_row == nullptr ? s : s + mask_row[key];
        };
        const auto value = [&](int64_t key) { return v.data() + shape.v.at(b, h / group, key); };
        attend<T>(rule.visible(query, shape.keys), nullptr, score, value, out);
        // One rounding to a narrow dtype, after the division by l.
        store_row(context.outputs[0], shape.out.at(b, h, i), shape.value_dim, out.data());
      }
    }
  }
}

}  // namespace

// Narrow floats compute in f32. Without output elements there is nothing to do, and extents of 0
// would divide.
Result<void> run_attention(const KernelContext& context, const AttentionShape& shape,
                           const AttentionRule& rule, const TensorView& mask) {
  if (context.outputs[0].shape.num_elements() == 0) return {};
  with_compute_type(context.inputs[0].dtype,
                    [&]<class T>(T) { attention<T>(context, shape, rule, mask); });
  return {};
}

}  // namespace quern
