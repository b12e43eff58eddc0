// The read bandwidth of this machine's memory, measured.
#pragma once

namespace quern {

// Bytes per second that `num_threads` threads read from memory beyond the caches: the best of
// several passes over 256 MiB in huge pages where the system has them. Takes about 0.2 s.
double probe_read_bandwidth(int num_threads);

}  // namespace quern
