// The language of the case table word by word: what each means, and each way in which a row is
// wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "conformance/case_pattern.h"
#include "conformance/case_values.h"
#include "conformance/error_units.h"
#include "conformance/host_values.h"

namespace quern {
namespace {

Result<CasePattern> parsed(CaseRow row) {
  auto patterns = parse_case_row(row, builtin_ops());
  if (!patterns) return tl::unexpected(patterns.error());
  return patterns->front();
}

// One input as the parser understands it.
std::string meaning(std::string_view input) {
  const auto pattern = parsed({"math.exp", input, "", "N=1 D=1 V=1", ""});
  if (!pattern) return pattern.error().message;
  const InputPattern& made = pattern->inputs.at(0);
  if (made.is_absent) return "absent";
  static constexpr std::array kTypes = {"fixed", "float", "compute", "number", "complex"};
  static constexpr std::array kValues = {"numbers",   "positive", "unit",     "probabilities",
                                         "ascending", "spd",      "upper",    "mask",
                                         "binary",    "indices",  "constant", "activations"};
  std::string text = kTypes[static_cast<size_t>(made.type)];
  if (made.type == TypeKind::kFixed) text += " " + std::string(dtype_name(made.dtype));
  text += std::string(" ") + kValues[static_cast<size_t>(made.values)];
  const auto dim = [](const Dim& d) {
    return d.is_constant()
               ? std::to_string(d.factor)
               : (d.factor == 1 ? "" : std::to_string(d.factor) + "*") + std::string(1, d.symbol);
  };
  if (made.values == ValueKind::kIndices || made.values == ValueKind::kConstant ||
      (made.type == TypeKind::kFixed && made.values == ValueKind::kAscending)) {
    text += " " + dim(made.limit);
  }
  text += " [";
  for (size_t i = 0; i < made.extents.size(); ++i) {
    text += (i == 0 ? "" : " ") + dim(made.extents[i]);
  }
  return text + "]";
}

// And each way in which a word is none.
TEST(CaseLanguage, EveryWordHasItsMeaning) {
  struct {
    const char* input;
    const char* meaning;
  } rows[] = {
      {"-", "absent"},
      {"f[]", "float numbers []"},
      {"f[N,D]", "float numbers [N D]"},
      {"f[2*N,3]", "float numbers [2*N 3]"},
      {"f[2N]", "float numbers [2*N]"},
      {"f+[N]", "float positive [N]"},
      {"f01[N]", "float unit [N]"},
      {"fp[N]", "float probabilities [N]"},
      {"fup[N]", "float ascending [N]"},
      {"fspd[N,N]", "float spd [N N]"},
      {"fdag[N,N]", "float upper [N N]"},
      {"fm[N]", "float mask [N]"},
      {"fb[N]", "float binary [N]"},
      {"s[N]", "compute numbers [N]"},
      {"s+[N]", "compute positive [N]"},
      {"n[N]", "number numbers [N]"},
      {"c[N]", "complex numbers [N]"},
      {"f32[N]", "fixed f32 numbers [N]"},
      {"f32+[N]", "fixed f32 positive [N]"},
      {"q4_K[N,256]", "fixed q4_K numbers [N 256]"},
      {"u8[N]", "fixed u8 numbers [N]"},
      {"i32<V[N]", "fixed i32 indices V [N]"},
      {"u8<40[N]", "fixed u8 indices 40 [N]"},
      {"i64=9[N]", "fixed i64 constant 9 [N]"},
      {"i64up<V[N]", "fixed i64 ascending V [N]"},
      {"i64dag[N,N]", "fixed i64 upper [N N]"},
      {"act8[N]", "fixed i8 activations [N]"},
      {"act16[N]", "fixed i16 activations [N]"},
      {"f", "math.exp: 'f' is no input."},
      {"f[N", "math.exp: 'f[N' is no input."},
      {"fN]", "math.exp: 'fN]' is no input."},
      {"g[N]", "math.exp: 'g' is no kind of input."},
      {"f[n]", "math.exp: 'n' is no extent."},
      {"f[2*]", "math.exp: '2*' is no extent."},
      {"f[1.5]", "math.exp: '1.5' is no extent."},
      {"i32<x[N]", "math.exp: 'x' is no extent."},
      {"i33<4[N]", "math.exp: 'i33<4' is no kind of input."},
  };
  for (const auto& row : rows) EXPECT_EQ(meaning(row.input), row.meaning) << row.input;
}

// A table in the program still has typos.
TEST(CaseLanguage, DefectsNameTheRow) {
  const auto error = [](CaseRow row) {
    const auto pattern = parse_case_row(row, builtin_ops());
    return pattern ? "no error" : pattern.error().message;
  };
  EXPECT_EQ(error({"no.such", "f[N]", "", "", ""}),
            "The case table names no operation with 'no.such'.");
  EXPECT_EQ(error({"math.exp", "f[N]", "", "N", ""}), "math.exp: 'N' is no size.");
  EXPECT_EQ(error({"math.exp", "f[N]", "", "N=x", ""}), "math.exp: 'N=x' is no size.");
  EXPECT_EQ(error({"math.exp", "f[N]", "", "NN=3", ""}), "math.exp: 'NN=3' is no size.");
  EXPECT_NE(error({"math.exp", "f[N]", "alpha=1", "", ""}).find("math.exp"), std::string::npos);
  // Several operations share a row; the one that does not fit is named.
  EXPECT_NE(error({"math.scale math.exp", "f[N]", "factor=1", "", ""}).find("math.exp"),
            std::string::npos);
}

// They share inputs and sizes.
TEST(CaseLanguage, OneRowServesSeveralOperations) {
  const auto patterns =
      parse_case_row({"math.exp math.log  math.sin", "f[N]", "", "N=2; N=3", "N"}, builtin_ops());
  ASSERT_TRUE(patterns);
  ASSERT_EQ(patterns->size(), 3u);
  EXPECT_EQ((*patterns)[2].op->id, "math.sin");
  for (const CasePattern& pattern : *patterns) {
    EXPECT_EQ(pattern.sizes.size(), 2u);
    EXPECT_EQ(pattern.batch, 'N');
  }
}

// Certificates are read by people.
TEST(CaseLanguage, SizesAreDescribedByPort) {
  const auto text = [](CaseRow row) {
    const auto pattern = parsed(row);
    EXPECT_TRUE(pattern);
    return describe_sizes(*pattern, pattern->sizes[0]);
  };
  EXPECT_EQ(text({"math.rmsnorm", "f[N,D] f[D]", "", "N=3 D=5", ""}), "x [3, 5], weight [5]");
  EXPECT_EQ(text({"math.layernorm", "f[N,D] - f[D]", "", "N=3 D=5", ""}), "x [3, 5], bias [5]");
  EXPECT_EQ(text({"activation.glu", "f[N,2*D]", "", "N=0 D=5", ""}), "x [0, 10]");
  EXPECT_EQ(text({"math.add", "f[] f[]", "", "", ""}), "x [], y []");
  EXPECT_EQ(text({"masking.causal", "", "seq_len=5", "", ""}), "no inputs");
  // All values of a variadic port have its name.
  EXPECT_EQ(text({"shape.concat", "f[N] f[N] f[D]", "", "N=2 D=3", ""}), "a [2], a [2], a [3]");
}

// Fixed ones do not.
TEST(CaseLanguage, DtypesFollowTheOneUnderTest) {
  InputPattern fixed{.type = TypeKind::kFixed, .dtype = DType::kI16};
  InputPattern real{.type = TypeKind::kFloat}, compute{.type = TypeKind::kCompute};
  InputPattern number{.type = TypeKind::kNumber}, complex{.type = TypeKind::kComplex};
  struct {
    DType tested, real, compute, number, complex;
  } rows[] = {
      {DType::kF64, DType::kF64, DType::kF64, DType::kF64, DType::kComplex128},
      {DType::kF32, DType::kF32, DType::kF32, DType::kF32, DType::kComplex64},
      {DType::kF16, DType::kF16, DType::kF32, DType::kF16, DType::kComplex64},
      {DType::kI8, DType::kI8, DType::kF32, DType::kI8, DType::kComplex64},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(dtype_of(fixed, row.tested), DType::kI16);
    EXPECT_EQ(dtype_of(real, row.tested), row.real);
    EXPECT_EQ(dtype_of(compute, row.tested), row.compute);
    EXPECT_EQ(dtype_of(number, row.tested), row.number);
    EXPECT_EQ(dtype_of(complex, row.tested), row.complex);
  }
}

// splitmix64 of the seed 0: the first words of the reference implementation.
TEST(CaseRandomWords, AreSplitmix64) {
  CaseRandom random(0);
  EXPECT_EQ(random.next(), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(random.next(), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(random.next(), 0x06C45D188009454Fu);
  CaseRandom uniform(9);
  for (int i = 0; i < 1000; ++i) {
    const double u = uniform.uniform();
    EXPECT_TRUE(u >= 0 && u < 1);
  }
}

std::vector<double> drawn(std::string_view input, const SymbolValues& sizes, ValueSet set,
                          DType dtype = DType::kF32, uint64_t seed = 3) {
  const auto pattern = parsed({"math.exp", input, "", "N=1", ""});
  EXPECT_TRUE(pattern);
  const auto tensors = case_inputs(*pattern, sizes, dtype, set, seed);
  EXPECT_TRUE(tensors) << (tensors ? "" : tensors.error().message);
  return *numbers_of(tensors->at(0));
}

// Bound values do not change with the set: a mask or an index must stay one.
TEST(CaseDraws, BoundKindsAreTheSameInAllSets) {
  SymbolValues sizes;
  sizes.set('N', 6);
  for (const char* input : {"f+[N]", "f01[N]", "fp[N,N]", "fup[N]", "fdag[N,N]", "fm[N]", "fb[N]",
                            "i32<N[N]", "i64=4[N]", "act8[N]", "act16[N]", "i64dag[N,N]"}) {
    const auto normal = drawn(input, sizes, ValueSet::kNormal);
    EXPECT_EQ(drawn(input, sizes, ValueSet::kOutliers), normal) << input;
    EXPECT_EQ(drawn(input, sizes, ValueSet::kSpecial), normal) << input;
  }
}

// Each row on its own.
TEST(CaseDraws, RowsOfProbabilitiesSumToOne) {
  SymbolValues sizes;
  sizes.set('N', 7);
  sizes.set('D', 5);
  const auto values = drawn("fp[D,N]", sizes, ValueSet::kNormal, DType::kF64);
  for (size_t row = 0; row < 5; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 7; ++i) sum += values[row * 7 + i];
    EXPECT_NEAR(sum, 1, 1e-14);
  }
}

// A factorisation by hand succeeds.
TEST(CaseDraws, PositiveDefiniteMatricesAre) {
  SymbolValues sizes;
  for (const int64_t n : {1, 2, 5, 9}) {
    sizes.set('N', n);
    const auto a = drawn("fspd[N,N]", sizes, ValueSet::kNormal, DType::kF64);
    const auto at = [&](int64_t i, int64_t j) { return a[static_cast<size_t>(i * n + j)]; };
    // Cholesky succeeds, and the matrix equals its transpose.
    std::vector<double> l(a.size());
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        EXPECT_EQ(at(i, j), at(j, i));
        double sum = at(i, j);
        for (int64_t k = 0; k < j; ++k) {
          sum -= l[static_cast<size_t>(i * n + k)] * l[static_cast<size_t>(j * n + k)];
        }
        if (i == j) {
          ASSERT_GT(sum, 0.5);  // the identity was added
          l[static_cast<size_t>(i * n + i)] = std::sqrt(sum);
        } else {
          l[static_cast<size_t>(i * n + j)] = sum / l[static_cast<size_t>(j * n + j)];
        }
      }
    }
  }
}

// Activations leave out the lowest code, which quant.dynamic never makes.
TEST(CaseDraws, ActivationsFillTheirRange) {
  SymbolValues sizes;
  sizes.set('N', 20000);
  const auto narrow = drawn("act8[N]", sizes, ValueSet::kNormal);
  EXPECT_EQ(std::ranges::min(narrow), -127);
  EXPECT_EQ(std::ranges::max(narrow), 127);
  const auto wide = drawn("act16[N]", sizes, ValueSet::kNormal);
  EXPECT_GE(std::ranges::min(wide), -32639);
  EXPECT_LT(std::ranges::min(wide), -32000);
  EXPECT_LE(std::ranges::max(wide), 32639);
}

// Small numbers alone would hide overflows.
TEST(CaseDraws, IntegersHaveAllTheirBits) {
  SymbolValues sizes;
  sizes.set('N', 400);
  for (const DType dtype : {DType::kI8, DType::kU16, DType::kI32}) {
    const auto values = drawn("n[N]", sizes, ValueSet::kNormal, dtype);
    const double top = std::ldexp(1.0, 8 * dtype_info(dtype).block_bytes - 1);
    const bool is_signed = dtype != DType::kU16;
    EXPECT_GT(std::ranges::max(values), 0.9 * (is_signed ? top : 2 * top)) << dtype_name(dtype);
    EXPECT_LT(std::ranges::min(values), is_signed ? -0.9 * top : 0.2 * top) << dtype_name(dtype);
  }
}

// Rows of no elements.
TEST(CaseDraws, NothingIsDrawnForEmptyTensors) {
  SymbolValues sizes;
  sizes.set('N', 0);
  for (const char* input : {"f[N]", "fp[N,3]", "fup[N]", "i32<N[N]", "fspd[N,N]", "fdag[N,N]"}) {
    EXPECT_TRUE(drawn(input, sizes, ValueSet::kNormal).empty()) << input;
  }
}

// They stand in certificates.
TEST(ValueSets, HaveNames) {
  EXPECT_EQ(value_set_name(ValueSet::kNormal), "normal");
  EXPECT_EQ(value_set_name(ValueSet::kOutliers), "outliers");
  EXPECT_EQ(value_set_name(ValueSet::kSpecial), "special");
}

// Whether the sets differ at all decides how often a pattern runs.
TEST(ValueSets, DifferWhereThereAreFreeFloats) {
  const auto is_free = [](const char* input) {
    return has_free_floats(*parsed({"math.exp", input, "", "N=1", ""}));
  };
  EXPECT_TRUE(is_free("f[N]"));
  EXPECT_TRUE(is_free("n[N]"));
  EXPECT_TRUE(is_free("c[N]"));
  EXPECT_TRUE(is_free("s[N]"));
  EXPECT_TRUE(is_free("f32[N]"));
  EXPECT_FALSE(is_free("f+[N]"));
  EXPECT_FALSE(is_free("fp[N]"));
  EXPECT_FALSE(is_free("i8[N]"));
  EXPECT_FALSE(is_free("q4_0[N]"));
  EXPECT_FALSE(is_free("-"));
}

}  // namespace
}  // namespace quern
