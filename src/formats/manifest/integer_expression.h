// Integer arithmetic inside ${...}: 3, i, model.layers, i - 1, (a + b) * 2 % c.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "quern/error.h"

namespace quern::manifest {

inline constexpr size_t kMaxExpressionBytes = 256;  // bounds the parser's recursion too

// The integer that a name stands for.
using NameLookup = std::function<Result<int64_t>(std::string_view name)>;

// + - * / % with the usual binding, unary minus, parentheses. Division truncates towards zero.
// Errors: kInvalidArgument for malformed text, overflow of i64 and division by zero; those of
// `lookup`.
Result<int64_t> evaluate_expression(std::string_view text, const NameLookup& lookup);

// A letter or '_', then letters, digits, '_' and '.'.
bool is_variable_name(std::string_view text);

}  // namespace quern::manifest
