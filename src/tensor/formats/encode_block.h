// One encoder from its two halves: a fit of scales and integers, and the byte layout.
#pragma once

#include "tensor/formats/block_fit.h"

namespace quern {

// kFit chooses scales and integers for kSize bounded values; kPack writes them as bytes. Blocks
// that are not finite skip the fit.
template <int kSize, void (*kFit)(const float*, DecodedBlock&),
          void (*kPack)(const DecodedBlock&, std::byte*)>
void encode_block(const float* x, std::byte* block) {
  float bounded[kSize];
  DecodedBlock decoded;
  if (copy_bounded(x, kSize, bounded)) {
    kFit(bounded, decoded);
  } else {
    fill_not_finite(decoded);
  }
  kPack(decoded, block);
}

}  // namespace quern
