// Where a model's weights come from: mapped, streamed or staged one tensor at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/tensor.h"

namespace quern {

// Name, type and shape of a weight; known without touching its bytes.
struct WeightInfo {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  // row-major, outermost first: [out, in] for a linear layer
};

// Thread-safe for concurrent reads.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual std::vector<WeightInfo> list() const = 0;
  // Errors: kNotFound.
  virtual Result<WeightInfo> info(std::string_view name) const = 0;
  // The tensor in little-endian host order, in its own dtype. Mapped sources copy nothing.
  virtual Result<Tensor> weight(std::string_view name) const = 0;
};

}  // namespace quern
