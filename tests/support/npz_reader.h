// Reads NumPy's .npy files, and .npz archives that are stored without compression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "quern/error.h"

namespace quern::test {

// One array in C order; arrays that the file holds in Fortran order are reordered by the reader.
struct NpyArray {
  std::string dtype;           // NumPy's descr: "<f4", "|u1", ...
  std::vector<int64_t> shape;  // empty for a scalar
  std::vector<std::byte> bytes;

  int64_t num_elements() const;
  // The elements as T; empty when sizeof(T) is not the element size of the dtype.
  template <class T>
  std::vector<T> as() const {
    std::vector<T> values;
    if (num_elements() * static_cast<int64_t>(sizeof(T)) != static_cast<int64_t>(bytes.size())) {
      return values;
    }
    values.resize(static_cast<size_t>(num_elements()));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

// Array names are the entry names without ".npy".
using NpzArchive = std::map<std::string, NpyArray>;

// Errors: kNotFound, kDataLoss (truncated or damaged), kUnimplemented (compressed entry).
Result<NpzArchive> read_npz(const std::string& path);
Result<NpyArray> read_npy(const std::string& path);
Result<NpyArray> parse_npy(std::span<const std::byte> file);
Result<NpzArchive> parse_npz(std::span<const std::byte> file);

}  // namespace quern::test
