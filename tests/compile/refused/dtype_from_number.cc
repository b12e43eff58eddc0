// Element types are not numbers.
// Refused: cannot convert|no known conversion|cannot initialize
#include "quern/tensor.h"

quern::Result<quern::Tensor> caller() {
#ifdef REFUSED
  return quern::Tensor::zeros(1, quern::Shape{2});
#else
  return quern::Tensor::zeros(quern::DType::kF32, quern::Shape{2});
#endif
}
