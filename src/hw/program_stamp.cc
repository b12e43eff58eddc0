// uname and /proc/self/exe.
#include "hw/program_stamp.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>

namespace quern {

std::string program_stamp() {
  struct utsname machine {};
  struct stat program {};
  if (::uname(&machine) != 0 || ::stat("/proc/self/exe", &program) != 0) return {};
  return fmt::format("{}:{}:{}:{}:{}:{}:{}.{}:{}.{}", machine.nodename, machine.release,
                     machine.machine, program.st_dev, program.st_ino, program.st_size,
                     program.st_mtim.tv_sec, program.st_mtim.tv_nsec, program.st_ctim.tv_sec,
                     program.st_ctim.tv_nsec);
}

}  // namespace quern
