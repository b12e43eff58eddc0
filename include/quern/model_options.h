// Choices of a caller that change a model's graph.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "quern/dtype.h"

namespace quern {

struct Adapter;

// How activations enter products with block-quantised weights: as a node `quant.dynamic` before the
// product, or as they are. The choice changes results; it never depends on the device.
enum class Activations : uint8_t {
  kAuto,   // int16 below 1e9 parameters, int8 from there up
  kF32,    // dequantise the weights
  kInt8,   // cheapest for prefill
  kInt16,  // close to f32, nearly free in decode
};
// "auto", "f32", "int8", "int16"; the words of --activations.
std::string_view activations_name(Activations activations);
// The choice of this name, or nothing.
std::optional<Activations> find_activations(std::string_view name);

// What a caller chooses when a model's graph is built. A plain value; thread-compatible.
struct ModelOptions {
  Activations activations = Activations::kAuto;
  // Storage of the key-value cache: f32, f16, bf16, q8_0 or q4_0.
  DType key_type = DType::kF32;
  DType value_type = DType::kF32;
  // Keeps keys before their rotation too, so that spans of a sequence can be evicted.
  bool is_evictable = false;
  // Low-rank adapters that are added to the model's products, in this order; shared, read-only.
  std::vector<std::shared_ptr<const Adapter>> adapters = {};
};

}  // namespace quern
