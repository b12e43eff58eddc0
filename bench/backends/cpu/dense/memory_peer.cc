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

// What every processor loads at once; wider vectors are taken apart where the file is compiled for
// any processor, and then arithmetic is what is timed.
typedef int32_t Part __attribute__((vector_size(16)));

struct Streams {
  explicit Streams(int num_threads) : pool(num_threads) {}
  std::vector<const char*> joined;  // sources of the target's size
  std::vector<const char*> others;
  std::vector<int64_t> other_bytes;
  Buffer target_buffer;
  char* target = nullptr;
  int64_t written = 0;
  std::atomic<int> sink{0};  // what keeps the compiler from leaving reads out
  ThreadPool pool;
};

Part part_at(const char* source, int64_t offset) {
  Part part;
  std::memcpy(&part, source + offset, sizeof(part));
  return part;
}

// Four streaming stores of a line join in the write-combining buffer: the line is never read.
template <bool kStreams>
void store_part(char* to, Part part) {
#if defined(__SSE2__)
  if constexpr (kStreams) {
    __m128i bits;
    std::memcpy(&bits, &part, sizeof(bits));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), bits);
    return;
  }
#endif
  std::memcpy(to, &part, sizeof(part));
}

// Blocks of 64 bytes; the rest of less than a block is left out.
constexpr int64_t kBlock = 64;

// Bytes [begin, end) of a source that is only read. XOR costs nothing beside memory.
Part read(const char* source, int64_t begin, int64_t end, Part sum) {
  Part sums[4] = {sum};
  for (int64_t b = begin; b < end; b += kBlock) {
    for (int v = 0; v < 4; ++v) sums[v] ^= part_at(source, b + 16 * v);
  }
  return sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
}

// Each line of the target joins the lines of kSources sources.
template <bool kStreams, int kSources>
void write(const char* const* from, char* to, int64_t begin, int64_t end, Part first) {
  const char* sources[kSources + 1] = {};
  for (int i = 0; i < kSources; ++i) sources[i] = from[i];
  for (int64_t b = begin; b < end; b += kBlock) {
    for (int v = 0; v < 4; ++v) {
      Part part = first;
      for (int i = 0; i < kSources; ++i) part ^= part_at(sources[i], b + 16 * v);
      store_part<kStreams>(to + b + 16 * v, part);
    }
  }
}

// Part `part` of `parts` of all arrays.
template <bool kStreams>
void touch(Streams& s, int64_t part, int64_t parts) {
  const auto cut = [&](int64_t bytes, int64_t at) { return bytes / kBlock * at / parts * kBlock; };
  Part sum = {};
  for (size_t i = 0; i < s.others.size(); ++i) {
    const int64_t bytes = s.other_bytes[i];
    sum = read(s.others[i], cut(bytes, part), cut(bytes, part + 1), sum);
  }
  const int64_t begin = cut(s.written, part), end = cut(s.written, part + 1);
  const char* const* joined = s.joined.data();
  switch (s.joined.size()) {
    case 0:
      write<kStreams, 0>(joined, s.target, begin, end, sum);
      break;
    case 1:
      write<kStreams, 1>(joined, s.target, begin, end, sum);
      break;
    case 2:
      write<kStreams, 2>(joined, s.target, begin, end, sum);
      break;
    default:
      write<kStreams, 3>(joined, s.target, begin, end, sum);
  }
  s.sink += sum[0];
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
  s->written = dense_case.written_bytes;
  for (const auto& [name, tensor] : dense_case.inputs) {
    const auto* data = reinterpret_cast<const char*>(tensor.buffer().host_view()->data());
    const int64_t bytes = tensor.buffer().size_bytes();
    if (bytes == s->written && s->joined.size() < 3) {
      s->joined.push_back(data);
    } else {
      s->others.push_back(data);
      s->other_bytes.push_back(bytes);
    }
  }
  s->target_buffer = *Buffer::allocate_host(std::max<int64_t>(s->written, kBlock));
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
