// Quantised keys of a page and quantised queries of a tile, unpacked for the integer kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/integer_key_kernels.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "runtime/host_kv_store.h"
#include "tensor/block_format.h"

namespace quern::cpu {

// Kernels that read blocks of a cache of this type, or null.
const CachedBlockReaders* find_readers(const KernelTable& kernels, DType dtype);

// Owned by one thread at a time. Serves formats of 32-element blocks with one scale.
class IntegerKeys {
 public:
  // Whether the keys of the store are quantised so that this class serves them.
  static bool serves(DType key_type);
  static int64_t scratch_bytes(const HostKvStore& store);
  // `bits` is the width of quantised queries: 8 or 16.
  IntegerKeys(const HostKvStore& store, const KernelTable& kernels, int bits, std::byte* scratch);

  // Quantises a query of key_dim floats to row `row` of the tile.
  void load_query(int row, const float* x);
  // Unpacks the first `rows` keys of a page, stored by row; reads those of `next` ahead.
  void load_page(const std::byte* keys, const std::byte* next, int64_t rows);
  // Dots of the rows with the 64 keys of the page.
  void dot(int num_rows, float* scores);

 private:
  const KernelTable& kernels_;
  const BlockFormat& format_;
  int bits_;
  int64_t key_dim_;
  int64_t key_row_bytes_;
  IntegerKeyPage page_;
  int32_t* query_pairs_;
  float* query_scales_;
  int32_t* key_pairs_;
  float* key_scales_;
  float* row_;         // a query padded with zeros
  int16_t* integers_;  // its integers
  float* row_scales_;  // its scales
};

}  // namespace quern::cpu
