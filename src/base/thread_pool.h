// A fixed set of threads that share loops cut into chunks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

namespace quern {

// Most threads that anybody may ask for.
inline constexpr int kMaxThreads = 1024;

// Borrowed callable `void(int64_t chunk, int thread)`; valid only during the call it is passed to.
// Two pointers and no allocation, unlike std::function: a token of a model is hundreds of calls.
class ChunkFunction {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, ChunkFunction>>>
  ChunkFunction(F&& f)  // NOLINT(google-explicit-constructor): made at each call site on purpose
      : context_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* context, int64_t chunk, int thread) {
          (*static_cast<std::remove_reference_t<F>*>(context))(chunk, thread);
        }) {}
  void operator()(int64_t chunk, int thread) const { call_(context_, chunk, thread); }

 private:
  friend class ThreadPool;
  using Call = void (*)(void*, int64_t, int);
  ChunkFunction(void* context, Call call) : context_(context), call_(call) {}
  void* context_;
  Call call_;
};

// run() deals each thread a range of chunks, which it takes from the front, so that neighbouring
// chunks stay with one thread; a thread without work takes from the back of the fullest range. The
// caller works too and waits for finished chunks, not for every thread's arrival, so a descheduled
// thread that holds no chunk delays nobody.
// Waiting spins briefly, then yields, then sleeps. One caller at a time.
class ThreadPool {
 public:
  // `num_threads` counts the caller: 1 makes no thread. Where the system gives fewer, the others do
  // the work of those that are missing.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }
  // Threads that could not be started.
  int num_missing() const { return num_threads_ - 1 - static_cast<int>(threads_.size()); }
  // Calls f(chunk, thread) for chunk in [0, num_chunks), thread in [0, num_threads()).
  // num_chunks < 2^31. `f` must not throw and must not call run() of the same pool.
  // Returns when all chunks are done; what they wrote is visible to the caller. A run() inside `f`
  // would wait for itself.
  void run(int64_t num_chunks, ChunkFunction f);

  // What a later run() will read, its chunks in order. Until then threads without work bring the
  // beginnings of their parts into their caches, so that memory does not idle while the caller
  // computes alone. Changes speed only; the bytes may go away at any time. Replaces what was
  // expected before.
  void expect(std::span<const std::byte> bytes);

 private:
  struct Job;
  struct Prefetch;
  void worker(int thread);
  void work(int thread);
  void wait_for_completion(uint32_t num_units);
  bool prefetch_some(Prefetch& prefetch, int thread) const;
  template <class F>
  bool spin_while(F&& is_waiting, Prefetch& prefetch, int thread) const;

  int num_threads_;
  std::unique_ptr<Job> job_;
  std::vector<std::jthread> threads_;
};

// Threads this process may use: the CPUs of its affinity mask, at least 1.
int available_cpus();

}  // namespace quern
