// A graph loaded on a device, run with guarded memory around its results.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/case_graph.h"
#include "quern/device.h"

namespace quern {

// A writable tensor inside a larger block whose other bytes are known.
class GuardedTensor {
 public:
  // All bytes of the tensor start as 0xFF: NaN in floats, -1 in integers. Unaligned: at an address
  // that is a multiple of the element's size only.
  static Result<GuardedTensor> make(DType dtype, const Shape& shape, bool is_aligned);
  const Tensor& tensor() const { return tensor_; }
  // Whether every byte around the tensor is as it was.
  bool is_intact() const;

 private:
  Buffer block_;
  int64_t offset_ = 0;
  Tensor tensor_;
};

// What a run gave: results in the graph's order, and names of results whose guards were written.
struct Outcome {
  std::vector<std::pair<std::string, Tensor>> results;
  std::vector<std::string> damaged;
};

// Stores of the graph's states, by name.
using StoreMap = std::map<std::string, KvStore*, std::less<>>;

// One thread only.
class Subject {
 public:
  // Errors: those of Backend::compile and Device::load.
  static Result<Subject> load(const Backend& backend, Device& device, const CaseGraph& graph);

  // Results are copies that no later run touches.
  Result<Outcome> run(const std::map<std::string, Tensor, std::less<>>& inputs, bool is_aligned,
                      const StoreMap& stores = {});

 private:
  Graph graph_;
  std::unique_ptr<Executable> executable_;
};

}  // namespace quern
