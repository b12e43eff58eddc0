// Other implementations of the dense cases, linked where the machine has them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dense_cases.h"

namespace quern::bench {

// A peer does the same work on the same inputs; it must not keep anything between runs that Quern
// could not.
struct DensePeer {
  std::string name;
  // Why the peer is not in this build; empty if it is.
  std::string absence;
  // What runs the case once on that many threads; empty for cases that the peer does not have.
  std::function<std::function<void()>(const DenseCase&, int num_threads)> prepare;
};

// oneDNN, OpenBLAS, the same loops in plain C++, and memory itself.
std::vector<DensePeer> dense_peers();

DensePeer onednn_peer();
DensePeer openblas_peer();
DensePeer plain_peer();
DensePeer memory_peer();

// Values of an input of the case.
// `name` must be an input of the case; valid as long as the case.
template <class T>
const T* input_values(const DenseCase& dense_case, const char* name) {
  return reinterpret_cast<const T*>(dense_case.inputs.find(name)->second.host_view()->data());
}
// The words of a case's name.
std::vector<std::string> words_of(const std::string& name);

}  // namespace quern::bench
