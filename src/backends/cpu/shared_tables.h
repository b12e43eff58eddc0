// Tables that steps of one executable share, such as the angles of rotary embeddings.
#pragma once

#include <memory>
#include <tuple>
#include <vector>

#include "backends/cpu/steps/rope_table.h"
#include "quern/graph.h"

namespace quern::cpu {

// Hands out one table for equal requests. One thread only.
class SharedTables {
 public:
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

 private:
  template <class T>
  struct RopeEntry {
    RopeSpec spec;
    RopeStyle style;
    ValueId factors;
    std::shared_ptr<RopeTable<T>> table;
  };
  std::tuple<std::vector<RopeEntry<float>>, std::vector<RopeEntry<double>>> ropes_;
};

}  // namespace quern::cpu
