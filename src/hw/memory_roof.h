// The read bandwidth of this machine's memory, measured.
#pragma once

namespace quern {

// Bytes per second that `num_threads` threads read from memory beyond the caches: the best of
// several passes over 256 MiB in huge pages where the system has them; 0 where that much memory is
// not to be had. Takes about 0.2 s and starts threads of its own. Decode is compared with it: each
// token reads all weights once. Thread-safe, but two at once measure each other.
double probe_read_bandwidth(int num_threads);

}  // namespace quern
