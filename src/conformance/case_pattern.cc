// A small language for inputs: see case_table.h.
#include "conformance/case_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/fail.h"
#include "conformance/op_arguments.h"

namespace quern {
namespace {

// Parts between separators, without empty ones.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    const std::string_view part = text.substr(0, end);
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

// "7", "N" or "2*N".
Result<Dim> parse_extent(std::string_view text) {
  Dim dim = Dim::constant(1);
  if (!text.empty() && text.back() >= 'A' && text.back() <= 'Z') {
    // Upper-case letters are symbols, one each.
    dim.symbol = text.back();
    text.remove_suffix(1);
    if (text.empty()) return dim;
    if (text.back() == '*') text.remove_suffix(1);
  }
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), dim.factor);
  if (code != std::errc{} || end != text.data() + text.size()) {
    return fail::internal("'{}' is no extent.", text);
  }
  return dim;
}

// A word of the language: how the dtype is chosen, and how values are drawn.
struct KindName {
  std::string_view name;
  TypeKind type;
  ValueKind values;
  DType dtype = DType::kF32;
};

// The words of the table's inputs; a dtype's own name is a word too.
constexpr KindName kKinds[] = {
    {"f", TypeKind::kFloat, ValueKind::kNumbers},
    {"f+", TypeKind::kFloat, ValueKind::kPositive},
    {"f01", TypeKind::kFloat, ValueKind::kUnitInterval},
    {"fp", TypeKind::kFloat, ValueKind::kProbabilities},
    {"fup", TypeKind::kFloat, ValueKind::kAscending},
    {"fspd", TypeKind::kFloat, ValueKind::kPositiveDefinite},
    {"fdag", TypeKind::kFloat, ValueKind::kStrictlyUpper},
    {"fm", TypeKind::kFloat, ValueKind::kMask},
    {"fb", TypeKind::kFloat, ValueKind::kBinary},
    {"s", TypeKind::kCompute, ValueKind::kNumbers},
    {"s+", TypeKind::kCompute, ValueKind::kPositive},
    {"n", TypeKind::kNumber, ValueKind::kNumbers},
    {"c", TypeKind::kComplex, ValueKind::kNumbers},
    {"f32+", TypeKind::kFixed, ValueKind::kPositive, DType::kF32},
    {"act8", TypeKind::kFixed, ValueKind::kActivations, DType::kI8},
    {"act16", TypeKind::kFixed, ValueKind::kActivations, DType::kI16},
    {"i64dag", TypeKind::kFixed, ValueKind::kStrictlyUpper, DType::kI64},
};

// The kind, with a limit after '<' or '='.
Result<InputPattern> parse_kind(std::string_view text) {
  InputPattern input;
  const size_t mark = text.find_first_of("<=");
  // "i32<V" is an index below V, "i32=9" the constant 9, "i64up<N" ascending up to N.
  std::string_view name = text.substr(0, mark);
  if (mark != std::string_view::npos) {
    input.values = text[mark] == '<' ? ValueKind::kIndices : ValueKind::kConstant;
    QUERN_ASSIGN_OR_RETURN(input.limit, parse_extent(text.substr(mark + 1)));
    if (name.ends_with("up")) {
      input.values = ValueKind::kAscending;
      name.remove_suffix(2);
    }
  }
  const auto* known = std::ranges::find(kKinds, name, &KindName::name);
  if (known != std::end(kKinds)) {
    input.type = known->type;
    input.dtype = known->dtype;
    input.values = known->values;
    return input;
  }
  const auto dtype = find_dtype(name);
  if (!dtype) return fail::internal("'{}' is no kind of input.", text);
  input.dtype = *dtype;
  return input;
}

// KIND[extents], or "-" for an absent port.
Result<InputPattern> parse_input(std::string_view text) {
  if (text == "-") return InputPattern{.is_absent = true, .limit = {}, .extents = {}};
  const size_t open = text.find('[');
  if (open == std::string_view::npos || !text.ends_with(']')) {
    return fail::internal("'{}' is no input.", text);
  }
  QUERN_ASSIGN_OR_RETURN(InputPattern input, parse_kind(text.substr(0, open)));
  for (const std::string_view extent : split(text.substr(open + 1, text.size() - open - 2), ',')) {
    QUERN_ASSIGN_OR_RETURN(const Dim dim, parse_extent(extent));
    input.extents.push_back(dim);
  }
  return input;
}

// Symbols in the order in which inputs name them.
std::string symbols_of(const CasePattern& pattern) {
  // In order of appearance: standard_sizes() gives the first symbol other extents than the second.
  std::string symbols;
  for (const InputPattern& input : pattern.inputs) {
    for (const Dim& dim : input.extents) {
      if (!dim.is_constant() && symbols.find(dim.symbol) == std::string::npos)
        symbols += dim.symbol;
    }
  }
  return symbols;
}

// Lists of bindings "N=3 D=5", separated by semicolons; none in an empty text.
Result<std::vector<SymbolValues>> parse_sizes(std::string_view text) {
  std::vector<SymbolValues> sizes;
  for (const std::string_view list : split(text, ';')) {
    SymbolValues values;
    for (const std::string_view binding : split(list, ' ')) {
      int64_t value = 0;
      const char* end = binding.data() + binding.size();
      const bool is_named = binding.size() > 2 && binding[1] == '=';
      if (!is_named || std::from_chars(binding.data() + 2, end, value).ptr != end) {
        return fail::internal("'{}' is no size.", binding);
      }
      values.set(binding[0], value);
    }
    sizes.push_back(values);
  }
  return sizes;
}

// 0, 1, odd, prime and larger than a tile or a chunk of a reduction, along each symbol.
std::vector<SymbolValues> standard_sizes(const std::string& symbols) {
  // Different extents for neighbours, so that a mixed-up axis changes the shape. 67 and 65 are one
  // row more than a tile of 64 and than a chunk of 64 keys.
  constexpr std::array kOdd = {3, 5, 7}, kPrime = {7, 13, 3}, kTile = {67, 65, 3};
  std::vector<SymbolValues> sizes;
  const auto add = [&](auto&& extent_of) {
    SymbolValues values;
    for (size_t i = 0; i < symbols.size(); ++i) values.set(symbols[i], extent_of(i));
    sizes.push_back(values);
  };
  add([](size_t) { return 1; });
  add([&](size_t i) { return kOdd[i % 3]; });
  add([&](size_t i) { return kPrime[i % 3]; });
  add([&](size_t i) { return kTile[i % 3]; });
  // Each symbol alone is 0: empty rows, no rows, empty channels.
  for (size_t zero = 0; zero < symbols.size(); ++zero) {
    add([&](size_t i) { return i == zero ? 0 : kOdd[i % 3]; });
  }
  // Past a chunk of 4,096 elements, and prime; only where there are one or two symbols, or the case
  // would be large.
  if (symbols.size() <= 2) add([&](size_t i) { return i + 1 == symbols.size() ? 4099 : 2; });
  if (symbols.empty()) sizes.resize(1);
  return sizes;
}

// One row of the table for one of its operations.
Result<CasePattern> parse_pattern(const CaseRow& row, const OpDef& op) {
  CasePattern pattern{.op = &op, .attributes = {}, .inputs = {}, .sizes = {}};
  std::vector<std::string> attributes;
  for (const std::string_view text : split(row.attributes, ' ')) attributes.emplace_back(text);
  QUERN_ASSIGN_OR_RETURN(pattern.attributes, parse_attributes(op, attributes));
  for (const std::string_view text : split(row.inputs, ' ')) {
    QUERN_ASSIGN_OR_RETURN(InputPattern input, parse_input(text));
    pattern.inputs.push_back(std::move(input));
  }
  QUERN_ASSIGN_OR_RETURN(pattern.sizes, parse_sizes(row.sizes));
  if (pattern.sizes.empty()) pattern.sizes = standard_sizes(symbols_of(pattern));
  if (!row.batch.empty()) pattern.batch = row.batch[0];
  return pattern;
}

constexpr std::array kFloats = {DType::kF64,  DType::kF32,    DType::kF16,
                                DType::kBF16, DType::kF8E4M3, DType::kF8E5M2};
constexpr std::array kIntegers = {DType::kI64, DType::kI32, DType::kI16, DType::kI8,
                                  DType::kU64, DType::kU32, DType::kU16, DType::kU8};

}  // namespace

// The dtypes that a pattern is run with, by the kinds of its inputs; those without a free kind
// run once.
std::vector<DType> CasePattern::dtypes() const {
  const auto has = [&](TypeKind kind) {
    return std::ranges::find(inputs, kind, &InputPattern::type) != inputs.end();
  };
  // Complex cases have two precisions, named by their real parts.
  if (has(TypeKind::kComplex)) return {DType::kF64, DType::kF32};
  std::vector<DType> dtypes;
  if (has(TypeKind::kFloat) || has(TypeKind::kNumber)) {
    dtypes.assign(kFloats.begin(), kFloats.end());
  }
  if (has(TypeKind::kNumber)) dtypes.insert(dtypes.end(), kIntegers.begin(), kIntegers.end());
  if (dtypes.empty()) dtypes.push_back(DType::kF32);
  return dtypes;
}

// A row names several operations with the same inputs.
Result<std::vector<CasePattern>> parse_case_row(const CaseRow& row, const OpRegistry& ops) {
  std::vector<CasePattern> patterns;
  for (const std::string_view id : split(row.ids, ' ')) {
    const OpDef* op = ops.find(id);
    if (op == nullptr) return fail::internal("The case table names no operation with '{}'.", id);
    auto pattern = parse_pattern(row, *op);
    if (!pattern) return tl::unexpected(pattern.error().with_context(id));
    patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

// The dtype of an input when `tested` is the dtype of the case.
DType dtype_of(const InputPattern& input, DType tested) {
  switch (input.type) {
    case TypeKind::kFixed:
      return input.dtype;
    case TypeKind::kFloat:
    case TypeKind::kNumber:
      return tested;
    case TypeKind::kCompute:
      return tested == DType::kF64 ? DType::kF64 : DType::kF32;
    case TypeKind::kComplex:
      return tested == DType::kF64 ? DType::kComplex128 : DType::kComplex64;
  }
  return tested;
}

// "x [3, 5], weight [7, 5]": for reports.
std::string describe_sizes(const CasePattern& pattern, const SymbolValues& sizes) {
  std::string text;
  const std::vector<PortDef> ports = pattern.op->input_ports(pattern.attributes);
  for (size_t i = 0; i < pattern.inputs.size(); ++i) {
    const InputPattern& input = pattern.inputs[i];
    if (input.is_absent) continue;
    std::vector<int64_t> extents;
    for (const Dim& dim : input.extents) {
      extents.push_back(dim.is_constant() ? dim.factor : dim.factor * sizes.get(dim.symbol));
    }
    text += fmt::format("{}{} [{}]", text.empty() ? "" : ", ",
                        ports[std::min(i, ports.size() - 1)].name, fmt::join(extents, ", "));
  }
  return text.empty() ? "no inputs" : text;
}

}  // namespace quern
