// The suites math_numpy (correctly rounded values) and math_directed (special and hard cases).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "ops/math/lane_evaluators.h"
#include "ops/math/ulp_error.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

// By the name of the list; null where we have no such function.
const UnaryEvaluators* find_unary(const std::string& name) {
  const LaneEvaluators lanes = lane_evaluators_portable();
  for (int i = 0; i < lanes.num_unary; ++i) {
    if (name == lanes.unary[i].name) return &lanes.unary[i];
  }
  return nullptr;
}
const BinaryEvaluators* find_binary(const std::string& name) {
  const LaneEvaluators lanes = lane_evaluators_portable();
  for (int i = 0; i < lanes.num_binary; ++i) {
    if (name == lanes.binary[i].name) return &lanes.binary[i];
  }
  return nullptr;
}

// A loop over one element.
template <class T, class Evaluate>
T apply(Evaluate evaluate, T x) {
  T y = 0;
  evaluate(&x, &y, 1);
  return y;
}

// "arccosh" -> "acosh".
std::string c_name(std::string name) {
  if (name.starts_with("arc")) name.erase(1, 2);
  return name;
}

// `limit` in ulps of T. The wider type keeps the subtraction of near values exact.
template <class T, class Bits>
void check_numpy_row(const std::string& name, Bits input, Bits output, double limit) {
  const T x = std::bit_cast<T>(input), expected = std::bit_cast<T>(output);
  T y = 0;
  if constexpr (sizeof(T) == 4) {
    y = apply(find_unary(name)->f32[0], x);
  } else {
    y = apply(find_unary(name)->f64[0], x);
  }
  using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;
  EXPECT_LE(ulp_error(y, Wide{expected}), limit)
      << name << "(" << std::hexfloat << x << ") is " << y << ", not " << expected;
}

// Rows "np.float32,0x3f800000,0x402df854,2"; the fourth column is NumPy's own bound.
int check_numpy_file(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  std::string line;
  int num_rows = 0;
  while (std::getline(file, line)) {
    const auto first = line.find(','), second = line.find(',', first + 1);
    if (!line.starts_with("np.float") || second == std::string::npos) continue;
    const auto input = std::strtoull(line.c_str() + first + 1, nullptr, 16);
    const auto output = std::strtoull(line.c_str() + second + 1, nullptr, 16);
    // Hex bits: no decimal conversion can move an input.
    // The expected value is rounded: half an ulp on top of ours.
    if (line.starts_with("np.float32")) {
      check_numpy_row<float, uint32_t>(name, input, output, 2.5);
    } else {
      check_numpy_row<double, uint64_t>(name, input, output, 4.5);
    }
    ++num_rows;
  }
  return num_rows;
}

// numpy's own validation set, correctly rounded.
TEST(StrictMathSuites, NumpyValues) {
  const fs::path folder = fs::path(QUERN_SUITES_DIR) / "math_numpy/numpy/_core/tests/data";
  if (!fs::exists(folder)) GTEST_SKIP() << "No suite at " << folder;
  const std::string prefix = "umath-validation-set-";
  int num_files = 0, num_rows = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string stem = entry.path().stem().string();
    // "umath-validation-set-arccosh.csv" holds the rows of acosh.
    if (entry.path().extension() != ".csv" || !stem.starts_with(prefix)) continue;
    const std::string name = c_name(stem.substr(prefix.size()));
    ASSERT_NE(find_unary(name), nullptr) << name;
    num_rows += check_numpy_file(entry.path(), name);
    ++num_files;
  }
  // The numbers of the suite: a wrong path or a changed row format must not pass as an empty loop.
  EXPECT_EQ(num_files, 20);
  EXPECT_GE(num_rows, 26000);
}

// A row of math_directed: func=sinf op1=3f800000 result=3f576aa4.4b5 ...
using Fields = std::map<std::string, std::string>;
Fields fields_of(const std::string& line) {
  Fields fields;
  std::istringstream words(line);
  std::string word;
  while (words >> word) {
    const auto equals = word.find('=');
    if (equals != std::string::npos) fields[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return fields;
}

uint64_t hex(const std::string& digits) {
  return std::strtoull(digits.c_str(), nullptr, 16);
}

// "3f800000" (f32) or "3ff00000.00000000" (f64), with any further digits of the result after a dot.
float f32_of(const std::string& text) {
  return std::bit_cast<float>(static_cast<uint32_t>(hex(text.substr(0, 8))));
}
double f64_of(const std::string& text) {
  return std::bit_cast<double>((hex(text.substr(0, 8)) << 32) | hex(text.substr(9, 8)));
}
// The highest bit of the mantissa tells a quiet NaN.
template <class T>
bool is_signalling(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const Bits quiet = Bits{1} << (std::numeric_limits<T>::digits - 2);
  return std::isnan(x) && (std::bit_cast<Bits>(x) & quiet) == 0;
}

// The row's function at the row's operands; false where we have no such function.
template <class T>
bool evaluate_row(const std::string& name, const std::string& op2, T x, T y, T* result) {
  const UnaryEvaluators* unary = find_unary(name);
  const BinaryEvaluators* binary = find_binary(name);
  if (unary == nullptr && (binary == nullptr || op2.empty())) return false;
  if constexpr (sizeof(T) == 4) {
    if (unary != nullptr) unary->f32[0](&x, result, 1);
    if (binary != nullptr) binary->f32[0](&x, &y, result, 1);
  } else {
    if (unary != nullptr) unary->f64[0](&x, result, 1);
    if (binary != nullptr) binary->f64[0](&x, &y, result, 1);
  }
  return true;
}

// False where the function is not ours; a row of signalling NaNs counts as checked.
template <class T>
bool check_directed_row(std::string name, Fields& row, T (*parse)(const std::string&), double limit,
                        const std::string& line) {
  const T x = parse(row["op1"]), expected = parse(row["result"]);
  // Functions of one argument have no op2.
  const T y = row["op2"].empty() ? T(0) : parse(row["op2"]);
  // Signalling NaNs are quiet ones here, and pow(1, NaN) = pow(NaN, 0) = 1.
  if (name == "pow" && (is_signalling(x) || is_signalling(y))) return true;
  T result = 0;
  if (!evaluate_row(name, row["op2"], x, y, &result)) return false;
  using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;
  EXPECT_LE(ulp_error(result, Wide{expected}), limit)
      << line << " gives " << std::hexfloat << result;
  return true;
}

// Special and hard cases of each function.
TEST(StrictMathSuites, DirectedVectors) {
  const fs::path folder = fs::path(QUERN_SUITES_DIR) / "math_directed";
  if (!fs::exists(folder)) GTEST_SKIP() << "No suite at " << folder;
  int num_checked = 0, num_left = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    std::string line;
    while (std::getline(file, line)) {
      // Comments and blank lines.
      if (!line.starts_with("func=")) continue;
      Fields row = fields_of(line);
      std::string name = row["func"];
      if (name.starts_with("sincosf_")) name.erase(0, 8);
      // The suffix f marks f32, except in erf, whose f32 function is erff.
      const bool is_f32 = name.ends_with("f") && name != "erf";
      if (is_f32) name.pop_back();
      // Results are truncated, with further digits after a dot: up to one ulp on top of ours.
      const bool known = is_f32 ? check_directed_row<float>(name, row, f32_of, 3, line)
                                : check_directed_row<double>(name, row, f64_of, 5, line);
      ++(known ? num_checked : num_left);
    }
  }
  EXPECT_GE(num_checked, 2600);
  EXPECT_EQ(num_left, 10);  // exp10
}

}  // namespace
}  // namespace quern
