// The language of the case table, and the values drawn from it.
#include "conformance/case_pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "conformance/case_values.h"
#include "conformance/error_units.h"
#include "conformance/host_values.h"

namespace quern {
namespace {

CasePattern parse(CaseRow row) {
  auto patterns = parse_case_row(row, builtin_ops());
  EXPECT_TRUE(patterns) << patterns.error().message;
  return patterns && !patterns->empty() ? patterns->front() : CasePattern();
}

std::vector<double> drawn(const char* input, int64_t n, ValueSet set = ValueSet::kNormal,
                          DType dtype = DType::kF32) {
  CasePattern pattern = parse({"math.exp", input, "", "N=1", ""});
  SymbolValues sizes;
  sizes.set('N', n);
  const auto tensors = case_inputs(pattern, sizes, dtype, set, 7);
  EXPECT_TRUE(tensors);
  return *numbers_of(tensors->at(0));
}

// The table is text in the program.
TEST(CaseTable, EveryRowParses) {
  for (const CaseRow& row : case_rows()) {
    const auto patterns = parse_case_row(row, builtin_ops());
    ASSERT_TRUE(patterns) << row.ids << ": " << patterns.error().message;
    for (const CasePattern& pattern : *patterns) {
      EXPECT_TRUE(pattern.op->alias_of.empty()) << pattern.op->id;
      EXPECT_FALSE(pattern.sizes.empty());
    }
  }
}

// Operations that only bind values, and those on states, have no rows.
TEST(CaseTable, CoversEveryOperation) {
  std::set<std::string> covered;
  for (const CaseRow& row : case_rows()) {
    const auto patterns = parse_case_row(row, builtin_ops());
    for (const CasePattern& pattern : *patterns) {
      covered.insert(pattern.op->id);
    }
  }
  for (const OpDef* op : builtin_ops().list()) {
    const bool has_rows =
        op->alias_of.empty() && op->reference != nullptr && op->find_attribute("state") == nullptr;
    EXPECT_EQ(covered.contains(op->id), has_rows) << op->id;
  }
}

// The parts of a word.
TEST(CasePattern, ReadsExtentsAndKinds) {
  const CasePattern pattern =
      parse({"math.layernorm", "f[N,2*D] - f[7]", "eps=0.5", "N=2 D=3; N=0 D=1", "N"});
  ASSERT_EQ(pattern.inputs.size(), 3u);
  EXPECT_EQ(pattern.inputs[0].extents,
            (std::vector<Dim>{Dim::symbolic('N'), Dim::symbolic('D', 2)}));
  EXPECT_TRUE(pattern.inputs[1].is_absent);
  EXPECT_EQ(pattern.inputs[2].extents, (std::vector<Dim>{Dim::constant(7)}));
  EXPECT_EQ(pattern.attributes.number("eps"), 0.5);
  ASSERT_EQ(pattern.sizes.size(), 2u);
  EXPECT_EQ(pattern.sizes[1].get('N'), 0);
  EXPECT_EQ(pattern.batch, 'N');
  EXPECT_EQ(describe_sizes(pattern, pattern.sizes[0]), "x [2, 6], bias [7]");
}

// What kernels get wrong first.
TEST(CasePattern, StandardSizesHaveZeroOneOddPrimeAndLarge) {
  const CasePattern pattern = parse({"math.softmax", "f[N,D]", "", "", ""});
  std::set<int64_t> rows, columns;
  for (const SymbolValues& sizes : pattern.sizes) {
    rows.insert(sizes.get('N'));
    columns.insert(sizes.get('D'));
  }
  EXPECT_EQ(rows, (std::set<int64_t>{0, 1, 2, 3, 7, 67}));
  EXPECT_EQ(columns, (std::set<int64_t>{0, 1, 5, 13, 65, 4099}));
}

// And not on others.
TEST(CasePattern, RunsOnTheDtypesOfItsKind) {
  EXPECT_EQ(parse({"math.exp", "f[N]", "", "", ""}).dtypes().size(), 6u);
  EXPECT_EQ(parse({"math.add", "n[N] n[N]", "", "", ""}).dtypes().size(), 14u);
  EXPECT_EQ(parse({"physics.fft1d", "c[N]", "", "", ""}).dtypes().size(), 2u);
  EXPECT_EQ(parse({"pospop.count8", "u64[8] u8[N]", "", "", ""}).dtypes().size(), 1u);
  EXPECT_EQ(dtype_of({.type = TypeKind::kCompute}, DType::kF16), DType::kF32);
  EXPECT_EQ(dtype_of({.type = TypeKind::kCompute}, DType::kF64), DType::kF64);
  EXPECT_EQ(dtype_of({.type = TypeKind::kComplex}, DType::kF64), DType::kComplex128);
}

// Never a case that is left out in silence.
TEST(CasePattern, DefectsAreErrors) {
  for (const CaseRow& row :
       {CaseRow{"no.such", "f[N]", "", "", ""}, CaseRow{"math.exp", "g[N]", "", "", ""},
        CaseRow{"math.exp", "f[N", "", "", ""}, CaseRow{"math.exp", "f[n]", "", "", ""},
        CaseRow{"math.exp", "f[N]", "a=1", "", ""}, CaseRow{"math.exp", "f[N]", "", "N", ""}}) {
    EXPECT_FALSE(parse_case_row(row, builtin_ops())) << row.ids << " " << row.inputs;
  }
}

// A failure must be found again.
TEST(CaseValues, RepeatBySeedAndDifferByInput) {
  const CasePattern pattern = parse({"math.add", "f[N] f[N]", "", "N=64", ""});
  const auto draw = [&](uint64_t seed) {
    return *case_inputs(pattern, pattern.sizes[0], DType::kF32, ValueSet::kNormal, seed);
  };
  EXPECT_EQ(bit_difference(draw(1)[0], draw(1)[0]), "");
  EXPECT_NE(bit_difference(draw(1)[0], draw(2)[0]), "");
  EXPECT_NE(bit_difference(draw(1)[0], draw(1)[1]), "");
}

// A mask of other numbers tests nothing.
TEST(CaseValues, KeepTheirKinds) {
  for (const double v : drawn("f+[N]", 100)) EXPECT_GT(v, 0);
  for (const double v : drawn("f01[N]", 100)) EXPECT_TRUE(v >= 0 && v <= 1);
  for (const double v : drawn("fb[N]", 100)) EXPECT_TRUE(v == 0 || v == 1);
  for (const double v : drawn("fm[N]", 100)) EXPECT_TRUE(v == 0 || v == -HUGE_VAL);
  for (const double v : drawn("i32<5[N]", 100)) EXPECT_TRUE(v >= 0 && v < 5);
  for (const double v : drawn("i64=9[N]", 10)) EXPECT_EQ(v, 9);
  for (const double v : drawn("act8[N]", 1000)) EXPECT_TRUE(std::abs(v) <= 127);
  const auto ascending = drawn("fup[N]", 50);
  EXPECT_TRUE(std::ranges::is_sorted(ascending));
  const auto offsets = drawn("i64up<9[N]", 20);
  EXPECT_TRUE(std::ranges::is_sorted(offsets));
  EXPECT_EQ(offsets[0], 0);
  EXPECT_LE(offsets.back(), 9);
  double sum = 0;
  for (const double v : drawn("fp[N]", 50)) sum += v;
  EXPECT_NEAR(sum, 1, 1e-5);
  const auto dag = drawn("fdag[N,N]", 3);
  for (const int i : {0, 3, 4, 6, 7, 8}) EXPECT_EQ(dag[static_cast<size_t>(i)], 0);
  const auto spd = drawn("fspd[N,N]", 3);
  EXPECT_EQ(spd[1], spd[3]);
  EXPECT_GT(spd[0] * spd[4] - spd[1] * spd[3], 0);
}

// Outliers and special values are really there.
TEST(CaseValues, SetsDiffer) {
  const auto normal = drawn("f[N]", 2000);
  double mean = 0, square = 0;
  for (const double v : normal) {
    mean += v / 2000;
    square += v * v / 2000;
    EXPECT_LT(std::abs(v), 7);
  }
  EXPECT_NEAR(mean, 0, 0.1);
  EXPECT_NEAR(square, 1, 0.15);
  const auto outliers = drawn("f[N]", 2000, ValueSet::kOutliers);
  EXPECT_GT(std::ranges::max(outliers), 500);
  const auto special = drawn("f[N]", 2000, ValueSet::kSpecial);
  for (const auto& is :
       {+[](double v) { return std::isnan(v); }, +[](double v) { return std::isinf(v) && v < 0; },
        +[](double v) { return v == 0 && std::signbit(v); },
        +[](double v) { return v != 0 && std::abs(v) < 0x1p-126; }}) {
    EXPECT_TRUE(std::ranges::any_of(special, is));
  }
}

}  // namespace
}  // namespace quern
