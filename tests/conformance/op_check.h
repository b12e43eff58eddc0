// Runs one operation on a backend and compares with an oracle or with exact results.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "quern/device.h"
#include "quern/op.h"
#include "quern/tensor.h"

namespace quern::test {

// A backend of this build and an open device of it. One thread only.
class OpRunner {
 public:
  explicit OpRunner(std::string_view backend);

  // One output tensor for each port. Errors: those of the graph, of compilation and of the run.
  Result<std::vector<Tensor>> run(const OpDef& op, const std::vector<Tensor>& inputs,
                                  const Attributes& attributes) const;
  const Backend& backend() const { return *backend_; }
  Device& device() const { return *device_; }

 private:
  const Backend* backend_;
  std::unique_ptr<Device> device_;
};

// |actual - expected| <= absolute + relative * |expected|, as NumPy's allclose.
struct Tolerance {
  double absolute = 1e-12;
  double relative = 1e-10;
  bool checks_zeros = false;  // zeros must have the expected sign

  bool accepts(double actual, double expected) const;
};

// Expects equal shapes (unless the actual tensor is padded at its end) and values.
void expect_values(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
                   bool is_padded = false);

// Floats and complex numbers rounded to f32.
std::vector<Tensor> in_f32(const std::vector<Tensor>& tensors);

// Expects float outputs of a run in f32 within the operation's bound of the exact results on the
// same inputs.
void expect_within_bound(const OpDef& op, const Attributes& attributes,
                         const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);

}  // namespace quern::test
