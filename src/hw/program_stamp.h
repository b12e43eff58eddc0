// Names the program that runs and the machine it runs on, for what is true of these alone.
#pragma once

#include <string>

namespace quern {

// The machine's name and kernel, and device, inode, size and times of the running program's file: a
// program that was built or installed anew has another stamp, as has the same one elsewhere. Shared
// libraries are not part of it. Empty where the system does not tell. Thread-safe.
std::string program_stamp();

}  // namespace quern
