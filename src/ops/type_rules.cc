// Checks that type rules share.
#include "ops/type_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/fail.h"
#include "ir/tensor_type.h"
#include "ir/variadic_port.h"

namespace quern::type_rules {

Result<void> expect_float(std::string_view port, const TensorType& type) {
  if (is_float(type.dtype)) return {};
  return fail::invalid("Port '{}' has type {}; it needs floating-point elements.", port,
                       type.to_string());
}

Result<void> expect_number(std::string_view port, const TensorType& type) {
  const DTypeInfo& info = dtype_info(type.dtype);
  // Booleans and integers of 2 or 4 bits share bytes: a kernel cannot address one.
  if (info.is_float || (info.is_integer && info.block_size == 1)) return {};
  return fail::invalid("Port '{}' has type {}; it needs floats, or integers of 8 bits or more.",
                       port, type.to_string());
}

Result<void> expect_dtype(std::string_view port, const TensorType& type,
                          std::initializer_list<DType> allowed) {
  if (std::ranges::find(allowed, type.dtype) != allowed.end()) return {};
  // The names are gathered for the error alone.
  std::vector<std::string_view> names;
  for (const DType dtype : allowed) names.push_back(dtype_name(dtype));
  return fail::invalid("Port '{}' has type {}; its elements must be {}.", port, type.to_string(),
                       fmt::join(names, " or "));
}

Result<void> expect_rank(std::string_view port, const TensorType& type, int rank) {
  if (type.rank() == rank) return {};
  return fail::invalid("Port '{}' has type {}; it needs rank {}.", port, type.to_string(), rank);
}

Result<void> expect_rank_at_least(std::string_view port, const TensorType& type, int rank) {
  if (type.rank() >= rank) return {};
  return fail::invalid("Port '{}' has type {}; it needs rank {} or more.", port, type.to_string(),
                       rank);
}

Result<void> expect_dim(std::string_view port, const TensorType& type, int axis, const Dim& wanted,
                        std::string_view meaning) {
  const Dim& found = type.dims[static_cast<size_t>(axis)];
  // As written: a symbol matches itself, and no constant that it may turn out to be.
  if (found == wanted) return {};
  return fail::invalid("Port '{}' has type {}; the extent of axis {} must be {}, {}.", port,
                       type.to_string(), axis, dim_to_string(wanted), meaning);
}

Result<void> expect_vector(std::string_view port, const TensorType* type, const Dim& wanted,
                           std::string_view meaning) {
  // An absent port has no type that could be wrong.
  if (type == nullptr) return {};
  QUERN_TRY(expect_float(port, *type));
  QUERN_TRY(expect_rank(port, *type, 1));
  return expect_dim(port, *type, 0, wanted, meaning);
}

Result<int64_t> constant_dim(std::string_view port, const TensorType& type, int axis) {
  const Dim& dim = type.dims[static_cast<size_t>(axis)];
  // A constant is a factor without a symbol.
  if (dim.is_constant()) return dim.factor;
  return fail::invalid("Port '{}' has type {}; the extent of axis {} must be a constant.", port,
                       type.to_string(), axis);
}

Result<void> expect_declared(std::string_view attribute, int64_t declared, const Dim& found,
                             std::string_view meaning) {
  // 0 is the default of these attributes: nothing was declared.
  if (declared == 0 || found == Dim::constant(declared)) return {};
  return fail::invalid("Attribute '{}' is {}; it must be {}, {}.", attribute, declared,
                       dim_to_string(found), meaning);
}

Result<void> expect_no_wider(std::string_view port, const TensorType* type, const TensorType& x) {
  // Of the floats only f64 is wider than the f32 that all others compute in.
  if (type == nullptr || type->dtype != DType::kF64 || x.dtype == DType::kF64) return {};
  return fail::invalid("Port '{}' has type {}, which is wider than the {} it works on.", port,
                       type->to_string(), x.to_string());
}

TensorType with_last_dim(const TensorType& type, DType dtype, const Dim& last) {
  // Needs an axis to drop: callers have checked the rank.
  std::vector<Dim> dims(type.dims.begin(), type.dims.end() - 1);
  dims.push_back(last);
  return {.dtype = dtype, .dims = std::move(dims)};
}

Result<int> resolve_axis(std::string_view attribute, int64_t axis, int rank) {
  // -1 is the last axis, -rank the first.
  const int64_t resolved = axis < 0 ? axis + rank : axis;
  // The comparison comes before the cast, so a huge i64 cannot wrap into range.
  if (resolved >= 0 && resolved < rank) return static_cast<int>(resolved);
  // There is no range of axes to name.
  if (rank == 0) {
    return fail::invalid("Attribute '{}' names axis {}; a tensor of rank 0 has no axes.", attribute,
                         axis);
  }
  return fail::invalid("Attribute '{}' names axis {}; a tensor of rank {} has axes {} to {}.",
                       attribute, axis, rank, -rank, rank - 1);
}

Result<void> expect_whole_elements(std::string_view port, const TensorType& type) {
  // Packed dtypes hold several elements in a block.
  if (dtype_info(type.dtype).block_size == 1) return {};
  return fail::invalid("Port '{}' has type {}; it needs elements of whole bytes.", port,
                       type.to_string());
}

Result<void> check_rank_limit(std::string_view name, int64_t rank) {
  // The extents of a shape live in a fixed array of kMaxRank.
  if (rank <= kMaxRank) return {};
  return fail::invalid("'{}' asks for rank {}; the limit is {}.", name, rank, kMaxRank);
}

std::string port_name(const InferContext& context, size_t port) {
  if (context.op == nullptr || context.op->inputs.empty()) return "input";
  const auto& table = context.op->table_inputs;
  // The form `table` has names of its own.
  if (port < table.size() && context.attributes.text("form") == "table") return table[port];
  return input_name(context.op->inputs, port);
}

Result<void> expect_same_type(const InferContext& context, size_t port, const TensorType& wanted,
                              std::string_view other) {
  const TensorType& found = *context.inputs[port];
  if (found == wanted) return {};
  return fail::invalid("Port '{}' has type {}; it needs the type of '{}', {}.",
                       port_name(context, port), found.to_string(), other, wanted.to_string());
}

Result<void> expect_type(const InferContext& context, size_t port, const TensorType& wanted,
                         std::string_view meaning) {
  const TensorType& found = *context.inputs[port];
  if (found == wanted) return {};
  return fail::invalid("Port '{}' has type {}; it must be {}, {}.", port_name(context, port),
                       found.to_string(), wanted.to_string(), meaning);
}

}  // namespace quern::type_rules
