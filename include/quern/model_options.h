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

// How activations enter products with block-quantised weights (quant.dynamic of the architecture).
enum class Activations : uint8_t {
  kAuto,   // int16 below 1e9 parameters, int8 from there up
  kF32,    // dequantise the weights
  kInt8,   // cheapest for prefill
  kInt16,  // close to f32, nearly free in decode
};
std::string_view activations_name(Activations activations);
std::optional<Activations> find_activations(std::string_view name);

struct ModelOptions {
  Activations activations = Activations::kAuto;
  DType key_type = DType::kF32;  // of the key-value cache
  DType value_type = DType::kF32;
  // Keeps keys before their rotation too, so that spans of a sequence can be evicted.
  bool is_evictable = false;
  // Low-rank adapters that are added to the model's products.
  std::vector<std::shared_ptr<const Adapter>> adapters;
};

}  // namespace quern
