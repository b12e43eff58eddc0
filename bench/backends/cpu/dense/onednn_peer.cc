// oneDNN: products of matrices and convolutions.
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "dense_peers.h"

namespace quern::bench {
namespace {

using dnnl::memory;

// One primitive with its arguments.
struct Primitive {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

// The shared pointer keeps engine, stream and memory alive with the closure.
std::function<void()> runner(std::shared_ptr<Primitive> made, int num_threads) {
  return [made, num_threads] {
    // A setting of the process: set before each run, as peers take turns.
    omp_set_num_threads(num_threads);
    made->primitive.execute(made->stream, made->arguments);
    made->stream.wait();
  };
}

memory::data_type type_of(const std::string& word) {
  return word == "bf16" ? memory::data_type::bf16 : memory::data_type::f32;
}

std::function<void()> prepare_matmul(const DenseCase& dense_case, int num_threads) {
  const auto words = words_of(dense_case.name);
  // oneDNN's matmul has no double precision.
  if (words[1] == "f64") return {};
  const memory::dim n = std::stoll(words[2]);
  const auto type = type_of(words[1]);
  auto made = std::make_shared<Primitive>();
  const memory::desc desc({n, n}, type, memory::format_tag::ab);
  omp_set_num_threads(num_threads);
  const dnnl::matmul::primitive_desc primitive(dnnl::matmul::desc(desc, desc, desc), made->engine);
  made->primitive = dnnl::matmul(primitive);
  const auto data = [&](const char* name) {
    return const_cast<std::byte*>(input_values<std::byte>(dense_case, name));
  };
  made->arguments = {{DNNL_ARG_SRC, memory(desc, made->engine, data("0"))},
                     {DNNL_ARG_WEIGHTS, memory(desc, made->engine, data("1"))},
                     {DNNL_ARG_DST, memory(desc, made->engine)}};
  return runner(made, num_threads);
}

// Tensors in the plain layout of the graph, the weight in the layout that oneDNN wants.
std::function<void()> prepare_conv2d(const DenseCase& dense_case, int num_threads) {
  const auto words = words_of(dense_case.name);
  const memory::dim batch = std::stoll(words[2]), in = std::stoll(words[3]),
                    out = std::stoll(words[4]), size = std::stoll(words[5]),
                    kernel = std::stoll(words[6]);
  using tag = memory::format_tag;
  const auto f32 = memory::data_type::f32;
  auto made = std::make_shared<Primitive>();
  const memory::desc x({batch, in, size, size}, f32, tag::nchw);
  // Let oneDNN choose: packing a weight once is what Quern does at load, too.
  const memory::desc weight({out, in, kernel, kernel}, f32, tag::any);
  const memory::desc y({batch, out, size, size}, f32, tag::nchw);
  const memory::dims pad = {kernel / 2, kernel / 2};
  omp_set_num_threads(num_threads);
  const dnnl::convolution_forward::primitive_desc primitive({dnnl::prop_kind::forward_inference,
                                                             dnnl::algorithm::convolution_direct,
                                                             x,
                                                             weight,
                                                             y,
                                                             {1, 1},
                                                             pad,
                                                             pad},
                                                            made->engine);
  made->primitive = dnnl::convolution_forward(primitive);
  made->arguments = {
      {DNNL_ARG_SRC,
       memory(x, made->engine, const_cast<std::byte*>(input_values<std::byte>(dense_case, "0")))},
      {DNNL_ARG_WEIGHTS, memory(primitive.weights_desc(), made->engine)},
      {DNNL_ARG_DST, memory(y, made->engine)}};
  return runner(made, num_threads);
}

// Nothing where oneDNN has no primitive for this processor: bf16 below AVX-512.
std::function<void()> prepare(const DenseCase& dense_case, int num_threads) {
  try {
    if (dense_case.name.starts_with("matmul")) return prepare_matmul(dense_case, num_threads);
    if (dense_case.name.starts_with("conv2d")) return prepare_conv2d(dense_case, num_threads);
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
  }
  return {};
}

}  // namespace

DensePeer onednn_peer() {
  return {"oneDNN", "", prepare};
}

}  // namespace quern::bench
