// The time that memory needs for a case: its inputs are read and its output written once, by loops
// that do nothing else, with ordinary or with streaming stores, whichever is faster here.
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/thread_pool.h"
#include "dense_peers.h"

namespace quern::bench {
namespace {

// A cache line, and the widest vector there is.
typedef int32_t Line __attribute__((vector_size(64)));

// `target` has 256 bytes more than are written, so that the last block needs no check.
struct Streams {
  explicit Streams(int num_threads) : pool(num_threads) {}
  std::vector<const char*> sources;
  std::vector<int64_t> source_bytes;
  Buffer target_buffer;
  char* target = nullptr;
  int64_t written = 0;
  std::atomic<int> sink{0};  // what keeps the compiler from leaving reads out
  ThreadPool pool;
};

template <bool kStreams>
void store_line(char* to, const Line& line) {
#if defined(__SSE2__)
  if constexpr (kStreams) {
    // Four streaming stores of a line join in the write-combining buffer: the line is never read.
    __m128i parts[4];
    std::memcpy(parts, &line, sizeof(parts));
    for (int p = 0; p < 4; ++p) _mm_stream_si128(reinterpret_cast<__m128i*>(to) + p, parts[p]);
    return;
  }
#endif
  std::memcpy(to, &line, sizeof(line));
}

Line line_at(const char* source, int64_t offset) {
  Line line;
  std::memcpy(&line, source + offset, sizeof(line));
  return line;
}

// Blocks of 256 bytes; the rest of less than a block is left out.
// Part `part` of `parts` of all arrays: each line of the target joins the lines of the sources of
// its size; sources of other sizes are read on their own.
template <bool kStreams>
void touch(Streams& s, int64_t part, int64_t parts) {
  Line sum[4] = {};
  std::vector<const char*> joined;
  for (size_t i = 0; i < s.sources.size(); ++i) {
    if (s.source_bytes[i] == s.written) {
      joined.push_back(s.sources[i]);
      continue;
    }
    const int64_t begin = s.source_bytes[i] / 256 * part / parts * 256;
    const int64_t end = s.source_bytes[i] / 256 * (part + 1) / parts * 256;
    for (int64_t b = begin; b < end; b += 256) {
      for (int v = 0; v < 4; ++v) sum[v] ^= line_at(s.sources[i], b + 64 * v);
    }
  }
  const int64_t begin = s.written / 256 * part / parts * 256;
  const int64_t end = s.written / 256 * (part + 1) / parts * 256;
  // XOR costs nothing beside memory, and keeps the reads.
  for (int64_t b = begin; b < end; b += 256) {
    for (int v = 0; v < 4; ++v) {
      Line line = sum[v];
      for (const char* source : joined) line ^= line_at(source, b + 64 * v);
      store_line<kStreams>(s.target + b + 64 * v, line);
    }
  }
  s.sink += (sum[0] ^ sum[1] ^ sum[2] ^ sum[3])[0];
}

template <bool kStreams>
void touch_all(Streams& s) {
  // More parts than threads even out what one of them loses to other processes.
  const int64_t parts = 8 * s.pool.num_threads();
  s.pool.run(parts, [&](int64_t part, int) { touch<kStreams>(s, part, parts); });
}

std::function<void()> prepare(const DenseCase& dense_case, int num_threads) {
  // Products are bound by arithmetic: memory is no limit to compare them with.
  if (dense_case.flops > 0) return {};
  auto s = std::make_shared<Streams>(num_threads);
  for (const auto& [name, tensor] : dense_case.inputs) {
    s->sources.push_back(reinterpret_cast<const char*>(tensor.buffer().host_view()->data()));
    s->source_bytes.push_back(tensor.buffer().size_bytes());
  }
  s->written = dense_case.written_bytes;
  s->target_buffer = *Buffer::allocate_host(s->written + 256);
  s->target = reinterpret_cast<char*>(s->target_buffer.mutable_host_view()->data());
  // The faster kind of store on this machine and size.
  const double plain = median_microseconds(0.05, [&] { touch_all<false>(*s); });
  const double streamed = median_microseconds(0.05, [&] { touch_all<true>(*s); });
  if (plain <= streamed) return [s] { touch_all<false>(*s); };
  return [s] { touch_all<true>(*s); };
}

}  // namespace

DensePeer memory_peer() {
  return {"memory", "", prepare};
}

}  // namespace quern::bench
