// CPU features of 64-bit Arm, as Linux reports them.
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "hw/cpu_features.h"

namespace quern {

CpuFeatures detect_cpu_features() {
  const unsigned long first = ::getauxval(AT_HWCAP);
  const unsigned long second = ::getauxval(AT_HWCAP2);
  CpuFeatures features;
  // Linux lists what both processor and kernel support, so that no register state has to be
  // checked.
  features.neon = (first & HWCAP_ASIMD) != 0;
  features.dotprod = (first & HWCAP_ASIMDDP) != 0;
  features.i8mm = (second & HWCAP2_I8MM) != 0;
  return features;
}

}  // namespace quern
