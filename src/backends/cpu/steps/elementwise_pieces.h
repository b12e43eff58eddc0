// Pieces of tensors for elementwise kernels: in place, converted, or through a small buffer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "backends/cpu/steps/float_rows.h"

namespace quern::cpu {

// Elements that are computed at a time where something stands between memory and the kernel: small
// enough for several pieces in the first-level cache.
inline constexpr int64_t kPiece = 1024;

// Elements of a view as T: in place, or up to kPiece of them converted to `room`.
template <class T>
const T* elements(const TensorView& view, int64_t first, int64_t n, T* room) {
  if (view.dtype == kDTypeOf<T>) return view.as<const T>() + first;
  load_row(view, first, n, room);
  return room;
}

inline int64_t view_bytes(const TensorView& view) {
  return view.shape.num_elements() * dtype_info(view.dtype).block_bytes;
}

// Bytes of a piece that is streamed past the caches.
inline constexpr int64_t kStreamedBytes = 2048;

// Where an elementwise result goes: straight to memory, rounded to a narrow dtype, or past the
// caches.
template <class T>
class ResultPieces {
 public:
  ResultPieces(const Machine& machine, const StepContext& context)
      : view_(context.outputs[0]), is_direct_(view_.dtype == kDTypeOf<T>) {
    int64_t traffic = view_bytes(view_);
    bool is_in_place = false;
    for (const TensorView& input : context.inputs) {
      if (!input.is_present()) continue;
      traffic += view_bytes(input);
      is_in_place = is_in_place || input.data == view_.data;
    }
    if (is_direct_ && !is_in_place && machine.goes_past_caches(traffic)) {
      stream_ = machine.kernels.elementwise.stream;
      end_stream_ = machine.kernels.elementwise.end_stream;
    }
  }

  // Elements that one call of the kernel may make of a range of n.
  int64_t piece(int64_t n) const {
    if (stream_ != nullptr) return kStreamedBytes / static_cast<int64_t>(sizeof(T));
    return is_direct_ ? std::max<int64_t>(n, 1) : kPiece;
  }
  // Where the kernel writes elements from `first` on; `room` holds kPiece of them.
  T* at(int64_t first, T* room) const {
    return is_direct_ && stream_ == nullptr ? view_.as<T>() + first : room;
  }
  // Where elements from `first` on may be streamed to by a kernel of its own; null if they do not
  // go past the caches. finish_range() follows.
  T* streamed_to(int64_t first) const {
    return stream_ == nullptr ? nullptr : view_.as<T>() + first;
  }
  // Each thread calls it after its last put() of a range.
  void finish_range() const {
    if (stream_ != nullptr) end_stream_();
  }
  // Takes n elements where they belong. The operands from `operands` on are what they were made
  // of; those behind them are fetched meanwhile. Null operands are left out.
  void put(int64_t first, int64_t n, const T* values, std::span<const T* const> operands) const {
    if (!is_direct_) return store_row(view_, first, n, values);
    if (stream_ == nullptr) return;
    // More than two streams of fetches get in each other's way (Zen 4, relu(a * b + c) of 4 M
    // floats: 1,262 us with them, 873 us without).
    NextReads next;
    for (const T* operand : operands) {
      if (operand != nullptr && operands.size() <= 2) next.add(operand + n);
    }
    stream_(values, view_.as<T>() + first, n * static_cast<int64_t>(sizeof(T)), next);
  }

 private:
  TensorView view_;
  bool is_direct_;
  decltype(ElementwiseKernels::stream) stream_ = nullptr;
  void (*end_stream_)() = nullptr;
};

// Calls f(first, n) for pieces of [begin, end) of at most `piece` elements.
template <class F>
void for_pieces(int64_t begin, int64_t end, int64_t piece, F&& f) {
  for (int64_t i = begin; i < end; i += piece) f(i, std::min(piece, end - i));
}

}  // namespace quern::cpu
