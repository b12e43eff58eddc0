// The help text of --isa, the same in every command that has it.
#pragma once

namespace quern::cli {

// Every level of every architecture, lowest first; DeviceOptions::isa takes the names and a device
// refuses those that it does not have.
inline constexpr const char* kIsaHelp =
    "Cap on the instruction set: scalar; sse2, avx2, avx-vnni, avx512, avx512-vnni, avx512-bf16; "
    "neon, "
    "neon-dotprod, neon-i8mm";

}  // namespace quern::cli
