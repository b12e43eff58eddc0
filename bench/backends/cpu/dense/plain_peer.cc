// What a person writes without a library: loops at -O3 for the processor at hand, cut in equal
// parts over threads, with the functions of the C library.
#include <algorithm>
#include <cmath>
#include <thread>

#include "dense_peers.h"

namespace quern::bench {
namespace {

// Calls f(begin, end) on equal parts of [0, count).
template <class F>
void on_threads(int num_threads, int64_t count, F&& f) {
  std::vector<std::jthread> threads;
  // The caller does part 0; starting threads is part of the time, as it is in such programs.
  for (int t = 1; t < num_threads; ++t) {
    threads.emplace_back([&, t] { f(count * t / num_threads, count * (t + 1) / num_threads); });
  }
  f(int64_t{0}, count / num_threads);
}

using Floats = std::vector<float>;

template <class F>
std::function<void()> unary(const DenseCase& dense_case, int num_threads, F f) {
  // One f32 input.
  const int64_t n = dense_case.read_bytes / 4;
  const float* x = input_values<float>(dense_case, "0");
  auto y = std::make_shared<Floats>(static_cast<size_t>(n));
  return [=] {
    float* to = y->data();
    on_threads(num_threads, n, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = f(x[i]);
    });
  };
}

std::function<void()> chain(const DenseCase& dense_case, int num_threads) {
  // Three f32 inputs.
  const int64_t n = dense_case.read_bytes / 12;
  const float* a = input_values<float>(dense_case, "0");
  const float* b = input_values<float>(dense_case, "1");
  const float* c = input_values<float>(dense_case, "2");
  auto y = std::make_shared<Floats>(static_cast<size_t>(n));
  return [=] {
    // Without it the compiler must assume that the output overlaps the inputs.
    float* __restrict to = y->data();
    on_threads(num_threads, n, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float sum = a[i] * b[i] + c[i];
        to[i] = sum > 0 ? sum : 0;
      }
    });
  };
}

std::function<void()> softmax(const DenseCase& dense_case, int num_threads, int64_t rows,
                              int64_t n) {
  const float* x = input_values<float>(dense_case, "0");
  auto y = std::make_shared<Floats>(static_cast<size_t>(rows * n));
  return [=] {
    float* to = y->data();
    on_threads(num_threads, rows, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const float* row = x + r * n;
        float largest = row[0], sum = 0;
        // Three passes over the row, as the formula reads: largest, exponentials, division.
        for (int64_t i = 1; i < n; ++i) largest = std::max(largest, row[i]);
        for (int64_t i = 0; i < n; ++i) sum += to[r * n + i] = std::exp(row[i] - largest);
        for (int64_t i = 0; i < n; ++i) to[r * n + i] /= sum;
      }
    });
  };
}

std::function<void()> sum_all(const DenseCase& dense_case, int num_threads) {
  const int64_t n = dense_case.read_bytes / 4;
  const float* x = input_values<float>(dense_case, "0");
  auto totals = std::make_shared<Floats>(1);
  return [=] {
    on_threads(num_threads, n, [=](int64_t begin, int64_t end) {
      float sum = 0;
      for (int64_t i = begin; i < end; ++i) sum += x[i];
      // Only one part's sum is kept: enough that the loop is not left out.
      if (begin == 0) (*totals)[0] = sum;
    });
  };
}

std::function<void()> prepare(const DenseCase& dense_case, int num_threads) {
  const auto words = words_of(dense_case.name);
  const auto of = [&](auto f) { return unary(dense_case, num_threads, f); };
  if (words[0] == "exp") return of([](float x) { return std::exp(x); });
  if (words[0] == "log") return of([](float x) { return std::log(x); });
  if (words[0] == "tanh") return of([](float x) { return std::tanh(x); });
  if (words[0] == "erf") return of([](float x) { return std::erf(x); });
  if (words[0] == "sin") return of([](float x) { return std::sin(x); });
  if (words[0] == "cos") return of([](float x) { return std::cos(x); });
  if (words[0] == "relu") return of([](float x) { return x > 0 ? x : 0; });
  if (words[0] == "sigmoid") return of([](float x) { return 1 / (1 + std::exp(-x)); });
  if (words[0] == "muladdrelu") return chain(dense_case, num_threads);
  if (words[0] == "softmax") {
    return softmax(dense_case, num_threads, std::stoll(words[2]), std::stoll(words[3]));
  }
  if (words[0] == "sum" && words[4] == "all") return sum_all(dense_case, num_threads);
  return {};
}

}  // namespace

DensePeer plain_peer() {
  return {"plain", "", prepare};
}

}  // namespace quern::bench
