// The limits of this machine for one set of threads and one instruction set.
#pragma once

#include "backends/cpu/machine.h"
#include "quern/device.h"

namespace quern::cpu {

DeviceRoofs probe_machine_roofs(Machine& machine);

}  // namespace quern::cpu
