// Queries of a tile, quantised for products with quantised keys.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/integer_key_kernels.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "runtime/host_kv_store.h"

namespace quern::cpu {

// Owned by one thread at a time.
class IntegerQueries {
 public:
  static int64_t scratch_bytes(const HostKvStore& store);
  // `bits` is the width of the integers: 8 or 16. `scratch` is aligned to 64 bytes.
  IntegerQueries(const HostKvStore& store, const KernelTable& kernels, int bits,
                 std::byte* scratch);

  // Quantises a query of key_dim floats to row `row` of the tile.
  void load(int row, const float* x);
  // All rows, for the kernels.
  IntegerQuery query() const;

 private:
  const KernelTable& kernels_;
  int bits_;
  int64_t key_dim_;
  int64_t padded_dim_;
  int32_t* pairs_;
  float* scales_;
  int32_t* key_pairs_;  // scratch of the kernels
  float* row_;          // a query padded with zeros
  int16_t* integers_;   // its integers
  float* row_scales_;   // its scales
};

}  // namespace quern::cpu
