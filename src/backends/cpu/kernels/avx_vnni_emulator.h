// Runs AVX-VNNI instructions on processors that have AVX2 only, for tests of kernels that no
// machine at hand can run. Slow: a microsecond or two for each instruction.
#pragma once

#include <csignal>

namespace quern::cpu::test {

// While it lives, a VEX-encoded vpdpbusd or vpdpwssd that the processor refuses is carried out in
// the handler of SIGILL; anything else that it refuses ends the program as before. One at a time.
class AvxVnniEmulator {
 public:
  AvxVnniEmulator();
  ~AvxVnniEmulator();
  AvxVnniEmulator(const AvxVnniEmulator&) = delete;
  AvxVnniEmulator& operator=(const AvxVnniEmulator&) = delete;

  // Whether the processor has AVX2: the rest of the kernels runs as it is.
  static bool is_supported();

 private:
  struct sigaction before_ = {};
};

}  // namespace quern::cpu::test
