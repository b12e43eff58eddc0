// Stands in for oneDNN where the build did not find it.
#include "dense_peers.h"

namespace quern::bench {

DensePeer onednn_peer() {
  return {"oneDNN", "oneDNN is not in this build: its headers (libdnnl-dev) were not found.",
          [](const DenseCase&, int) { return std::function<void()>(); }};
}

}  // namespace quern::bench
