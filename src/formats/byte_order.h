// Reverses the byte order of the multi-byte fields inside tensor data and packed metadata.
#pragma once

#include <cstddef>
#include <span>

#include "quern/dtype.h"
#include "quern/error.h"

namespace quern {

// Reverses each group of `width` bytes; the size is a multiple of it. Width 1 does nothing.
void reverse_byte_groups(std::span<std::byte> bytes, size_t width);

// Turns whole blocks of a dtype from big-endian to little-endian or back.
// Errors: kUnimplemented for formats whose fields are read both as bytes and as wider integers,
// so that no byte order is defined for them (iq2_xxs, iq3_xxs, iq1_m).
Result<void> swap_byte_order(DType dtype, std::span<std::byte> blocks);

}  // namespace quern
