// Products of a few float activations: with float panels as they are packed, or with panels that
// each chunk makes from block-quantised weights first.
#include "backends/cpu/kernels/float_activations.h"
#include "backends/cpu/kernels/linear_parts.h"
#include "backends/cpu/kernels/product_split.h"
#include "base/checked_math.h"

namespace quern::cpu {
namespace {

using Form = PackedWeight::Form;

// Room for pack_float_activations.
int64_t packed_x_bytes(int64_t num_tokens, int64_t columns, int64_t element_bytes) {
  return num_tokens <= 1 ? 0 : round_up(num_tokens * columns * element_bytes, 64);
}

int64_t f32_panel_bytes(const PackedWeight& weight, const LinearKernels& kernels) {
  return weight.columns() * kernels.float_panel_rows * int64_t{sizeof(float)};
}

// Panel `panel` of kernels.float_panel_rows rows as f32.
void make_panel(const PackedWeight& weight, const LinearKernels& kernels, int64_t panel,
                float* out) {
  const int64_t k = weight.columns();
  const std::byte* panels = weight.panels();
  const auto dequantize = kernels.dequantize_panel[static_cast<int>(weight.scheme_id())];
  const int64_t parts = kernels.float_panel_rows / weight.panel_rows();
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t source = panel * parts + part;
    if (source >= weight.num_panels()) return;
    dequantize(panels + source * weight.panel_bytes(), k, out + part * weight.panel_rows(),
               kernels.float_panel_rows);
  }
}

template <class T>
FloatProduct<T> product_of(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool) {
  const PackedWeight& weight = *call.weight;
  return {
      .panels = weight.panels(),
      .panel_bytes = weight.panel_bytes(),
      .columns = weight.columns(),
      .x = pack_float_activations(static_cast<const T*>(call.x), call.num_tokens, weight.columns(),
                                  kernels.float_tile, reinterpret_cast<T*>(call.scratch), pool),
      .out = output_of<T>(call)};
}

template <class T>
void multiply(const LinearCall& call, FloatProductKernel<T> kernel, const LinearKernels& kernels,
              ThreadPool& pool) {
  const PackedWeight& weight = *call.weight;
  const FloatProduct<T> product = product_of<T>(call, kernels, pool);
  const ProductSplit split(float_product_size<T>(kernels, weight.num_panels(), weight.panel_bytes(),
                                                 call.num_tokens, weight.columns()),
                           pool.num_threads());
  ProductPair<FloatProduct<T>, FloatProductKernel<T>> pair{
      .call = call,
      .kernels = kernels,
      .kernel = kernel,
      .first = product,
      .second = product,
      .room = call.scratch + packed_x_bytes(call.num_tokens, weight.columns(), sizeof(T))};
  if (call.second.weight != nullptr) {
    pair.second.panels = call.second.weight->panels();
    pair.second.out = second_output_of<T>(call);
  }
  pool.run(split.num_chunks(),
           [&](int64_t chunk, int thread) { pair.run(split.chunk(chunk), thread); });
}

// Each chunk makes one f32 panel in its thread's part of the scratch.
void multiply_made_panels(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool) {
  const PackedWeight& weight = *call.weight;
  const int64_t panel_bytes = f32_panel_bytes(weight, kernels);
  std::byte* room = call.scratch + packed_x_bytes(call.num_tokens, weight.columns(), sizeof(float));
  const FloatProduct<float> product = product_of<float>(call, kernels, pool);
  const int64_t num_panels = ceil_divide(weight.rows(), kernels.float_panel_rows);
  pool.run(num_panels, [&](int64_t panel, int thread) {
    std::byte* own = room + thread * panel_bytes;
    FloatProduct<float> part = product;
    // Where the kernel finds panel `panel`.
    part.panels = own;
    part.panel_bytes = 0;
    const ProductRange range{.panel_begin = panel,
                             .panel_end = panel + 1,
                             .token_begin = 0,
                             .token_end = call.num_tokens};
    if (call.second.weight != nullptr) {
      make_panel(*call.second.weight, kernels, panel, reinterpret_cast<float*>(own));
      FloatProduct<float> second = part;
      second.out = second_output_of<float>(call);
      kernels.f32_product(second, range);
    }
    make_panel(weight, kernels, panel, reinterpret_cast<float*>(own));
    kernels.f32_product(part, range);
    finish_range(call, range, kernels.float_panel_rows, thread);
  });
}

}  // namespace

int64_t float_scratch_bytes(const PackedWeight& weight, const LinearKernels& kernels,
                            int64_t num_tokens, int num_threads) {
  const int64_t element_bytes = weight.form() == Form::kF64 ? 8 : 4;
  const int64_t packed_x = packed_x_bytes(num_tokens, weight.columns(), element_bytes);
  if (weight.form() != Form::kBlocks) {
    return packed_x + made_panels_bytes(weight, kernels, num_threads);
  }
  return packed_x + num_threads * f32_panel_bytes(weight, kernels);
}

void linear_floats(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool) {
  const Form form = call.weight->form();
  if (form == Form::kBlocks) {
    multiply_made_panels(call, kernels, pool);
  } else if (form == Form::kF16) {
    multiply<float>(call, kernels.f16_product, kernels, pool);
  } else if (form == Form::kBF16) {
    multiply<float>(call, kernels.bf16_product, kernels, pool);
  } else {
    multiply<float>(call, kernels.f32_product, kernels, pool);
  }
}

void linear_doubles(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool) {
  multiply<double>(call, kernels.f64_product, kernels, pool);
}

}  // namespace quern::cpu
