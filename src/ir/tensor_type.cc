// Tensor types: resolving symbols, printing, parsing.
#include "ir/tensor_type.h"

#include <charconv>

#include "base/checked_math.h"
#include "base/fail.h"

namespace quern {
namespace {

// Blanks around a part.
std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The inverse of layout_name().
std::optional<LayoutKind> find_layout(std::string_view name) {
  for (const LayoutKind kind : {LayoutKind::kRowMajor, LayoutKind::kColumnMajor,
                                LayoutKind::kStrided, LayoutKind::kTiled, LayoutKind::kPrivate}) {
    if (layout_name(kind) == name) return kind;
  }
  return std::nullopt;
}

// The part between brackets: nothing, or dims between commas.
Result<std::vector<Dim>> parse_dims(std::string_view text) {
  std::vector<Dim> dims;
  if (trim(text).empty()) return dims;
  while (true) {
    const size_t comma = text.find(',');
    QUERN_ASSIGN_OR_RETURN(const Dim dim, parse_dim(trim(text.substr(0, comma))));
    dims.push_back(dim);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (dims.size() > kMaxRank) {
    return fail::invalid("A tensor type of rank {} is over the limit of {}.", dims.size(),
                         kMaxRank);
  }
  return dims;
}

}  // namespace

// "64", "T" or "3*T".
std::string dim_to_string(const Dim& dim) {
  if (dim.is_constant()) return fmt::format("{}", dim.factor);
  return dim.factor == 1 ? std::string(1, dim.symbol)
                         : fmt::format("{}*{}", dim.factor, dim.symbol);
}

// "64", "T", "3*T"; nothing else, and no blanks.
Result<Dim> parse_dim(std::string_view text) {
  Dim dim;
  std::string_view rest = text;
  if (!rest.empty() && rest.back() >= 'A' && rest.back() <= 'Z') {
    dim.symbol = rest.back();
    rest.remove_suffix(1);
    if (rest.empty()) return dim;
    // The asterisk is taken only between a number and a letter: "*T" leaves no number, which fails
    // below.
    // "3*T" and "3T" mean the same.
    if (rest.back() == '*') rest.remove_suffix(1);
  }
  // The whole rest must be digits that fit an int64; from_chars() would take a minus sign, which
  // the last test refuses.
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), dim.factor);
  if (code != std::errc{} || end != rest.data() + rest.size() || dim.factor < 0) {
    return fail::invalid("'{}' is not a dim; a dim is a number, a letter or number*letter.", text);
  }
  return dim;
}

// DTYPE[dims] with an optional @LAYOUT.
Result<TensorType> parse_tensor_type(std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return fail::invalid("'{}' is not a tensor type such as f32[T, 64].", text);
  }
  const auto dtype = find_dtype(text.substr(0, open));
  if (!dtype) return fail::invalid("'{}' is not a dtype.", text.substr(0, open));
  TensorType type{*dtype, {}, LayoutKind::kRowMajor};
  QUERN_ASSIGN_OR_RETURN(type.dims, parse_dims(text.substr(open + 1, close - open - 1)));
  const std::string_view suffix = text.substr(close + 1);
  if (suffix.empty()) return type;
  const auto layout = suffix.front() == '@' ? find_layout(suffix.substr(1)) : std::nullopt;
  if (!layout) return fail::invalid("'{}' is not a layout of a tensor type.", suffix);
  type.layout = *layout;
  return type;
}

// Whether all extents are numbers.
bool TensorType::is_static() const {
  for (const Dim& dim : dims) {
    if (!dim.is_constant()) return false;
  }
  return true;
}

// The text that parse_tensor_type() reads.
std::string TensorType::to_string() const {
  std::string text = fmt::format("{}[", dtype_name(dtype));
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += dim_to_string(dims[i]);
  }
  text += ']';
  if (layout != LayoutKind::kRowMajor) text += fmt::format("@{}", layout_name(layout));
  return text;
}

// The shape under given values of the symbols.
Result<Shape> TensorType::resolve(const SymbolValues& symbols) const {
  // Types that were made by hand may have any rank.
  std::array<int64_t, kMaxRank> extents{};
  if (dims.size() > kMaxRank) return fail::invalid("Rank {} is over {}.", dims.size(), kMaxRank);
  for (size_t i = 0; i < dims.size(); ++i) {
    extents[i] = dims[i].factor;
    if (dims[i].is_constant()) continue;
    const int64_t value = symbols.get(dims[i].symbol);
    // SymbolValues gives -1 for symbols without a value; 0 is one (no tokens).
    if (value < 0) return fail::precondition("Symbol {} has no value yet.", dims[i].symbol);
    const auto product = checked_multiply(value, dims[i].factor);
    if (!product) return fail::invalid("Extent {} * {} is too large.", dims[i].factor, value);
    extents[i] = *product;
  }
  return Shape::make({extents.data(), dims.size()});
}

}  // namespace quern
