// Choice of activation precision by the file's size.
#include "models/activations.h"

namespace quern {

// The words of --activations.
std::string_view activations_name(Activations activations) {
  switch (activations) {
    case Activations::kAuto:
      return "auto";
    case Activations::kF32:
      return "f32";
    case Activations::kInt8:
      return "int8";
    case Activations::kInt16:
      return "int16";
  }
  return "unknown";
}

// Nothing for other words.
std::optional<Activations> find_activations(std::string_view name) {
  for (const Activations a :
       {Activations::kAuto, Activations::kF32, Activations::kInt8, Activations::kInt16}) {
    if (activations_name(a) == name) return a;
  }
  return std::nullopt;
}

// Of the list: a tied tensor stands there once.
int64_t count_parameters(const WeightSource& weights) {
  int64_t total = 0;
  for (const WeightInfo& info : weights.list()) total += info.shape.num_elements();
  return total;
}

// The same on every device: it changes the bits.
Activations resolve_activations(Activations wanted, const WeightSource& weights) {
  bool has_blocks = false;
  // Without blocks there is nothing that integers would speed up.
  for (const WeightInfo& info : weights.list()) has_blocks |= is_quantized(info.dtype);
  // Before the explicit wish: `--activations int8` on a float file must give the same graph as no
  // option, so that its receipt and its bits do not depend on a word without meaning there.
  if (!has_blocks) return Activations::kF32;
  if (wanted != Activations::kAuto) return wanted;
  // Elements, not bytes: a format change of the same model must not move it across the limit. Below
  // it int8 errors are visible in the text; above it prefill time matters more.
  constexpr int64_t kLargeModel = 1'000'000'000;
  return count_parameters(weights) < kLargeModel ? Activations::kInt16 : Activations::kInt8;
}

}  // namespace quern
