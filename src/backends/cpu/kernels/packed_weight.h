// A weight in the private layout of the product kernels of one level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/kernels/weight_memory.h"
#include "base/thread_pool.h"
#include "quern/tensor.h"

namespace quern::cpu {

// What a weight is multiplied with; packing depends on it.
enum class ActivationKind : uint8_t {
  kF32,
  kF64,    // f64 weights only
  kInt8,   // block-quantised weights only
  kInt16,  // the same
};

// Rows W [rows, columns] of y = x W^T, in panels, or still in the memory of their tensor: then each
// product makes the panels that it multiplies. Copies share memory.
class PackedWeight {
 public:
  // How the panels hold the numbers.
  enum class Form : uint8_t { kBlocks, kF32, kF16, kBF16, kF64 };

  PackedWeight() = default;

  DType dtype() const { return dtype_; }  // of the source
  ActivationKind activations() const { return activations_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  // Block of `quant.dynamic` that integer activations must have: 32 or 256.
  int activation_block() const { return activation_block_; }
  // Of all panels, once they are made.
  int64_t size_bytes() const { return num_panels() * panel_bytes_; }
  bool is_packed() const { return source_.is_empty(); }
  const Tensor& source() const { return source_; }  // empty once the weight is packed

  Form form() const { return form_; }
  SchemeId scheme_id() const { return scheme_; }  // for kBlocks
  // Output rows of a panel, and its bytes.
  int panel_rows() const { return panel_rows_; }
  int64_t panel_bytes() const { return panel_bytes_; }
  int64_t num_panels() const { return (rows_ + panel_rows_ - 1) / panel_rows_; }
  const std::byte* panels() const { return panels_; }  // null before they are made
  // The memory of the panels.
  const Buffer& buffer() const { return buffer_; }

 private:
  friend class WeightPacker;
  DType dtype_ = DType::kF32;
  ActivationKind activations_ = ActivationKind::kF32;
  Form form_ = Form::kF32;
  SchemeId scheme_ = SchemeId::kQ8;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  int activation_block_ = 0;
  int panel_rows_ = 1;
  int64_t panel_bytes_ = 0;
  const std::byte* panels_ = nullptr;
  Buffer buffer_;
  Tensor source_;
};

// Hears of bytes of a weight that packing has read and does not read again.
using PackedBytes = std::function<void(std::span<const std::byte>)>;

// Packs `weight` [rows, columns], a float or block-quantised host tensor, in parallel, into
// `memory` or, where that is null, into memory of its own. `packed` may be empty; it is called on
// this thread, for some megabytes at a time.
// Errors: kInvalidArgument for another rank, dtype or a kind that the dtype does not allow;
// kResourceExhausted.
Result<PackedWeight> pack_weight(const Tensor& weight, ActivationKind activations,
                                 const KernelTable& kernels, ThreadPool& pool,
                                 WeightMemory* memory = nullptr, const PackedBytes& packed = {});

// The weight in the memory of its tensor, which must not change meanwhile. Not for block-quantised
// weights with f32 activations. Errors: as for pack_weight().
Result<PackedWeight> wrap_weight(const Tensor& weight, ActivationKind activations,
                                 const KernelTable& kernels);
// Writes panels [first, first + count) of a weight that is not packed to `out`.
void make_panels(const PackedWeight& weight, const LinearKernels& kernels, int64_t first,
                 int64_t count, std::byte* out);

// Bytes of the panels that pack_weight() would make. Errors: as for it.
Result<int64_t> packed_weight_bytes(const Tensor& weight, ActivationKind activations,
                                    const KernelTable& kernels);
// A weight whose panels were packed before, by the same kernels; `weight` gives type and shape, its
// bytes are not read. Errors: as for pack_weight(), and another size than packed_weight_bytes().
Result<PackedWeight> adopt_packed_weight(const Tensor& weight, ActivationKind activations,
                                         const KernelTable& kernels, Buffer panels);

}  // namespace quern::cpu
