// Work sharing by a claim counter tagged with the job's epoch.
#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>

namespace quern {
namespace {

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Bytes that a waiting thread prefetches between two looks at what it waits for.
constexpr int64_t kPrefetchStep = 1024;

}  // namespace

struct ThreadPool::Job {
  // High half: epoch of the job; low half: next chunk to claim.
  alignas(64) std::atomic<uint64_t> claim{0};
  alignas(64) std::atomic<uint32_t> epoch{0};
  std::atomic<bool> is_stopping{false};
  std::atomic<int64_t> num_chunks{0};
  std::atomic<void*> context{nullptr};
  std::atomic<ChunkFunction::Call> call{nullptr};
  alignas(64) std::atomic<uint32_t> done{0};
  // What is expected, and how much of it has been prefetched.
  alignas(64) std::atomic<const std::byte*> expected{nullptr};
  std::atomic<int64_t> expected_bytes{0};
  std::atomic<int64_t> prefetched{0};
};

void ThreadPool::expect(std::span<const std::byte> bytes) {
  if (num_threads_ == 1) return;
  Job& job = *job_;
  job.expected_bytes.store(0, std::memory_order_relaxed);
  job.expected.store(bytes.data(), std::memory_order_relaxed);
  job.prefetched.store(0, std::memory_order_relaxed);
  job.expected_bytes.store(static_cast<int64_t>(bytes.size()), std::memory_order_release);
}

// False when there is nothing left to prefetch. A thread that is late by one expectation prefetches
// a wrong address, which harms nobody.
bool ThreadPool::prefetch_some() {
  Job& job = *job_;
  const int64_t size = job.expected_bytes.load(std::memory_order_acquire);
  if (job.prefetched.load(std::memory_order_relaxed) >= size) return false;
  const int64_t begin = job.prefetched.fetch_add(kPrefetchStep, std::memory_order_relaxed);
  const std::byte* from = job.expected.load(std::memory_order_relaxed);
  for (int64_t i = begin; i < std::min(begin + kPrefetchStep, size); i += 64) {
    __builtin_prefetch(from + i);
  }
  return true;
}

// Prefetches and spins about 10 us, then yields until about 50 us, while `is_waiting()`; false when
// time is up.
template <class F>
bool ThreadPool::spin_while(F&& is_waiting) {
  using Clock = std::chrono::steady_clock;
  while (is_waiting() && prefetch_some()) {
  }
  for (int i = 0; i < 64; ++i) {
    if (!is_waiting()) return true;
    pause_cpu();
  }
  const auto start = Clock::now();
  while (is_waiting()) {
    if (prefetch_some()) continue;
    const auto waited = Clock::now() - start;
    if (waited > std::chrono::microseconds(50)) return false;
    if (waited > std::chrono::microseconds(10)) {
      std::this_thread::yield();
    } else {
      for (int i = 0; i < 16; ++i) pause_cpu();
    }
  }
  return true;
}

ThreadPool::ThreadPool(int num_threads)
    : num_threads_(std::max(1, num_threads)), job_(std::make_unique<Job>()) {
  for (int t = 1; t < num_threads_; ++t) threads_.emplace_back([this, t] { worker(t); });
}

ThreadPool::~ThreadPool() {
  job_->is_stopping.store(true);
  job_->epoch.fetch_add(1);
  job_->epoch.notify_all();
}

// Claims and runs chunks of the job `epoch` until none is left. A claim succeeds only while the
// job is the current one, so the fields read before it belong to that job.
bool ThreadPool::work_on(uint32_t epoch, int thread) {
  Job& job = *job_;
  bool has_worked = false;
  while (true) {
    uint64_t claim = job.claim.load(std::memory_order_acquire);
    if (static_cast<uint32_t>(claim >> 32) != epoch) return has_worked;
    const int64_t chunk = static_cast<uint32_t>(claim);
    const ChunkFunction f(job.context.load(std::memory_order_relaxed),
                          job.call.load(std::memory_order_relaxed));
    if (chunk >= job.num_chunks.load(std::memory_order_relaxed)) return has_worked;
    if (!job.claim.compare_exchange_weak(claim, claim + 1, std::memory_order_acq_rel)) continue;
    f(chunk, thread);
    has_worked = true;
    const auto finished = job.done.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (finished == job.num_chunks.load(std::memory_order_relaxed)) job.done.notify_one();
  }
}

void ThreadPool::worker(int thread) {
  uint32_t seen = 0;
  while (true) {
    const auto is_idle = [&] { return job_->epoch.load(std::memory_order_acquire) == seen; };
    if (!spin_while(is_idle)) job_->epoch.wait(seen, std::memory_order_acquire);
    const uint32_t epoch = job_->epoch.load(std::memory_order_acquire);
    if (job_->is_stopping.load()) return;
    if (epoch == seen) continue;
    seen = epoch;
    work_on(epoch, thread);
  }
}

void ThreadPool::wait_for_completion(int64_t num_chunks) {
  const auto is_running = [&] {
    return job_->done.load(std::memory_order_acquire) != static_cast<uint32_t>(num_chunks);
  };
  if (spin_while(is_running)) return;
  while (is_running()) {
    const uint32_t done = job_->done.load(std::memory_order_acquire);
    if (done != static_cast<uint32_t>(num_chunks)) job_->done.wait(done, std::memory_order_acquire);
  }
}

void ThreadPool::run(int64_t num_chunks, ChunkFunction f) {
  if (num_chunks <= 0) return;
  if (num_threads_ == 1 || num_chunks == 1) {
    for (int64_t chunk = 0; chunk < num_chunks; ++chunk) f(chunk, 0);
    return;
  }
  Job& job = *job_;
  const uint32_t epoch = job.epoch.load(std::memory_order_relaxed) + 1;
  // Close the old job to late claimers before its fields change.
  job.claim.store((static_cast<uint64_t>(epoch) << 32) | 0xffffffffU, std::memory_order_release);
  job.num_chunks.store(num_chunks, std::memory_order_relaxed);
  job.context.store(f.context_, std::memory_order_relaxed);
  job.call.store(f.call_, std::memory_order_relaxed);
  job.done.store(0, std::memory_order_relaxed);
  job.claim.store(static_cast<uint64_t>(epoch) << 32, std::memory_order_release);
  job.epoch.store(epoch, std::memory_order_release);
  job.epoch.notify_all();
  work_on(epoch, 0);
  wait_for_completion(num_chunks);
}

int available_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace quern
