// uname and the file behind /proc/self/exe.
#include "hw/program_stamp.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include "base/mapped_file.h"

namespace quern {

std::string program_stamp() {
  struct utsname machine {};
  const auto program = MappedFile::open("/proc/self/exe");
  if (::uname(&machine) != 0 || !program) return {};
  return fmt::format("{}:{}:{}:{}", machine.nodename, machine.release, machine.machine,
                     (*program)->stamp());
}

}  // namespace quern
