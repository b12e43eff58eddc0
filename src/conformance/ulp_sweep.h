// The largest error of an f32 function of a backend over all 2^32 inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "quern/device.h"

namespace quern {

struct UlpFunction {
  std::string_view name;  // "exp"
  std::string_view op;    // "math.exp"
  double (*exact)(double);
};

// The functions of one argument that strict math promises within 2 ulp.
std::span<const UlpFunction> ulp_functions();
// Null for an unknown name; an operation's id names its function too.
const UlpFunction* find_ulp_function(std::string_view name);

struct UlpWorst {
  double ulp = 0;  // infinity: a NaN, an infinity or the sign of a zero is wrong
  float input = 0;
  float result = 0;
  double exact = 0;
  uint64_t num_inputs = 0;
};

// Told (done, total) inputs.
using UlpProgress = std::function<void(int64_t done, int64_t total)>;

// Every stride-th bit pattern, NaNs and denormals included, through the operation on the device,
// against the host's f64 function. Errors: those of compilation and of a run.
Result<UlpWorst> sweep_ulp(const UlpFunction& function, const Backend& backend, Device& device,
                           uint32_t stride, const UlpProgress& progress);

}  // namespace quern
