// OpenBLAS: products of matrices.
#include <cblas.h>

#include "dense_peers.h"

// Declared here, since some distributions' cblas.h leaves it out.
extern "C" void openblas_set_num_threads(int);

namespace quern::bench {
namespace {

template <class T>
std::function<void()> product(const DenseCase& dense_case, int num_threads, int n) {
  // Allocated once, outside of the timed call.
  auto c = std::make_shared<std::vector<T>>(static_cast<size_t>(n) * static_cast<size_t>(n));
  const T* a = input_values<T>(dense_case, "0");
  const T* b = input_values<T>(dense_case, "1");
  return [=] {
    openblas_set_num_threads(num_threads);
    if constexpr (sizeof(T) == 4) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c->data(),
                  n);
    } else {
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c->data(),
                  n);
    }
  };
}

std::function<void()> prepare(const DenseCase& dense_case, int num_threads) {
  const auto words = words_of(dense_case.name);
  if (words[0] != "matmul") return {};
  const int n = std::stoi(words[2]);
  if (words[1] == "f32") return product<float>(dense_case, num_threads, n);
  if (words[1] == "f64") return product<double>(dense_case, num_threads, n);
  return {};
}

}  // namespace

DensePeer openblas_peer() {
  return {"OpenBLAS", "", prepare};
}

}  // namespace quern::bench
