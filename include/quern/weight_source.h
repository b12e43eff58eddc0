// Where a model's weights come from: mapped, streamed or staged one tensor at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/tensor.h"

namespace quern {

// Name, type and shape of a weight; known without touching its bytes. A plain value.
struct WeightInfo {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  // row-major, outermost first: [out, in] for a linear layer
};

// The weights of one model by name. Implemented by the readers of files; a caller may implement it
// to give weights of his own. Thread-safe: calls may run at once.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // All weights, in the order of the file.
  virtual std::vector<WeightInfo> list() const = 0;
  // What `name` is. Errors: kNotFound, naming it.
  virtual Result<WeightInfo> info(std::string_view name) const = 0;
  // The tensor in little-endian order and its own dtype, with the shape that info() tells. Mapped
  // sources copy nothing: the tensor keeps the file mapped as long as it lives.
  // Errors: kNotFound; kDataLoss or kUnavailable where the file cannot be read.
  virtual Result<Tensor> weight(std::string_view name) const = 0;
  // A text that differs wherever the bytes of the weights may: two sources of one stamp have the
  // same weights. Costs no reading of them. Empty: the source cannot tell.
  virtual std::string stamp() const { return {}; }
};

}  // namespace quern
