// Weights of mapped files that are packed in the second run of a program, each where the run comes
// to it: the first results need not wait for that, nor for the memory that it takes.
#pragma once

#include <utility>

#include "backends/cpu/kernels/packed_weight.h"
#include "backends/cpu/machine.h"
#include "hw/file_mappings.h"

namespace quern::cpu {

// Products of a weight that is not packed make the panels that they multiply, for a few tokens at
// about a third of the speed. One thread only.
class DeferredPacking {
 public:
  // `mappings` are those of the files at load.
  DeferredPacking(Machine& machine, FileMappings mappings)
      : machine_(machine), mappings_(std::move(mappings)) {}

  // Whether the packing of a weight can wait: one of a mapped file, whose products can make panels.
  bool takes(const Tensor& weight, ActivationKind kind) const;
  // Packs a weight that wrap_weight() made, and lets go of its pages of the file; a packed one
  // stays as it is. Errors: kResourceExhausted.
  Result<void> pack(PackedWeight& weight);

  // Whether a first run has ended: from then on products pack their weights first.
  bool is_due() const { return is_due_; }
  void end_run() { is_due_ = true; }
  // Whether weights were packed since the last call: they lie in other memory now.
  bool take_news() { return std::exchange(has_news_, false); }

 private:
  Machine& machine_;
  FileMappings mappings_;
  WeightMemory memory_;
  bool is_due_ = false;
  bool has_news_ = false;
};

}  // namespace quern::cpu
