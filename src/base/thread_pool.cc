// Work sharing by ranges of chunks, one for each thread: their owners take from the front, threads
// without work from the back.
#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <system_error>

namespace quern {
namespace {

// Tells the processor that this is a wait, which saves power and frees the sibling thread.
void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Bytes that a waiting thread prefetches between two looks at what it waits for.
// 4 cache lines: some tens of nanoseconds, so that work is noticed without delay.
constexpr int64_t kPrefetchStep = 256;
// Most bytes that a thread prefetches: less than its second-level cache.
constexpr int64_t kMostPrefetchBytes = int64_t{256} << 10;

// Units of chunks that a job is dealt in fit the fields of a range.
// Two fields of 20 bits leave 24 for the epoch; 2^20 units are far more than threads can need.
constexpr int kRangeBits = 20;
constexpr int64_t kMaxUnits = (int64_t{1} << kRangeBits) - 1;

// Units [begin, end) that nobody has taken yet, in one word with the low bits of the job's epoch.
// A word changes only by taking units of the job that is being worked on: when a job is done all
// its ranges are empty, so whoever takes a unit successfully takes it from the current job.
struct Range {
  uint32_t epoch = 0;
  uint32_t begin = 0;
  uint32_t end = 0;

  // Takers from both ends meet: begin == end.
  bool is_empty() const { return begin >= end; }
  uint64_t word() const {
    return (uint64_t{epoch} << (2 * kRangeBits)) | (uint64_t{begin} << kRangeBits) | end;
  }
  static Range of(uint64_t word) {
    constexpr uint64_t kMask = kMaxUnits;
    return {static_cast<uint32_t>(word >> (2 * kRangeBits)),
            static_cast<uint32_t>((word >> kRangeBits) & kMask),
            static_cast<uint32_t>(word & kMask)};
  }
};
// The epoch in the word makes a stale compare-exchange fail: equal ranges of two jobs differ by it,
// until 2^24 jobs later.
constexpr uint32_t kEpochMask = (1U << (64 - 2 * kRangeBits)) - 1;

// A cache line for itself: threads that take from their own ranges do not disturb each other.
struct alignas(64) Slot {
  std::atomic<uint64_t> range{0};
};

}  // namespace

// What all threads share. One job at a time; its fields are reused for the next.
struct ThreadPool::Job {
  explicit Job(int num_threads) : slots(static_cast<size_t>(num_threads)) {}

  std::vector<Slot> slots;  // by thread
  // On lines of their own: waiting threads read `epoch` all the time, finishing ones write `done`.
  alignas(64) std::atomic<uint32_t> epoch{0};
  std::atomic<bool> is_stopping{false};
  // Of the current job: written before its ranges, read after a unit was taken from one.
  int64_t num_chunks = 0;
  int64_t chunks_per_unit = 1;
  uint32_t num_units = 0;
  void* context = nullptr;
  ChunkFunction::Call call = nullptr;
  alignas(64) std::atomic<uint32_t> done{0};  // units
  // What is expected.
  alignas(64) std::atomic<const std::byte*> expected{nullptr};
  std::atomic<int64_t> expected_bytes{0};
  std::atomic<uint32_t> expectation{0};  // counts expectations
};

// Thread 0 is the caller of run(), so one thread fewer is started.
ThreadPool::ThreadPool(int num_threads)
    : num_threads_(std::max(1, num_threads)), job_(std::make_unique<Job>(num_threads_)) {
  threads_.reserve(static_cast<size_t>(num_threads_ - 1));
  try {
    for (int t = 1; t < num_threads_; ++t) threads_.emplace_back([this, t] { worker(t); });
  } catch (const std::system_error&) {
    // A limit on threads or memory. Nothing may leave this constructor: workers that wait would
    // never be told to stop.
  }
}

// Wakes all workers with nothing to do; jthreads join as they are destroyed.
ThreadPool::~ThreadPool() {
  // Before the epoch, whose change is what workers wait for.
  job_->is_stopping.store(true);
  job_->epoch.fetch_add(1);
  job_->epoch.notify_all();
}

// What the next job will read: waiting threads bring it into their caches meanwhile.
void ThreadPool::expect(std::span<const std::byte> bytes) {
  if (num_threads_ == 1) return;
  Job& job = *job_;
  job.expected.store(bytes.data(), std::memory_order_relaxed);
  job.expected_bytes.store(static_cast<int64_t>(bytes.size()), std::memory_order_relaxed);
  // A reader that sees the count sees the address of it or of a later expectation.
  job.expectation.fetch_add(1, std::memory_order_release);
}

// How far a thread is in the part of what is expected that it will read.
struct ThreadPool::Prefetch {
  uint32_t expectation = 0;
  const std::byte* next = nullptr;
  const std::byte* end = nullptr;
};

// False when there is nothing left to prefetch. A thread that mixes up two expectations prefetches
// wrong addresses, which harms nobody.
bool ThreadPool::prefetch_some(Prefetch& prefetch, int thread) const {
  const Job& job = *job_;
  const uint32_t expectation = job.expectation.load(std::memory_order_acquire);
  if (expectation != prefetch.expectation) {
    prefetch.expectation = expectation;
    const std::byte* bytes = job.expected.load(std::memory_order_relaxed);
    const int64_t size = job.expected_bytes.load(std::memory_order_relaxed);
    // The same split as run() deals ranges: thread t reads about the t-th part.
    const int64_t part = size / num_threads_;
    prefetch.next = bytes + part * thread;
    prefetch.end = prefetch.next + std::min(part, kMostPrefetchBytes);
  }
  if (prefetch.next >= prefetch.end) return false;
  for (int64_t i = 0; i < kPrefetchStep; i += 64) __builtin_prefetch(prefetch.next + i);
  prefetch.next += kPrefetchStep;
  return true;
}

// Spins, prefetches and spins about 10 us, then yields until about 50 us, while `is_waiting()`;
// false when time is up. Gaps of less than the first spin are too short to prefetch in.
template <class F>
bool ThreadPool::spin_while(F&& is_waiting, Prefetch& prefetch, int thread) const {
  using Clock = std::chrono::steady_clock;
  // About a microsecond of pauses.
  for (int i = 0; i < 64; ++i) {
    if (!is_waiting()) return true;
    pause_cpu();
  }
  const auto start = Clock::now();
  while (is_waiting()) {
    if (prefetch_some(prefetch, thread)) continue;
    const auto waited = Clock::now() - start;
    // Longer than most gaps inside a run; to wake a sleeping thread costs about as much.
    if (waited > std::chrono::microseconds(50)) return false;
    if (waited > std::chrono::microseconds(10)) {
      // On an oversubscribed machine another thread may hold this one's work.
      std::this_thread::yield();
    } else {
      for (int i = 0; i < 16; ++i) pause_cpu();
    }
  }
  return true;
}

namespace {

// Takes the first unit of a range, or its last one; -1 when it is empty.
int64_t take_unit(std::atomic<uint64_t>& slot, bool from_front) {
  // Pairs with the store in run(): who takes a unit sees the job's fields.
  uint64_t word = slot.load(std::memory_order_acquire);
  while (true) {
    Range range = Range::of(word);
    if (range.is_empty()) return -1;
    const uint32_t unit = from_front ? range.begin++ : --range.end;
    // A failure loads the word anew; the loop looks again whether anything is left.
    if (slot.compare_exchange_weak(word, range.word(), std::memory_order_acq_rel)) return unit;
  }
}

// The fullest range of the others, or null.
std::atomic<uint64_t>* fullest(std::vector<Slot>& slots) {
  std::atomic<uint64_t>* best = nullptr;
  uint32_t most = 0;
  for (Slot& slot : slots) {
    const Range range = Range::of(slot.range.load(std::memory_order_relaxed));
    // The first of equals: any choice is right.
    if (range.is_empty() || range.end - range.begin <= most) continue;
    most = range.end - range.begin;
    best = &slot.range;
  }
  return best;
}

}  // namespace

// Takes and runs units until none is left.
void ThreadPool::work(int thread) {
  Job& job = *job_;
  const auto run_unit = [&](int64_t unit) {
    const ChunkFunction f(job.context, job.call);
    // The last unit may be short.
    const int64_t end = std::min(job.num_chunks, (unit + 1) * job.chunks_per_unit);
    for (int64_t chunk = unit * job.chunks_per_unit; chunk < end; ++chunk) f(chunk, thread);
    // Read before the count is raised: afterwards the caller may be writing the next job.
    const uint32_t num_units = job.num_units;
    // After the last unit the caller may begin another job.
    if (job.done.fetch_add(1, std::memory_order_acq_rel) + 1 == num_units) job.done.notify_one();
  };
  auto& own = job.slots[static_cast<size_t>(thread)].range;
  // From the front, so that neighbouring chunks, and their memory, stay with one thread.
  for (int64_t unit = take_unit(own, true); unit >= 0; unit = take_unit(own, true)) run_unit(unit);
  // From the back of the fullest: the part that its owner reaches last.
  while (std::atomic<uint64_t>* other = fullest(job.slots)) {
    const int64_t unit = take_unit(*other, false);
    if (unit >= 0) run_unit(unit);
  }
}

// Waits for the next epoch, then works; spins first, since jobs of a model follow within
// microseconds.
void ThreadPool::worker(int thread) {
  uint32_t seen = 0;
  Prefetch prefetch;
  while (true) {
    const auto is_idle = [&] { return job_->epoch.load(std::memory_order_acquire) == seen; };
    if (!spin_while(is_idle, prefetch, thread)) {
      job_->epoch.wait(seen, std::memory_order_acquire);
    }
    const uint32_t epoch = job_->epoch.load(std::memory_order_acquire);
    if (job_->is_stopping.load()) return;
    // A wake-up without a new job.
    if (epoch == seen) continue;
    seen = epoch;
    work(thread);
  }
}

// Waits for the units that others still run.
// For units and not for threads: one that was descheduled before it took any is not waited for.
void ThreadPool::wait_for_completion(uint32_t num_units) {
  const auto is_running = [&] { return job_->done.load(std::memory_order_acquire) != num_units; };
  Prefetch prefetch;
  if (spin_while(is_running, prefetch, 0)) return;
  while (is_running()) {
    const uint32_t done = job_->done.load(std::memory_order_acquire);
    if (done != num_units) job_->done.wait(done, std::memory_order_acquire);
  }
}

// Deals the units out evenly, works along and returns when all are done. Without other threads,
// or for one chunk, the caller does it alone.
void ThreadPool::run(int64_t num_chunks, ChunkFunction f) {
  if (num_chunks <= 0) return;
  if (num_threads_ == 1 || num_chunks == 1) {
    for (int64_t chunk = 0; chunk < num_chunks; ++chunk) f(chunk, 0);
    return;
  }
  Job& job = *job_;
  job.num_chunks = num_chunks;
  job.chunks_per_unit = (num_chunks + kMaxUnits - 1) / kMaxUnits;
  job.num_units =
      static_cast<uint32_t>((num_chunks + job.chunks_per_unit - 1) / job.chunks_per_unit);
  job.context = f.context_;
  job.call = f.call_;
  job.done.store(0, std::memory_order_relaxed);
  // Only the caller of run() writes the epoch while the pool lives.
  const uint32_t epoch = job.epoch.load(std::memory_order_relaxed) + 1;
  // All ranges before the epoch: a worker that sees the new epoch sees work.
  for (int t = 0; t < num_threads_; ++t) {
    const int64_t units = job.num_units;
    const auto begin = static_cast<uint32_t>(units * t / num_threads_);
    const auto end = static_cast<uint32_t>(units * (t + 1) / num_threads_);
    job.slots[static_cast<size_t>(t)].range.store(Range{epoch & kEpochMask, begin, end}.word(),
                                                  std::memory_order_release);
  }
  job.epoch.store(epoch, std::memory_order_release);
  job.epoch.notify_all();
  const uint32_t num_units = job.num_units;
  work(0);
  wait_for_completion(num_units);
}

// The processors that this process may use, which a container or taskset makes fewer than there
// are.
int available_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace quern
