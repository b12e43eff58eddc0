// The update rules of optimisers that treat each parameter on its own, over a lane type V: float,
// double or a vector of them. One source for the reference and for every backend that compiles C++.
// A rule is plain numbers, made once for a call by make_*_rule (optimizer_rules.h); its update
// reads the gradient and changes the parameter p and its states s. Every step rounds.
#pragma once

#include "ops/activation-inl.h"

namespace quern::simd {

// velocity = momentum velocity + g; p -= lr (g + momentum velocity) with Nesterov's form, else
// lr velocity.
template <class T>
struct SgdRule {
  static constexpr int kStates = 1;  // velocity
  T lr, momentum, wd;
  bool is_nesterov;

  template <class V>
  __attribute__((always_inline)) void update(V& p, V g, V* s) const {
    g = g + p * wd;
    s[0] = s[0] * momentum + g;
    const V direction = is_nesterov ? g + s[0] * momentum : s[0];
    p = p - direction * lr;
  }
};

// The moments of Adam and its kin, and their direction mhat / (sqrt(vhat) + eps), bias-corrected.
// Kingma and Ba 2014, algorithm 1.
template <class T>
struct AdamMoments {
  T b1, r1, b2, r2;  // decays and 1 less them
  T c1, c2;          // 1 less the decays to the power of the step
  T eps;

  // Moments start from 0 and are too small by 1 - b^t, which c1 and c2 divide away.
  template <class V>
  __attribute__((always_inline)) V direction(V g, V* s) const {
    s[0] = s[0] * b1 + g * r1;
    s[1] = s[1] * b2 + (g * g) * r2;
    return (s[0] / c1) / (sqrt(s[1] / c2) + eps);
  }
};

// Adam with weight decay in the gradient.
template <class T>
struct AdamRule {
  static constexpr int kStates = 2;  // m, v
  AdamMoments<T> moments;
  T lr, wd;

  template <class V>
  __attribute__((always_inline)) void update(V& p, V g, V* s) const {
    p = p - moments.direction(g + p * wd, s) * lr;
  }
};

// Adam with decoupled weight decay.
// The decay shrinks p by itself and never enters the moments.
template <class T>
struct AdamWRule {
  static constexpr int kStates = 2;  // m, v
  AdamMoments<T> moments;
  T lr, keep;  // keep = 1 - lr wd

  template <class V>
  __attribute__((always_inline)) void update(V& p, V g, V* s) const {
    p = p * keep - moments.direction(g, s) * lr;
  }
};

// The infinity norm in place of the second moment; lr is divided by 1 - beta1^step beforehand.
// eps is added to |g|, so that u is above 0 wherever eps is.
template <class T>
struct AdamaxRule {
  static constexpr int kStates = 2;  // m, u
  T lr, wd, b1, r1, b2, eps;

  template <class V>
  __attribute__((always_inline)) void update(V& p, V g, V* s) const {
    g = g + p * wd;
    s[0] = s[0] * b1 + g * r1;
    s[1] = max_of(s[1] * b2, abs(g) + eps);
    p = p - (s[0] / s[1]) * lr;
  }
};

// The sign of an interpolated moment.
// The step mixes m with b1 before m itself moves on with b2: two decays, one moment.
template <class T>
struct LionRule {
  static constexpr int kStates = 1;  // m
  T lr, wd, b1, r1, b2, r2;

  template <class V>
  __attribute__((always_inline)) void update(V& p, V g, V* s) const {
    const V mixed = s[0] * b1 + g * r1;
    p = p - (sign(mixed) + p * wd) * lr;
    s[0] = s[0] * b2 + g * r2;
  }
};

// Divided by the root of a running mean of squares, centred on request.
template <class T>
struct RmsPropRule {
  static constexpr int kStates = 3;  // square, mean, velocity
  T lr, alpha, rest, eps, momentum, wd;
  bool is_centered;

  template <class V>
  __attribute__((always_inline)) void update(V& p, V g, V* s) const {
    g = g + p * wd;
    s[0] = s[0] * alpha + (g * g) * rest;
    // A variance that rounding leaves below 0 gives NaN; nothing clamps it.
    V variance = s[0];
    if (is_centered) {
      s[1] = s[1] * alpha + g * rest;
      variance = s[0] - s[1] * s[1];
    }
    s[2] = s[2] * momentum + g / (sqrt(variance) + eps);
    p = p - s[2] * lr;
  }
};

// Divided by the root of the sum of squares; lr falls with the step beforehand.
// lr arrives as lr / (1 + (t - 1) lr_decay).
template <class T>
struct AdagradRule {
  static constexpr int kStates = 1;  // sum
  T lr, eps, wd;

  template <class V>
  __attribute__((always_inline)) void update(V& p, V g, V* s) const {
    g = g + p * wd;
    s[0] = s[0] + g * g;
    p = p - (g / (sqrt(s[0]) + eps)) * lr;
  }
};

// Steps scaled by the root of the running mean of past steps.
// Both means are of squares, so the ratio has the unit of a parameter per gradient. At first it is
// sqrt(eps) over the size of the gradient: early steps are short.
template <class T>
struct AdadeltaRule {
  static constexpr int kStates = 2;  // square, moved
  T lr, rho, rest, eps, wd;

  template <class V>
  __attribute__((always_inline)) void update(V& p, V g, V* s) const {
    g = g + p * wd;
    s[0] = s[0] * rho + (g * g) * rest;
    const V delta = (sqrt(s[1] + eps) / sqrt(s[0] + eps)) * g;
    s[1] = s[1] * rho + (delta * delta) * rest;
    p = p - delta * lr;
  }
};

}  // namespace quern::simd
