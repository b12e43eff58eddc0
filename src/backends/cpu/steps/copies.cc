// Operations that only move rows or pieces: embedding.token, gather_rows, concat, slice.
#include <cstring>

#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"
#include "base/fail.h"
#include "ops/index_access.h"
#include "ops/type_rules.h"
#include "tensor/block_format.h"

namespace quern::cpu {
namespace {

// Bytes that are copied, and elements that are dequantised, for a unit of for_ranges.
constexpr int64_t kBytesPerUnit = 8;
constexpr int64_t kCostOfDequantizing = 4;

// memcpy wants valid pointers even for no bytes.
void copy_bytes(std::byte* to, const std::byte* from, int64_t size) {
  if (size > 0) std::memcpy(to, from, static_cast<size_t>(size));
}

// A tensor along one axis: `outer` repetitions of `extent` slabs of `slab_bytes` each.
struct AxisView {
  int64_t outer = 1;
  int64_t extent = 0;
  int64_t slab_bytes = 0;

  AxisView(const TensorView& view, int axis)
      : extent(view.shape[axis]), slab_bytes(dtype_info(view.dtype).block_bytes) {
    for (int i = 0; i < axis; ++i) outer *= view.shape[i];
    for (int i = axis + 1; i < view.shape.rank(); ++i) slab_bytes *= view.shape[i];
  }
  int64_t repetition_bytes() const { return extent * slab_bytes; }
};

// `count` pieces of `size` bytes; those of each side are its stride apart.
struct Pieces {
  std::byte* to;
  const std::byte* from;
  int64_t to_stride;
  int64_t from_stride;
  int64_t size;
};
void copy_pieces(ThreadPool& pool, const Pieces& pieces, int64_t count) {
  for_ranges(pool, count, pieces.size / kBytesPerUnit, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      copy_bytes(pieces.to + i * pieces.to_stride, pieces.from + i * pieces.from_stride,
                 pieces.size);
    }
  });
}

// embeds[t] = table[ids[t]]; quantised and narrow rows come out as f32, f64 as it is.
class EmbeddingStep final : public Step {
 public:
  explicit EmbeddingStep(Machine& machine) : machine_(machine) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& weight = context.inputs[1];
    const TensorView& embeds = context.outputs[0];
    const std::vector<int64_t> ids = load_indices(context.inputs[0]);
    const int64_t rows = weight.shape[0], d = weight.shape[1];
    // Ids come from outside: all are checked before anything is written.
    for (size_t t = 0; t < ids.size(); ++t) {
      if (ids[t] >= 0 && ids[t] < rows) continue;
      return fail::out_of_range("The id {} at position {} is outside the table of {} rows.", ids[t],
                                t, rows);
    }
    const DTypeInfo& info = dtype_info(weight.dtype);
    const int64_t row_bytes = d / info.block_size * info.block_bytes;
    for_ranges(machine_.pool, static_cast<int64_t>(ids.size()), d * kCostOfDequantizing,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t t = begin; t < end; ++t) {
                   const std::byte* row = weight.data + ids[static_cast<size_t>(t)] * row_bytes;
                   if (weight.dtype == DType::kF64) {
                     copy_bytes(embeds.data + t * row_bytes, row, row_bytes);
                   } else {
                     dequantize_row(weight.dtype, row, embeds.as<float>() + t * d, d);
                   }
                 }
               });
    return {};
  }

 private:
  Machine& machine_;
};

// y[i] = x[rows[i]], a slab of bytes each, whatever the dtype.
class GatherRowsStep final : public Step {
 public:
  explicit GatherRowsStep(Machine& machine) : machine_(machine) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& x = context.inputs[0];
    const AxisView source(x, 0);
    const std::vector<int64_t> rows = load_indices(context.inputs[1]);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= 0 && rows[i] < source.extent) continue;
      return fail::out_of_range("Element {} of 'rows' is {}; 'x' has {} rows.", i, rows[i],
                                source.extent);
    }
    for_ranges(machine_.pool, static_cast<int64_t>(rows.size()), source.slab_bytes / kBytesPerUnit,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t i = begin; i < end; ++i) {
                   copy_bytes(context.outputs[0].data + i * source.slab_bytes,
                              x.data + rows[static_cast<size_t>(i)] * source.slab_bytes,
                              source.slab_bytes);
                 }
               });
    return {};
  }

 private:
  Machine& machine_;
};

// Inputs side by side along the axis: each fills its columns of every repetition.
class ConcatStep final : public Step {
 public:
  ConcatStep(Machine& machine, int axis) : machine_(machine), axis_(axis) {}

  Result<void> run(const StepContext& context) override {
    const AxisView target(context.outputs[0], axis_);
    std::byte* column = context.outputs[0].data;
    for (const TensorView& input : context.inputs) {
      const int64_t size = AxisView(input, axis_).repetition_bytes();
      copy_pieces(machine_.pool, {column, input.data, target.repetition_bytes(), size, size},
                  target.outer);
      column += size;
    }
    return {};
  }

 private:
  Machine& machine_;
  int axis_;
};

// [start, end) along the axis; an end of 0 is that of the axis.
class SliceStep final : public Step {
 public:
  SliceStep(Machine& machine, int axis, int64_t start, int64_t end)
      : machine_(machine), axis_(axis), start_(start), end_(end) {}

  Result<void> run(const StepContext& context) override {
    const AxisView source(context.inputs[0], axis_);
    // The extent may be a symbol, so the range is checked in each run.
    const int64_t end = end_ == 0 ? source.extent : end_;
    if (start_ < 0 || start_ > end || end > source.extent) {
      return fail::out_of_range("The slice [{}, {}) is out of range for an axis of extent {}.",
                                start_, end, source.extent);
    }
    const int64_t size = (end - start_) * source.slab_bytes;
    copy_pieces(machine_.pool,
                {context.outputs[0].data, context.inputs[0].data + start_ * source.slab_bytes, size,
                 source.repetition_bytes(), size},
                source.outer);
    return {};
  }

 private:
  Machine& machine_;
  int axis_;
  int64_t start_;
  int64_t end_;
};

// The attribute `dim`, counted from the end where it is negative. Errors: outside the rank.
Result<int> axis_of(const StepRequest& request) {
  return type_rules::resolve_axis("dim", request.attributes().integer("dim"),
                                  request.output_type(0).rank());
}

}  // namespace

MadeStep make_embedding(const StepRequest& request) {
  return std::make_unique<EmbeddingStep>(request.machine);
}

MadeStep make_gather_rows(const StepRequest& request) {
  return std::make_unique<GatherRowsStep>(request.machine);
}

MadeStep make_concat(const StepRequest& request) {
  QUERN_ASSIGN_OR_RETURN(const int axis, axis_of(request));
  return std::make_unique<ConcatStep>(request.machine, axis);
}

MadeStep make_slice(const StepRequest& request) {
  QUERN_ASSIGN_OR_RETURN(const int axis, axis_of(request));
  return std::make_unique<SliceStep>(request.machine, axis, request.attributes().integer("start"),
                                     request.attributes().integer("end"));
}

}  // namespace quern::cpu
