// Keys of entries are what a person reads: the operation and the shapes it ran on.
#include "backends/cpu/step_profile.h"

#include <utility>

namespace quern::cpu {
namespace {

// Bytes of all views that are in memory: what a step reads and writes at least.
double view_bytes(std::span<const TensorView> views) {
  double bytes = 0;
  for (const TensorView& view : views) {
    if (view.data == nullptr) continue;
    bytes += static_cast<double>(dense_size_bytes(view.dtype, view.shape).value_or(0));
  }
  return bytes;
}

std::string describe(const StepContext& shapes) {
  if (shapes.outputs.empty()) {
    return shapes.inputs.empty() ? std::string() : shapes.inputs[0].shape.to_string();
  }
  return shapes.outputs[0].shape.to_string();
}

}  // namespace

void StepProfile::add(const Node& node, const Step& step, const StepContext& context,
                      double seconds) {
  StepWork work = step.work(context);
  if (work.detail.empty()) work.detail = describe(context);
  if (work.bytes == 0) work.bytes = view_bytes(context.inputs) + view_bytes(context.outputs);
  const auto [place, is_new] =
      places_.try_emplace({std::string(node.op->id), work.detail}, entries_.size());
  if (is_new) entries_.push_back({.op = std::string(node.op->id), .detail = work.detail});
  ProfileEntry& entry = entries_[place->second];
  ++entry.runs;
  entry.seconds += seconds;
  entry.products += work.products;
  entry.bytes += work.bytes;
}

std::vector<ProfileEntry> StepProfile::take() {
  places_.clear();
  return std::exchange(entries_, {});
}

}  // namespace quern::cpu
