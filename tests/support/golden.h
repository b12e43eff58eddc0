// Arrays of an .npz file as tensors.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/tensor.h"
#include "support/npz_reader.h"

namespace quern::test {

// A missing array or a wrong element type is a failed expectation and an empty result.
class Golden {
 public:
  // Errors: those of read_npz; kNotFound where the suite is not on this machine.
  static Result<Golden> open(const std::string& path);

  bool has(std::string_view name) const { return archive_.contains(std::string(name)); }
  const NpzArchive& arrays() const { return archive_; }
  // With the dtype of the file: f64, f32, f16 and integers.
  Tensor tensor(std::string_view name) const;
  // The bytes of the array under another dtype and shape.
  Tensor tensor(std::string_view name, DType dtype, const Shape& shape) const;
  template <class T>
  std::vector<T> values(std::string_view name) const {
    const NpyArray* array = find(name);
    return array == nullptr ? std::vector<T>() : array->as<T>();
  }

 private:
  const NpyArray* find(std::string_view name) const;

  NpzArchive archive_;
  std::string path_;
};

}  // namespace quern::test

// `const Golden golden = ...;` from a file, or skips the test with the reason.
#define QUERN_OPEN_GOLDEN(name, path)                                \
  auto name##_result = ::quern::test::Golden::open(path);            \
  if (!name##_result) GTEST_SKIP() << name##_result.error().message; \
  const ::quern::test::Golden& name = *name##_result
