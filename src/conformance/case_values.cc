// Drawing of values by kind.
#include "conformance/case_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/fail.h"
#include "conformance/host_values.h"
#include "quern/dtype.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

// Extremes of the dtype itself, or of f32 where that is narrower than f64.
double special_value(DType dtype, uint64_t which) {
  const bool is_wide = dtype == DType::kF64;
  const double tiny = is_wide ? std::numeric_limits<double>::denorm_min() : 0x1p-149;
  const double smallest = is_wide ? std::numeric_limits<double>::min() : 0x1p-126;
  const double largest = is_wide ? std::numeric_limits<double>::max() : 0x1.fffffep127;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  // 88.5 and -104 lie just inside and outside of the range where f32's exp is finite and not 0.
  const std::array values = {0.0,       -0.0, tiny,   -5 * tiny,    smallest,
                             -smallest, kInf, -kInf,  std::nan(""), largest,
                             -largest,  88.5, -104.0, 1.0,          -1.0};
  return values[which % values.size()];
}

// A number near 1 in size, or whatever the set puts in its place.
double free_value(DType dtype, ValueSet set, CaseRandom& random) {
  const double value = random.normal();
  const uint64_t choice = random.next();
  // A quarter of the elements: most sums and rows then hold some special value.
  if (set == ValueSet::kSpecial && choice % 4 == 0) return special_value(dtype, choice / 4);
  // Outliers by a factor of a thousand are what activations of language models have.
  if (set == ValueSet::kOutliers && choice % 32 == 0) return value * 1000;
  if (set == ValueSet::kOutliers && choice % 32 == 1) return value / 1000;
  return value;
}

// What is drawn: one tensor.
struct Draw {
  DType dtype;
  Shape shape;
  ValueKind kind;
  int64_t limit;
  ValueSet set;
};

// Rows along the last axis; a scalar is a row of one element.
template <class F>
void for_each_row(const Draw& draw, std::vector<double>& values, F&& f) {
  const auto n = static_cast<size_t>(draw.shape.rank() == 0 ? 1 : draw.shape.last());
  for (size_t first = 0; n > 0 && first < values.size(); first += n) {
    f(std::span<double>(values).subspan(first, n));
  }
}

// Rows become probabilities.
void normalise_rows(const Draw& draw, std::vector<double>& values) {
  for_each_row(draw, values, [](std::span<double> row) {
    // Numbers here are at least 0.05, so that the sum is not 0.
    double sum = 0;
    for (const double value : row) sum += value;
    for (double& value : row) value /= sum;
  });
}

// Integers end at the limit, floats go on; both start from 0.
void make_ascending(const Draw& draw, std::vector<double>& values) {
  for_each_row(draw, values, [&](std::span<double> row) {
    if (is_float(draw.dtype)) {
      double last = 0;
      for (double& value : row) last = value = last + value;
      return;
    }
    std::ranges::sort(row);
    row[0] = 0;
  });
}

// The adjacency of a graph without cycles.
// An edge goes from a lower to a higher number only: no cycles.
void keep_upper_triangle(int64_t n, std::vector<double>& values) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) values[static_cast<size_t>(i * n + j)] = 0;
  }
}

// Symmetric, with eigenvalues of at least 1: a Cholesky factor exists.
// B B^T / n + 1 for the drawn matrix B.
void make_positive_definite(int64_t n, std::vector<double>& values) {
  const std::vector<double> b = values;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        sum += b[static_cast<size_t>(i * n + k)] * b[static_cast<size_t>(j * n + k)];
      }
      values[static_cast<size_t>(i * n + j)] = sum / static_cast<double>(n) + (i == j ? 1 : 0);
    }
  }
}

// One number of a kind; some kinds change rows or matrices afterwards.
double draw_one(const Draw& draw, CaseRandom& random) {
  const auto below = [&](int64_t limit) {
    return limit < 1 ? 0.0 : static_cast<double>(random.next() % static_cast<uint64_t>(limit));
  };
  switch (draw.kind) {
    case ValueKind::kNumbers:
    case ValueKind::kPositiveDefinite:
      return free_value(draw.dtype, draw.set, random);
    case ValueKind::kPositive:
    case ValueKind::kProbabilities:
      // Away from 0, where logarithms and quotients would amplify rounding.
      return 0.05 + 2 * random.uniform();
    case ValueKind::kUnitInterval:
      return random.uniform();
    case ValueKind::kAscending:
      // Offsets may point at the end.
      return is_float(draw.dtype) ? random.uniform() : below(draw.limit + 1);
    case ValueKind::kStrictlyUpper:
      return is_float(draw.dtype) ? random.normal() / 2 : below(2);
    case ValueKind::kMask:
      // A quarter is masked; a row may be masked whole.
      return random.next() % 4 == 0 ? -std::numeric_limits<double>::infinity() : 0;
    case ValueKind::kBinary:
      return below(2);
    case ValueKind::kIndices:
      return below(draw.limit);
    case ValueKind::kConstant:
      return static_cast<double>(draw.limit);
    case ValueKind::kActivations: {
      // The codes that quant.dynamic gives: -128 and those beyond 32,639 never occur.
      const int64_t most = draw.dtype == DType::kI8 ? 127 : 32639;
      return below(2 * most + 1) - static_cast<double>(most);
    }
  }
  return 0;
}

// Any codes: integers, and block formats whose blocks cannot be encoded.
Result<Tensor> random_bytes(const Draw& draw, CaseRandom& random) {
  QUERN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::zeros(draw.dtype, draw.shape));
  QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.buffer().mutable_host_view());
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next() >> 56);
  return tensor;
}

// Blocks that hold the values as well as the format can.
Result<Tensor> encode(const Draw& draw, std::span<const double> values) {
  QUERN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::zeros(draw.dtype, draw.shape));
  const std::vector<float> floats(values.begin(), values.end());
  QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.buffer().mutable_host_view());
  quantize_row(draw.dtype, floats.data(), bytes.data(), static_cast<int64_t>(floats.size()));
  return tensor;
}

// One tensor: integers of free kind as random bytes, all else by value.
Result<Tensor> draw_tensor(const Draw& draw, CaseRandom& random) {
  const bool is_free_integer = draw.kind == ValueKind::kNumbers && !is_float(draw.dtype) &&
                               !is_complex(draw.dtype) && !is_quantized(draw.dtype);
  if (is_free_integer) return random_bytes(draw, random);
  const size_t parts = is_complex(draw.dtype) ? 2 : 1;
  std::vector<double> values(parts * static_cast<size_t>(draw.shape.num_elements()));
  for (double& value : values) value = draw_one(draw, random);
  const int64_t n = draw.shape.rank() == 0 ? 1 : draw.shape.last();
  if (draw.kind == ValueKind::kProbabilities) normalise_rows(draw, values);
  if (draw.kind == ValueKind::kAscending) make_ascending(draw, values);
  if (draw.kind == ValueKind::kStrictlyUpper) keep_upper_triangle(n, values);
  if (draw.kind == ValueKind::kPositiveDefinite) make_positive_definite(n, values);
  if (is_quantized(draw.dtype)) {
    // Formats without an encoder take random codes; their scales may be NaN, as in a hostile file.
    return can_encode(draw.dtype) ? encode(draw, values) : random_bytes(draw, random);
  }
  return tensor_of_numbers(draw.dtype, draw.shape, values);
}

}  // namespace

// The name in reports.
std::string_view value_set_name(ValueSet set) {
  switch (set) {
    case ValueSet::kNormal:
      return "normal";
    case ValueSet::kOutliers:
      return "outliers";
    case ValueSet::kSpecial:
      return "special";
  }
  return "unknown";
}

// splitmix64 (Steele, Lea and Flood 2014): small, fast, the same everywhere.
// Not std::mt19937 with a distribution: distributions differ between libraries.
uint64_t CaseRandom::next() {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// The sum of twelve uniform numbers has variance 1.
// Additions only: the same bits on every machine, which a logarithm of the C library would not
// give. Values lie within 6.
double CaseRandom::normal() {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return sum;
}

// Inputs in order of the ports, from one sequence of numbers: a case is known by its seed.
Result<std::vector<Tensor>> case_inputs(const CasePattern& pattern, const SymbolValues& sizes,
                                        DType tested, ValueSet set, uint64_t seed) {
  // One generator for all inputs; an absent port draws nothing.
  CaseRandom random(seed);
  std::vector<Tensor> inputs;
  for (const InputPattern& input : pattern.inputs) {
    if (input.is_absent) {
      inputs.emplace_back();
      continue;
    }
    const DType dtype = dtype_of(input, tested);
    QUERN_ASSIGN_OR_RETURN(const Shape shape, (TensorType{dtype, input.extents}.resolve(sizes)));
    const int64_t limit = input.limit.is_constant()
                              ? input.limit.factor
                              : input.limit.factor * sizes.get(input.limit.symbol);
    QUERN_ASSIGN_OR_RETURN(Tensor tensor,
                           draw_tensor({dtype, shape, input.values, limit, set}, random));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

bool has_free_floats(const CasePattern& pattern) {
  return std::ranges::any_of(pattern.inputs, [](const InputPattern& input) {
    const bool is_floating = input.type != TypeKind::kFixed || is_float(input.dtype);
    return !input.is_absent && is_floating && input.values == ValueKind::kNumbers;
  });
}

}  // namespace quern
