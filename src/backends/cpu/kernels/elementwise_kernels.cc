// Loops over the formulas of ops/activation-inl.h and plain arithmetic; compiled once per level.
#include "backends/cpu/kernels/elementwise_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/lanes-inl.h"
#include "backends/cpu/kernels/unroll-inl.h"
#include "ops/activation-inl.h"

namespace quern::cpu {
namespace {

// Vectors that are computed side by side: a formula is one long chain, and with instructions of
// several interleaved (-fschedule-insns) the processor has something to do while it waits. Cycles
// for 16 floats: Zen 4 exp 20 to 15, sigmoid 30 to 25; Zen 3 (AVX2) 27 to 21, 47 to 36.
template <class T>
constexpr int kSideBySide = kLanes >= 8 && sizeof(T) == 4 ? 4 : 1;
// For chains that are longer still. With 32 registers more are better (Zen 4, sigmoid 25 to 23
// cycles; exp loses 1). 8 gain another half a cycle in the caches, but their stores past them come
// in longer bursts and cost 10 %.
template <class T>
constexpr int kManySideBySide = kSideBySide<T> == 1 ? 1
                                : kLanes >= 16      ? 7
                                                    : kSideBySide<T>;
// For those that hold more values at a time: with 16 registers fewer fit (Zen 3, 16 floats of gelu:
// 89 cycles one by one, 76 with 2, 102 with 3).
template <class T>
constexpr int kFewSideBySide = kLanes == 8 && kSideBySide<T> > 1 ? 2 : kSideBySide<T>;

// The last elements go through a vector too, filled up with zeros. With kStreams y is aligned to a
// line, and all but the last vectors go past the caches.
template <class T, class Formula, int kCount, bool kStreams = false>
void run_unary(const T* x, T* y, int64_t n, T a, T b) {
  using V = Lane<T>;
  constexpr int kWidth = sizeof(V) / sizeof(T);
  const V va = simd::splat<V>(a), vb = simd::splat<V>(b);
  int64_t i = 0;
  for (; i + kCount * kWidth <= n; i += kCount * kWidth) {
    V values[kCount];
    if constexpr (kStreams) {
      // The processor's own prefetch stops at the end of a page; 4 KiB ahead is past it.
      unroll<kCount>([&](auto c)
                         QUERN_INLINE_LAMBDA { __builtin_prefetch(x + i + 1024 + c * kWidth); });
    }
    unroll<kCount>([&](auto c) QUERN_INLINE_LAMBDA { values[c] = load<V>(x + i + c * kWidth); });
    unroll<kCount>([&](auto c) QUERN_INLINE_LAMBDA { values[c] = Formula()(values[c], va, vb); });
    unroll<kCount>([&](auto c) QUERN_INLINE_LAMBDA {
      if constexpr (kStreams) {
        stream_vector(y + i + c * kWidth, values[c]);
      } else {
        store(y + i + c * kWidth, values[c]);
      }
    });
  }
  if constexpr (kCount > 1) {
    for (; i + kWidth <= n; i += kWidth) store(y + i, Formula()(load<V>(x + i), va, vb));
  }
  if constexpr (kWidth > 1) {
    if (i < n) store_partial(y + i, Formula()(load_partial<V>(x + i, n - i), va, vb), n - i);
  }
}

// Up to the first line of y in the ordinary way.
template <class T, class Formula, int kCount>
void stream_unary(const T* x, T* y, int64_t n, T a, T b) {
  const auto misplaced = static_cast<int64_t>(reinterpret_cast<uintptr_t>(y) % 64);
  int64_t head = misplaced == 0 ? 0 : (64 - misplaced) / static_cast<int64_t>(sizeof(T));
  if (head > n) head = n;
  if (head > 0) run_unary<T, Formula, kCount>(x, y, head, a, b);
  run_unary<T, Formula, kCount, true>(x + head, y + head, n - head, a, b);
}

// to[i] = f(x[i]...). Vectors are loaded before one is stored. run_unary has a loop of its own: in
// this one GCC 12 interleaves less of the longest formulas (AVX2: erf 29 to 41 cycles).
template <class T, class F, class... X>
QUERN_INLINE void run_together(T* to, int64_t n, F f, const X*... x) {
  using V = Lane<T>;
  constexpr int kWidth = sizeof(V) / sizeof(T), kCount = kSideBySide<T>;
  int64_t i = 0;
  for (; i + kCount * kWidth <= n; i += kCount * kWidth) {
    V values[kCount];
    unroll<kCount>([&](auto c)
                       QUERN_INLINE_LAMBDA { values[c] = f(load<V>(x + i + c * kWidth)...); });
    unroll<kCount>([&](auto c) QUERN_INLINE_LAMBDA { store(to + i + c * kWidth, values[c]); });
  }
  if constexpr (kCount > 1) {
    for (; i + kWidth <= n; i += kWidth) store(to + i, f(load<V>(x + i)...));
  }
  if constexpr (kWidth > 1) {
    if (i < n) store_partial(to + i, f(load_partial<V>(x + i, n - i)...), n - i);
  }
}

template <class T, class Formula>
void run_binary(const T* x, const T* y, T* z, int64_t n, T a) {
  const auto va = simd::splat<Lane<T>>(a);
  run_together(
      z, n, [&](auto vx, auto vy) { return Formula()(vx, vy, va); }, x, y);
}

template <class T, class Formula>
void run_ternary(const T* x, const T* y, const T* z, T* w, int64_t n) {
  run_together(w, n, Formula(), x, y, z);
}

template <class T>
void add_unary(ElementwiseFunctions<T>& functions) {
  const auto add = [&]<class Formula>(UnaryFunction f, Formula) {
    functions.unary[static_cast<int>(f)] = run_unary<T, Formula, kSideBySide<T>>;
  };
  // Functions of many steps, whose stores past the caches are best spread between them.
  const auto add_dear = [&]<class Formula, int kCount = kSideBySide<T>>(
      UnaryFunction f, Formula, std::integral_constant<int, kCount> = {}) {
    functions.unary[static_cast<int>(f)] = run_unary<T, Formula, kCount>;
    if constexpr (kHasStreaming && sizeof(T) == sizeof(float)) {
      functions.streamed[static_cast<int>(f)] = stream_unary<T, Formula, kCount>;
    }
  };
  constexpr std::integral_constant<int, kManySideBySide<T>> kMany;
  constexpr std::integral_constant<int, kFewSideBySide<T>> kFew;
  // The compiler interleaves nothing across a branch; four branches cost more with 16 registers.
  constexpr std::integral_constant<int, kLanes == 8 ? 1 : kSideBySide<T>> kBranching;
  using enum UnaryFunction;
  add(kAbs, [](auto x, auto, auto) { return simd::abs(x); });
  add(kCelu, [](auto x, auto a, auto) { return simd::celu(x, a); });
  add(kClamp, [](auto x, auto a, auto b) { return simd::clamp(x, a, b); });
  add_dear(
      kCos, [](auto x, auto, auto) { return simd::strict_cos(x); }, kBranching);
  add(kElu, [](auto x, auto a, auto) { return simd::elu(x, a); });
  add_dear(
      kErf, [](auto x, auto, auto) { return simd::strict_erf(x); }, kFew);
  add_dear(kExp, [](auto x, auto, auto) { return simd::strict_exp(x); });
  add(kExpm1, [](auto x, auto, auto) { return simd::strict_expm1(x); });
  add_dear(
      kGelu, [](auto x, auto, auto) { return simd::strict_gelu(x); }, kFew);
  add_dear(kGeluTanh, [](auto x, auto, auto) { return simd::strict_gelu_tanh(x); });
  add(kHardShrink, [](auto x, auto a, auto) { return simd::hard_shrink(x, a); });
  add(kHardSigmoid, [](auto x, auto, auto) { return simd::hard_sigmoid(x); });
  add(kHardSwish, [](auto x, auto, auto) { return simd::hard_swish(x); });
  add(kLeakyRelu, [](auto x, auto a, auto) { return simd::leaky_relu(x, a); });
  add_dear(kLog, [](auto x, auto, auto) { return simd::strict_log(x); });
  add(kLog1p, [](auto x, auto, auto) { return simd::strict_log1p(x); });
  add(kLogSigmoid, [](auto x, auto, auto) { return simd::log_sigmoid(x); });
  add(kMish, [](auto x, auto, auto) { return simd::mish(x); });
  add(kNeg, [](auto x, auto, auto) { return -x; });
  add(kQuickGelu, [](auto x, auto, auto) { return simd::quick_gelu(x); });
  add(kRelu, [](auto x, auto, auto) { return simd::relu(x); });
  add(kScale, [](auto x, auto a, auto) { return x * a; });
  add(kSelu, [](auto x, auto, auto) { return simd::selu(x); });
  add_dear(
      kSigmoid, [](auto x, auto, auto) { return simd::strict_sigmoid(x); }, kMany);
  add(kSign, [](auto x, auto, auto) { return simd::sign(x); });
  add_dear(
      kSin, [](auto x, auto, auto) { return simd::strict_sin(x); }, kBranching);
  add(kSnake, [](auto x, auto a, auto b) { return simd::snake(x, a, b); });
  add(kSoftplus, [](auto x, auto, auto) { return simd::softplus(x); });
  add(kSoftShrink, [](auto x, auto a, auto) { return simd::soft_shrink(x, a); });
  add(kSoftsign, [](auto x, auto, auto) { return simd::softsign(x); });
  add(kSqrt, [](auto x, auto, auto) { return simd::sqrt(x); });
  add_dear(
      kSwish, [](auto x, auto, auto) { return simd::swish(x); }, kMany);
  add_dear(kTanh, [](auto x, auto, auto) { return simd::strict_tanh(x); });
  add(kTanhShrink, [](auto x, auto, auto) { return simd::tanh_shrink(x); });
  add(kThreshold, [](auto x, auto a, auto) { return simd::threshold(x, a); });
}

template <class T>
void add_binary(ElementwiseFunctions<T>& functions) {
  const auto add = [&]<class Formula>(BinaryFunction f, Formula) {
    functions.binary[static_cast<int>(f)] = run_binary<T, Formula>;
  };
  using enum BinaryFunction;
  add(kAdd, [](auto x, auto y, auto) { return x + y; });
  add(kAddRelu, [](auto x, auto y, auto) { return simd::relu(x + y); });
  add(kAxpy, [](auto x, auto y, auto a) { return y + a * x; });
  add(kDiv, [](auto x, auto y, auto) { return x / y; });
  add(kGeglu, [](auto x, auto y, auto) { return simd::geglu(x, y); });
  add(kGegluTanh, [](auto x, auto y, auto) { return simd::geglu_tanh(x, y); });
  add(kGlu, [](auto x, auto y, auto) { return simd::glu(x, y); });
  add(kMax, [](auto x, auto y, auto) { return simd::max_of(x, y); });
  add(kMin, [](auto x, auto y, auto) { return simd::min_of(x, y); });
  add(kMul, [](auto x, auto y, auto) { return x * y; });
  add(kReglu, [](auto x, auto y, auto) { return simd::reglu(x, y); });
  add(kSiglu, [](auto x, auto y, auto) { return simd::siglu(x, y); });
  add(kSub, [](auto x, auto y, auto) { return x - y; });
  add(kSwiglu, [](auto x, auto y, auto) { return simd::swiglu(x, y); });
}

template <class T>
void add_ternary(ElementwiseFunctions<T>& functions) {
  const auto add = [&]<class Formula>(TernaryFunction f, Formula) {
    functions.ternary[static_cast<int>(f)] = run_ternary<T, Formula>;
  };
  using enum TernaryFunction;
  add(kMulAdd, [](auto x, auto y, auto z) { return x * y + z; });
  add(kMulAddRelu, [](auto x, auto y, auto z) { return simd::relu(x * y + z); });
}

// Lines of the target that are whole go past the caches, the ends in the ordinary way.
void stream(const void* from, void* to, int64_t bytes, const NextReads& next) {
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  int64_t i = 0;
  const auto misplaced = static_cast<int64_t>(reinterpret_cast<uintptr_t>(target) % 64);
  const int64_t head = misplaced == 0 ? 0 : (64 - misplaced < bytes ? 64 - misplaced : bytes);
  for (; i < head; ++i) target[i] = source[i];
  for (; i + 64 <= bytes; i += 64) {
    for (int r = 0; r < next.count; ++r) {
      __builtin_prefetch(static_cast<const char*>(next.places[r]) + i);
    }
    stream_line(source + i, target + i);
  }
  for (; i < bytes; ++i) target[i] = source[i];
}
// A fence: it waits for the stores, so once for many pieces.
void end_stream() {
  end_of_stream();
}

template <class T>
ElementwiseFunctions<T> functions() {
  ElementwiseFunctions<T> made;
  add_unary(made);
  add_binary(made);
  add_ternary(made);
  return made;
}

}  // namespace

template <>
ElementwiseKernels elementwise_kernels<kThisIsa>() {
  return {.f32 = functions<float>(),
          .f64 = functions<double>(),
          .stream = kHasStreaming ? stream : nullptr,
          .end_stream = end_stream};
}

}  // namespace quern::cpu
