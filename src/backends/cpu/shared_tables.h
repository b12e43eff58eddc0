// What steps of one executable share: packed weights, the angles of rotary embeddings.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/cpu/deferred_packing.h"
#include "backends/cpu/kernels/packed_weight.h"
#include "backends/cpu/pack_cache.h"
#include "backends/cpu/steps/rope_table.h"
#include "quern/graph.h"

namespace quern::cpu {

// Hands out one table for equal requests. One thread only.
class SharedTables {
 public:
  SharedTables(Machine& machine, FileMappings mappings)
      : deferred_(std::make_shared<DeferredPacking>(machine, std::move(mappings))) {}

  // `factors` is the value that holds the divisors of the frequencies, or kNoValue.
  template <class T>
  std::shared_ptr<RopeTable<T>> rope(const RopeSpec& spec, RopeStyle style, ValueId factors) {
    auto& entries = std::get<std::vector<RopeEntry<T>>>(ropes_);
    for (const RopeEntry<T>& entry : entries) {
      if (entry.spec == spec && entry.style == style && entry.factors == factors) {
        return entry.table;
      }
    }
    entries.push_back({spec, style, factors, std::make_shared<RopeTable<T>>(spec, style)});
    return entries.back().table;
  }

  // The weight `value` packed, or wrapped to be packed later, for these activations; null until
  // somebody puts it there.
  std::shared_ptr<PackedWeight>& packed_weight(ValueId value, ActivationKind kind) {
    return packed_weights_[{value, kind}];
  }
  // Where packed weights go, in the order in which they are packed.
  WeightMemory& weight_memory() { return weight_memory_; }
  // Packed weights of an earlier load; off until it is set.
  PackCache& pack_cache() { return pack_cache_; }
  // What packs weights that were wrapped at load.
  const std::shared_ptr<DeferredPacking>& deferred() const { return deferred_; }

 private:
  template <class T>
  struct RopeEntry {
    RopeSpec spec;
    RopeStyle style;
    ValueId factors;
    std::shared_ptr<RopeTable<T>> table;
  };
  std::map<std::pair<ValueId, ActivationKind>, std::shared_ptr<PackedWeight>> packed_weights_;
  WeightMemory weight_memory_;
  PackCache pack_cache_;
  std::shared_ptr<DeferredPacking> deferred_;
  std::tuple<std::vector<RopeEntry<float>>, std::vector<RopeEntry<double>>> ropes_;
};

}  // namespace quern::cpu
