// libFuzzer target of the ONNX reader and importer. Build with the preset `fuzz`; run
//   onnx_fuzz -rss_limit_mb=3072 -timeout=60 CORPUS [model.onnx ...]
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include "base/check.h"
#include "formats/onnx/onnx_importer.h"
#include "quern/op.h"

namespace {

// Values for the model's small inputs of integers and scalars, which shapes, axes and indices often
// follow from: mostly plausible, sometimes as large as they can be.
quern::onnx::ImportOptions guess_known(const quern::onnx::OnnxModel& model, uint32_t seed) {
  quern::onnx::ImportOptions options;
  std::mt19937 random(seed);
  for (const quern::onnx::OnnxValue& input : model.inputs) {
    // 7 is INT64 in TensorProto.DataType.
    if (!input.dims || input.data_type != 7) continue;
    const auto shape = quern::Shape::make(*input.dims);
    // Shapes, axes and indices are short.
    if (!shape || shape->num_elements() > 64) continue;
    std::vector<int64_t> values(static_cast<size_t>(shape->num_elements()));
    for (int64_t& value : values) {
      // -2 to 6: axes from both ends, small extents, 0.
      value = static_cast<int64_t>(random() % 9) - 2;
      if (random() % 16 == 0)
        value = (random() % 2 == 0 ? INT64_MAX : INT64_MIN) >> (random() % 64);
    }
    const auto tensor = quern::Tensor::from<int64_t>(quern::DType::kI64, *shape, values);
    if (tensor) options.known.emplace(input.name, *tensor);
  }
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto tensor = quern::onnx::parse_tensor(bytes);
  if (tensor && tensor->tensor) {
    const auto read = tensor->tensor->read();
    QUERN_CHECK(read && static_cast<int64_t>(read->size()) == tensor->tensor->size_bytes());
  }
  const auto model = quern::onnx::parse_model(bytes);
  if (!model) return 0;
  // From the input, so that a finding repeats without a state.
  uint32_t seed = 1;
  for (size_t i = 0; i < size; ++i) seed = seed * 31 + data[i];
  const auto options = guess_known(*model, seed);
  const auto graph = quern::onnx::import_model(*model, quern::builtin_ops(), options);
  if (graph) QUERN_CHECK(quern::verify(*graph));
  return 0;
}
