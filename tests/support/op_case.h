// Cases of the suite op_cases: an operation, its inputs and the outputs of an independent oracle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quern/graph.h"
#include "quern/op.h"
#include "quern/tensor.h"

namespace quern::test {

struct OpCase {
  std::string name;
  const OpDef* op = nullptr;
  Attributes attributes;
  std::vector<std::string> inputs;   // names of arrays, in the order of ports
  std::vector<std::string> outputs;  // names of arrays
  std::string note;
  std::string property;       // instead of outputs: what must hold
  bool must_fail = false;     // the operation refuses these inputs
  bool checks_zeros = false;  // the note asks for the signs of zeros
  double absolute = 1e-12;    // |a - b| <= absolute + relative |b|
  double relative = 1e-10;
  std::map<std::string, Tensor> arrays;

  const Tensor& array(const std::string& array_name) const { return arrays.at(array_name); }
  // Optimisers and running metrics: one call of the operation for each output.
  bool is_sequence() const;
  // Inputs of call `index` (from 0) by port, with `state` from the calls before; else all inputs.
  std::vector<Tensor> inputs_of_call(int index, const std::map<std::string, Tensor>& state) const;
  std::vector<Tensor> port_inputs() const;
  // The position of an output: by its name, or else by its place in the list.
  size_t output_port(size_t index) const;
};

// Names of all cases, sorted; empty where the suite is absent.
std::vector<std::string> op_case_names();
// Errors: a file that cannot be read; an operation that does not exist.
Result<OpCase> load_op_case(const std::string& name);

// What a call returns as X_out, by X.
std::map<std::string, Tensor> state_of(const OpDef& op, const std::vector<Tensor>& outputs);

}  // namespace quern::test
