// Decodes what SIGILL points at. Encodings: Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 2, "VEX Prefix" and VPDPBUSD, VPDPWSSD; frames of signals: volume 1, "XSAVE".
#include "backends/cpu/kernels/avx_vnni_emulator.h"

#include <ucontext.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "hw/cpu_features.h"

namespace quern::cpu::test {
namespace {

constexpr uint8_t kBytes = 0x50;  // vpdpbusd
constexpr uint8_t kWords = 0x52;  // vpdpwssd

// Where the standard form of an XSAVE area has what the kernel puts into a signal's frame.
constexpr size_t kLowHalves = 160;  // of ymm0 .. ymm15, 16 bytes each
constexpr size_t kStateBits = 512;  // which parts are there; bits 1 and 2: low and high halves
constexpr size_t kHighHalves = 576;

using Vector = std::array<uint8_t, 32>;

// One instruction: registers by number, the last operand a register or bytes in memory.
struct Instruction {
  uint8_t opcode = 0;
  int target = 0;
  int first = 0;
  int second = 0;
  const uint8_t* memory = nullptr;
  int64_t length = 0;
};

// Order of the registers in an encoding.
constexpr int kRegisters[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};

template <class T>
T read(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

// The address of a memory operand, whose ModRM byte is at `p`; moves p behind it.
const uint8_t* find_memory(const gregset_t& registers, const uint8_t*& p, bool extends_index,
                           bool extends_base) {
  const uint8_t modrm = *p++;
  const int mode = modrm >> 6;
  int base = (modrm & 7) + (extends_base ? 8 : 0);
  int64_t address = 0;
  bool has_base = true;
  if ((modrm & 7) == 4) {  // a SIB byte: base + index * scale
    const uint8_t sib = *p++;
    base = (sib & 7) + (extends_base ? 8 : 0);
    const int index = ((sib >> 3) & 7) + (extends_index ? 8 : 0);
    if (index != 4) address += registers[kRegisters[index]] << (sib >> 6);
    has_base = mode != 0 || (sib & 7) != 5;
  } else if (mode == 0 && (modrm & 7) == 5) {  // relative to the next instruction
    const auto offset = read<int32_t>(p);
    p += 4;
    return p + offset;
  }
  if (has_base) address += registers[kRegisters[base]];
  if (mode == 1) {
    address += read<int8_t>(p);
    p += 1;
  } else if (mode == 2 || !has_base) {
    address += read<int32_t>(p);
    p += 4;
  }
  return reinterpret_cast<const uint8_t*>(address);
}

// Nothing where it is another instruction.
std::optional<Instruction> decode(const gregset_t& registers) {
  const auto* begin = reinterpret_cast<const uint8_t*>(registers[REG_RIP]);
  // C4, ~R ~X ~B and map 0F38, W0 ~vvvv L1 and prefix 66
  if (begin[0] != 0xC4 || (begin[1] & 0x1F) != 2 || (begin[2] & 0x87) != 5) return std::nullopt;
  Instruction made;
  made.opcode = begin[3];
  if (made.opcode != kBytes && made.opcode != kWords) return std::nullopt;
  const bool extends_target = (begin[1] & 0x80) == 0, extends_index = (begin[1] & 0x40) == 0,
             extends_base = (begin[1] & 0x20) == 0;
  const uint8_t* p = begin + 4;
  made.target = ((*p >> 3) & 7) + (extends_target ? 8 : 0);
  made.first = (~begin[2] >> 3) & 15;
  if (*p >= 0xC0) {
    made.second = (*p++ & 7) + (extends_base ? 8 : 0);
  } else {
    made.memory = find_memory(registers, p, extends_index, extends_base);
  }
  made.length = p - begin;
  return made;
}

// The vector registers of the frame.
class Registers {
 public:
  explicit Registers(void* area) : area_(static_cast<uint8_t*>(area)) {
    auto state = read<uint64_t>(area_ + kStateBits);
    // A part that is not there is all zero.
    if ((state & 2) == 0) std::memset(area_ + kLowHalves, 0, 256);
    if ((state & 4) == 0) std::memset(area_ + kHighHalves, 0, 256);
    state |= 6;
    std::memcpy(area_ + kStateBits, &state, sizeof(state));
  }
  Vector get(int index) const {
    Vector value;
    std::memcpy(value.data(), area_ + kLowHalves + 16 * index, 16);
    std::memcpy(value.data() + 16, area_ + kHighHalves + 16 * index, 16);
    return value;
  }
  void set(int index, const Vector& value) {
    std::memcpy(area_ + kLowHalves + 16 * index, value.data(), 16);
    std::memcpy(area_ + kHighHalves + 16 * index, value.data() + 16, 16);
  }

 private:
  uint8_t* area_;
};

// Lanes of 32 bits wrap, as the instructions do.
uint32_t dot(uint8_t opcode, const uint8_t* a, const uint8_t* b) {
  uint32_t sum = 0;
  if (opcode == kBytes) {
    for (int i = 0; i < 4; ++i) {
      sum += static_cast<uint32_t>(int32_t{a[i]} * static_cast<int8_t>(b[i]));
    }
  } else {
    for (int i = 0; i < 4; i += 2) {
      sum += static_cast<uint32_t>(int32_t{read<int16_t>(a + i)} * read<int16_t>(b + i));
    }
  }
  return sum;
}

void carry_out(int signal, siginfo_t* /*info*/, void* context) {
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  const auto instruction = decode(machine.gregs);
  if (!instruction) {  // returns to it, which then ends the program
    std::signal(signal, SIG_DFL);
    return;
  }
  Registers registers(machine.fpregs);
  const Vector a = registers.get(instruction->first);
  Vector b;
  if (instruction->memory != nullptr) {
    std::memcpy(b.data(), instruction->memory, b.size());
  } else {
    b = registers.get(instruction->second);
  }
  Vector sums = registers.get(instruction->target);
  for (size_t i = 0; i < sums.size(); i += 4) {
    const uint32_t sum =
        read<uint32_t>(&sums[i]) + dot(instruction->opcode, a.data() + i, b.data() + i);
    std::memcpy(&sums[i], &sum, sizeof(sum));
  }
  registers.set(instruction->target, sums);
  machine.gregs[REG_RIP] += instruction->length;
}

}  // namespace

AvxVnniEmulator::AvxVnniEmulator() {
  struct sigaction action = {};
  action.sa_sigaction = carry_out;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGILL, &action, &before_);
}

AvxVnniEmulator::~AvxVnniEmulator() {
  ::sigaction(SIGILL, &before_, nullptr);
}

bool AvxVnniEmulator::is_supported() {
  return detect_cpu_features().avx2;
}

}  // namespace quern::cpu::test
