// Umbrella of strict math: every function as a template over a lane type, quern::simd::strict_x(V).
// README.md lists methods and measured errors; strict_math.h holds the version number.
#pragma once

#include "ops/math/cbrt-inl.h"
#include "ops/math/erf-inl.h"
#include "ops/math/exp-inl.h"
#include "ops/math/hyperbolic-inl.h"
#include "ops/math/inverse_trig-inl.h"
#include "ops/math/log-inl.h"
#include "ops/math/log_word-inl.h"
#include "ops/math/pow-inl.h"
#include "ops/math/strict_math.h"
#include "ops/math/tanh-inl.h"
#include "ops/math/trig-inl.h"
