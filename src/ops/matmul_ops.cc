// Products of two float matrices.
#include <algorithm>
#include <vector>

#include "base/fail.h"
#include "ops/blocked_columns.h"
#include "ops/float_rows.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;

// Columns that are summed side by side, each in its own order, so that plain loops vectorise.
constexpr int kColumnsAtOnce = 16;

// c [M, N] of a [M, K] and b [K, N]. No broadcasting and no packed dtypes: projection.linear is for
// those. Extents must be equal as symbols or constants.
Result<std::vector<TensorType>> infer_matmul(const InferContext& context) {
  const TensorType& a = *context.inputs[0];
  const TensorType& b = *context.inputs[1];
  QUERN_TRY(expect_float("a", a));
  QUERN_TRY(expect_rank("a", a, 2));
  QUERN_TRY(expect_dtype("b", b, {a.dtype}));
  QUERN_TRY(expect_rank("b", b, 2));
  QUERN_TRY(expect_dim("b", b, 0, a.dims[1], "the columns of 'a'"));
  return std::vector<TensorType>{{.dtype = a.dtype, .dims = {a.dims[0], b.dims[1]}}};
}

// Row by row of a. Narrow floats widen once on load and c rounds once on store. No term is skipped,
// so NaN, infinities and 0 * infinity reach the sum. The layout of `columns`, [k, stride]:
//   b00 b01 .. b0,n-1 | 0 0 ..   row 0 of b, then padding to whole groups of columns
//   b10 b11 .. b1,n-1 | 0 0 ..
// The padding is summed with the rest of its group, but never stored.
template <class T>
void matmul(const TensorView& a, const TensorView& b, const TensorView& c) {
  const int64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  // Columns of b padded to a multiple of kColumnsAtOnce with zeros.
  const int64_t stride = (n + kColumnsAtOnce - 1) / kColumnsAtOnce * kColumnsAtOnce;
  std::vector<T> columns(static_cast<size_t>(k * stride));
  for (int64_t i = 0; i < k; ++i) load_row(b, i * n, n, columns.data() + i * stride);
  std::vector<T> left(static_cast<size_t>(k));
  std::vector<T> row(static_cast<size_t>(stride));
  for (int64_t i = 0; i < m; ++i) {
    load_row(a, i * k, k, left.data());
    for (int64_t j = 0; j < n; j += kColumnsAtOnce) {
      blocked_dot_columns<kColumnsAtOnce>(k, left.data(), columns.data() + j, stride,
                                          row.data() + j);
    }
    // The first n of `stride` sums; padding stays behind.
    store_row(c, i * n, n, row.data());
  }
}

Result<void> run_matmul(const KernelContext& context) {
  return with_compute_type(context.inputs[0].dtype, [&]<class T>(T) -> Result<void> {
    matmul<T>(context.inputs[0], context.inputs[1], context.outputs[0]);
    return {};
  });
}

// One definition for both ids; the second says that it is an alias of the first.
OpDef matmul_op(std::string id, std::string alias_of) {
  using namespace op_parts;
  return {.id = std::move(id),
          .doc =
              "c = a b of [M, K] and [K, N] with the same float dtype; each element is a "
              "blocked(256) sum along K. No zero is skipped.",
          .shape_rule = "a [M, K], b [K, N], c [M, N] of one float dtype.",
          .edge_rule =
              "NaN and infinities spread to their row and column; 0 times "
              "infinity is NaN. K = 0 gives zeros.",
          .f32_bound = 32,
          .inputs = {port("a"), port("b")},
          .outputs = {port("c")},
          .infer = infer_matmul,
          .reference = run_matmul,
          .alias_of = std::move(alias_of)};
}

}  // namespace

void register_matmul_ops(OpRegistry& registry) {
  registry.add(matmul_op("math.matmul", ""));
  registry.add(matmul_op("Matmul", "math.matmul"));
}

}  // namespace quern
