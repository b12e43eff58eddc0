// Weights and constants of a graph, as plain tensors.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/plan.h"
#include "hw/file_mappings.h"
#include "quern/graph.h"
#include "quern/tensor.h"
#include "quern/weight_source.h"

namespace quern::cpu {

// Borrows graph and source. Thread-compatible.
// Keeps the tensors that steps read in place; of a mapped source small ones are copied. Weights
// that steps pack are fetched one at a time and not kept.
class LoadedValues {
 public:
  // `weights` may be null for a graph without weights; it is needed until release_source().
  // Errors: a weight that is missing or of another type, a constant that cannot be made.
  static Result<LoadedValues> make(const Graph& graph, const Plan& plan,
                                   const WeightSource* weights);

  // The tensor of a weight or constant.
  Result<Tensor> fetch(ValueId value) const;
  // After packing: a mapped file gives back the memory of these bytes of a weight; kept tensors
  // read it again. Any other memory stays as it is.
  void release(std::span<const std::byte> bytes) const { mappings_.release(bytes); }
  const FileMappings& mappings() const { return mappings_; }  // at load
  // Of the source; empty where it has none.
  std::string stamp() const { return weights_ == nullptr ? std::string() : weights_->stamp(); }
  // A kept tensor; empty for every other value.
  const Tensor& kept(ValueId value) const { return kept_[static_cast<size_t>(value)]; }
  // After it, weights that were not kept cannot be fetched any more.
  void release_source() { weights_ = nullptr; }

 private:
  LoadedValues(const Graph& graph, const WeightSource* weights)
      : graph_(&graph),
        weights_(weights),
        kept_(graph.values().size()),
        mappings_(FileMappings::read()) {}

  // A tensor for steps to read in place: that of fetch(), or a copy of a small one.
  Result<Tensor> keep(ValueId value) const;

  const Graph* graph_;
  const WeightSource* weights_;
  std::vector<Tensor> kept_;  // by value
  FileMappings mappings_;     // at load
};

}  // namespace quern::cpu
