// Packs weights panel by panel.
#include "backends/cpu/kernels/packed_weight.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/kernels/block_packing.h"
#include "backends/cpu/kernels/transpose-inl.h"
#include "base/checked_math.h"
#include "base/fail.h"
#include "tensor/convert.h"

namespace quern::cpu {

// Fills a PackedWeight in steps: form, memory, panels.
class WeightPacker {
 public:
  WeightPacker(const Tensor& weight, ActivationKind activations, const LinearKernels& kernels,
               WeightMemory* memory)
      : weight_(weight),
        kernels_(kernels),
        memory_(memory),
        format_(find_block_format(weight.dtype())) {
    packed_.dtype_ = weight.dtype();
    packed_.activations_ = activations;
  }

  // Of a weight whose form is known.
  WeightPacker(const PackedWeight& wrapped, const LinearKernels& kernels)
      : weight_(wrapped.source_),
        kernels_(kernels),
        memory_(nullptr),
        format_(find_block_format(wrapped.dtype_)),
        packed_(wrapped) {}

  Result<PackedWeight> wrap() {
    QUERN_TRY(measure());
    if (packed_.form_ == Form::kBlocks && packed_.activations_ == ActivationKind::kF32) {
      return fail::invalid("A weight of type {} with f32 activations must be packed.",
                           dtype_name(packed_.dtype_));
    }
    QUERN_TRY(weight_.host_view());
    packed_.source_ = weight_;
    return std::move(packed_);
  }

  // Panels one after another, lanes of no row zero as in fresh memory.
  void make(int64_t first, int64_t count, std::byte* out) const {
    const auto source = weight_.host_view();
    for (int64_t panel = first; panel < first + count; ++panel, out += packed_.panel_bytes_) {
      if (rows_in(panel) < packed_.panel_rows_) {
        std::fill_n(out, packed_.panel_bytes_, std::byte{});
      }
      pack_one(source->data(), panel, out);
    }
  }

  // Bytes of all panels.
  Result<int64_t> measure() {
    QUERN_TRY(choose_form());
    return panels_size();
  }

  Result<PackedWeight> adopt(Buffer panels) {
    QUERN_ASSIGN_OR_RETURN(const int64_t size, measure());
    if (panels.size_bytes() != size) {
      return fail::invalid("A packed weight of shape {} has {} bytes; {} are given.",
                           weight_.shape().to_string(), size, panels.size_bytes());
    }
    packed_.buffer_ = std::move(panels);
    QUERN_ASSIGN_OR_RETURN(const auto bytes, packed_.buffer_.host_view());
    packed_.panels_ = bytes.data();
    return std::move(packed_);
  }

  Result<PackedWeight> pack(ThreadPool& pool, const PackedBytes& packed) {
    QUERN_ASSIGN_OR_RETURN(const int64_t size, measure());
    QUERN_ASSIGN_OR_RETURN(packed_.buffer_, memory_ != nullptr ? memory_->allocate(size)
                                                               : Buffer::allocate_host(size));
    QUERN_ASSIGN_OR_RETURN(const auto source, weight_.host_view());
    QUERN_ASSIGN_OR_RETURN(const auto target, packed_.buffer_.mutable_host_view());
    packed_.panels_ = target.data();
    // In pieces, so that of a mapped weight little more than one is in memory beside its packed
    // form.
    const int64_t source_bytes = packed_.panel_rows_ * row_bytes();
    const int64_t piece = std::max<int64_t>(1, kPieceBytes / std::max<int64_t>(1, source_bytes));
    for (int64_t first = 0; first < packed_.num_panels(); first += piece) {
      const int64_t count = std::min(piece, packed_.num_panels() - first);
      pool.run(count, [&](int64_t panel, int) {
        std::byte* out = target.data() + (first + panel) * packed_.panel_bytes_;
        pack_one(source.data(), first + panel, out);
      });
      const int64_t begin = first * source_bytes;
      const int64_t end = std::min((first + count) * source_bytes, weight_bytes());
      if (packed)
        packed(source.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    }
    return std::move(packed_);
  }

 private:
  using Form = PackedWeight::Form;
  // Bytes of each row that are read ahead; not of other rows, whose pages may not be mapped yet.
  static constexpr int64_t kReadAhead = 256;
  static constexpr int64_t kPieceBytes = int64_t{2} << 20;

  void pack_one(const std::byte* source, int64_t panel, std::byte* out) const {
    if (packed_.form_ == Form::kBlocks) {
      pack_block_panel(source, panel, out);
    } else {
      pack_float_panel(source, panel, out);
    }
  }

  Result<void> choose_form() {
    const std::string_view name = dtype_name(packed_.dtype_);
    if (weight_.shape().rank() != 2) {
      return fail::invalid("A weight has rank {}; a product needs [rows, columns].",
                           weight_.shape().rank());
    }
    packed_.rows_ = weight_.shape()[0];
    packed_.columns_ = weight_.shape()[1];
    if (format_ != nullptr) return choose_block_form();
    if (!is_float(packed_.dtype_)) {
      return fail::invalid("A weight of type {} cannot be multiplied.", name);
    }
    const bool wants_f64 = packed_.activations_ == ActivationKind::kF64;
    if (packed_.activations_ != ActivationKind::kF32 && !wants_f64) {
      return fail::invalid("A weight of type {} does not take quantised activations.", name);
    }
    if (wants_f64 || packed_.dtype_ == DType::kF64) {
      if (!wants_f64) return fail::invalid("A weight of type f64 needs f64 activations.");
      packed_.form_ = Form::kF64;
    } else if (packed_.dtype_ == DType::kF32) {
      packed_.form_ = Form::kF32;
    } else if (packed_.dtype_ == DType::kBF16) {
      packed_.form_ = Form::kBF16;
    } else {
      packed_.form_ = Form::kF16;  // holds both kinds of f8 exactly
    }
    packed_.panel_rows_ =
        packed_.form_ == Form::kF64 ? kernels_.double_panel_rows : kernels_.float_panel_rows;
    return {};
  }

  Result<void> choose_block_form() {
    if (packed_.activations_ == ActivationKind::kF64) {
      return fail::invalid("A weight of type {} does not take f64 activations.",
                           dtype_name(packed_.dtype_));
    }
    packed_.form_ = Form::kBlocks;
    packed_.scheme_ = scheme_of(*format_);
    packed_.activation_block_ = format_->activation_block;
    packed_.panel_rows_ = kernels_.num_lanes;
    return {};
  }

  int element_bytes() const {
    return packed_.form_ == Form::kF64 ? 8 : (packed_.form_ == Form::kF32 ? 4 : 2);
  }

  Result<int64_t> panels_size() {
    const bool is_blocks = packed_.form_ == Form::kBlocks;
    const WeightScheme& s = scheme(packed_.scheme_);
    const auto panel_bytes =
        is_blocks ? checked_multiply(packed_.columns_ / s.record_size(),
                                     s.record_bytes(packed_.panel_rows_))
                  : checked_multiply(packed_.columns_, element_bytes() * packed_.panel_rows_);
    const auto bytes =
        panel_bytes ? checked_multiply(*panel_bytes, packed_.num_panels()) : std::nullopt;
    if (!bytes || *bytes >= int64_t{1} << 62) {
      return fail::exhausted("A packed weight of shape {} has 2^62 bytes or more.",
                             weight_.shape().to_string());
    }
    packed_.panel_bytes_ = *panel_bytes;
    return *bytes;
  }

  int rows_in(int64_t panel) const {
    const int64_t first = panel * packed_.panel_rows_;
    return static_cast<int>(std::min<int64_t>(packed_.panel_rows_, packed_.rows_ - first));
  }

  int64_t row_bytes() const {
    const DTypeInfo& info = dtype_info(packed_.dtype_);
    return packed_.columns_ / info.block_size * info.block_bytes;
  }

  int64_t weight_bytes() const { return packed_.rows_ * row_bytes(); }

  void pack_block_panel(const std::byte* source, int64_t panel, std::byte* out) const {
    const int planes = packed_.activations_ == ActivationKind::kInt16 ? 2 : 1;
    const PanelSource rows{*format_, source + panel * packed_.panel_rows_ * row_bytes(),
                           row_bytes(), rows_in(panel), packed_.columns_};
    pack_panel(rows, scheme(packed_.scheme_), packed_.panel_rows_, kernels_.full_offset[planes - 1],
               out);
  }

  void pack_float_panel(const std::byte* source, int64_t panel, std::byte* out) const {
    const bool is_whole = rows_in(panel) == packed_.panel_rows_;
    if (is_whole && !is_converted() && element_bytes() < 8) {
      const std::byte* from = source + panel * packed_.panel_rows_ * row_bytes();
      return element_bytes() == 2 ? transpose_panel<Halves>(from, out)
                                  : transpose_panel<Dwords>(from, out);
    }
    std::vector<std::byte> row(static_cast<size_t>(packed_.columns_ * element_bytes()));
    for (int lane = 0; lane < rows_in(panel); ++lane) {
      const std::byte* from = source + (panel * packed_.panel_rows_ + lane) * row_bytes();
      from = convert_row(from, row.data());
      switch (element_bytes()) {
        case 8:
          scatter<8>(from, lane, out);
          break;
        case 4:
          scatter<4>(from, lane, out);
          break;
        default:
          scatter<2>(from, lane, out);
      }
    }
  }

  bool widens_to_f64() const {
    return packed_.form_ == Form::kF64 && packed_.dtype_ != DType::kF64;
  }
  // Whether the panels hold another type than the source.
  bool is_converted() const {
    const bool is_f8 = packed_.dtype_ == DType::kF8E4M3 || packed_.dtype_ == DType::kF8E5M2;
    return is_f8 || widens_to_f64();
  }

  // All rows of a panel in tiles of 16 bytes by 16 bytes; what is left over goes element by
  // element. A cache line of each row after another, since lines of rows that lie a power of two
  // apart push one another out, and columns in the outer loop, so that the panel is written front
  // to back.
  template <class Vector>
  void transpose_panel(const std::byte* from, std::byte* out) const {
    constexpr int kBytes = sizeof(Vector{}[0]);
    constexpr int kTile = static_cast<int>(sizeof(Vector)) / kBytes;
    constexpr int kLine = 64 / kBytes;
    const int rows = packed_.panel_rows_;
    const int64_t row_step = row_bytes();
    const int64_t step = int64_t{kBytes} * rows;
    const int64_t tiled = rows % kTile == 0 ? packed_.columns_ / kTile * kTile : 0;
    for (int64_t line = 0; line < tiled; line += kLine) {
      const int64_t end = std::min(line + kLine, tiled);
      for (int lane = 0; lane < rows; lane += kTile) {
        const std::byte* row = from + lane * row_step;
        for (int i = 0; i < kTile; ++i) {
          __builtin_prefetch(row + i * row_step + line * kBytes + kReadAhead);
        }
        for (int64_t k = line; k < end; k += kTile) {
          transpose_tile<Vector>(row + k * kBytes, row_step, out + k * step + lane * kBytes, step);
        }
      }
    }
    for (int64_t k = tiled; k < packed_.columns_; ++k) {
      for (int lane = 0; lane < rows; ++lane) {
        std::memcpy(out + k * step + lane * kBytes, from + lane * row_bytes() + k * kBytes, kBytes);
      }
    }
  }

  // The row in the type of the panels; `row` is room for it.
  const std::byte* convert_row(const std::byte* from, std::byte* row) const {
    if (!is_converted()) return from;
    std::vector<float> floats(static_cast<size_t>(packed_.columns_));
    widen_row(packed_.dtype_, from, floats.data(), packed_.columns_);
    if (widens_to_f64()) {
      std::copy(floats.begin(), floats.end(), reinterpret_cast<double*>(row));
    } else {
      narrow_row(DType::kF16, floats.data(), row, packed_.columns_);
    }
    return row;
  }

  template <int kBytes>
  void scatter(const std::byte* from, int lane, std::byte* out) const {
    const int64_t step = int64_t{kBytes} * packed_.panel_rows_;
    out += lane * kBytes;
    for (int64_t k = 0; k < packed_.columns_; ++k) {
      std::memcpy(out + k * step, from + k * kBytes, kBytes);
    }
  }

  Tensor weight_;
  const LinearKernels& kernels_;
  WeightMemory* memory_;
  const BlockFormat* format_;
  PackedWeight packed_;
};

Result<PackedWeight> pack_weight(const Tensor& weight, ActivationKind activations,
                                 const KernelTable& kernels, ThreadPool& pool, WeightMemory* memory,
                                 const PackedBytes& packed) {
  return WeightPacker(weight, activations, kernels.linear, memory).pack(pool, packed);
}

Result<PackedWeight> wrap_weight(const Tensor& weight, ActivationKind activations,
                                 const KernelTable& kernels) {
  return WeightPacker(weight, activations, kernels.linear, nullptr).wrap();
}

void make_panels(const PackedWeight& weight, const LinearKernels& kernels, int64_t first,
                 int64_t count, std::byte* out) {
  WeightPacker(weight, kernels).make(first, count, out);
}

Result<int64_t> packed_weight_bytes(const Tensor& weight, ActivationKind activations,
                                    const KernelTable& kernels) {
  return WeightPacker(weight, activations, kernels.linear, nullptr).measure();
}

Result<PackedWeight> adopt_packed_weight(const Tensor& weight, ActivationKind activations,
                                         const KernelTable& kernels, Buffer panels) {
  return WeightPacker(weight, activations, kernels.linear, nullptr).adopt(std::move(panels));
}

}  // namespace quern::cpu
