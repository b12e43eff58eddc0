// Arithmetic and subscripts of values, as Python's.
#pragma once

#include "quern/error.h"
#include "text/jinja/ast.h"
#include "text/jinja/heap.h"

namespace quern::jinja {

// Errors: kInvalidArgument (types without the operation, division by zero, integers past 64 bits),
// kResourceExhausted.
Result<Value> apply_binary(Heap& heap, BinaryOp op, const Value& a, const Value& b);
// Operators on values as Python has them. Errors: kInvalidArgument, naming the operator and the
// types;
// integers that leave 64 bits; kResourceExhausted.
Result<Value> apply_unary(UnaryOp op, const Value& operand);
// One comparison; `in` looks into texts, lists and dicts.
Result<bool> apply_compare(Heap& heap, CompareOp op, const Value& a, const Value& b);

// a ~ b ~ c: the texts one after the other.
Result<Value> concatenate(Heap& heap, const std::vector<Value>& operands);

// value[begin:end:step] of a string or sequence; none stands for an absent bound.
Result<Value> slice(Heap& heap, const Value& value, const Value& begin, const Value& end,
                    const Value& step);

}  // namespace quern::jinja
