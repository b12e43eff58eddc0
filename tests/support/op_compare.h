// One operation on the cpu backend against its reference kernel, at every instruction set.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "quern/graph.h"
#include "quern/tensor.h"

namespace quern::test {

// Instruction sets of the cpu backend on this machine.
std::vector<std::string> cpu_isas();

// A graph of inputs "0", "1", ... and one node; an empty tensor is an absent input. Outputs have
// the names of the operation's ports. With `copies_inputs` the node reads copies, which it may
// overwrite where the operation allows that.
Result<Graph> one_op_graph(std::string_view id, const std::vector<Tensor>& inputs,
                           const Attributes& attributes, bool copies_inputs = false);

// Runs the operation on the reference backend and on cpu with each instruction set and these thread
// counts, also in place where the operation allows that; the bits must be equal, or both must fail
// with one code.
void expect_reference_bits(std::string_view id, const std::vector<Tensor>& inputs,
                           const Attributes& attributes = {},
                           std::initializer_list<int> thread_counts = {1, 3});

}  // namespace quern::test
