// What a product step's activations are, from their dtype.
#pragma once

#include <string_view>

#include "backends/cpu/kernels/packed_weight.h"

namespace quern::cpu {

// Integers of quant.dynamic are int8 or int16; other floats than f64 are widened to f32.
inline ActivationKind activation_kind_of(DType x) {
  switch (x) {
    case DType::kI8:
      return ActivationKind::kInt8;
    case DType::kI16:
      return ActivationKind::kInt16;
    case DType::kF64:
      return ActivationKind::kF64;
    default:
      return ActivationKind::kF32;
  }
}

inline std::string_view activation_kind_name(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kInt8:
      return "int8";
    case ActivationKind::kInt16:
      return "int16";
    case ActivationKind::kF64:
      return "f64";
    case ActivationKind::kF32:
      return "f32";
  }
  return "";
}

}  // namespace quern::cpu
