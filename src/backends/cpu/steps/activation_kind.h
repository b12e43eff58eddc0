// What a product step's activations are, from their dtype.
#pragma once

#include "backends/cpu/kernels/packed_weight.h"

namespace quern::cpu {

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

}  // namespace quern::cpu
