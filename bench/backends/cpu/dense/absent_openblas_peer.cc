// Stands in for OpenBLAS where the build did not find it.
#include "dense_peers.h"

namespace quern::bench {

DensePeer openblas_peer() {
  return {"OpenBLAS", "OpenBLAS is not in this build: libopenblas-dev was not found.",
          [](const DenseCase&, int) { return std::function<void()>(); }};
}

}  // namespace quern::bench
