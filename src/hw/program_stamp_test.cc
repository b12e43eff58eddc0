// The stamp stays while the program stays, and is another one's for another program.
#include "hw/program_stamp.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <string>

namespace quern {
namespace {

TEST(ProgramStamp, IsTheSameAtEachCall) {
  EXPECT_NE(program_stamp(), "");
  EXPECT_EQ(program_stamp(), program_stamp());
}

// What would have to change for the stamp to be another.
TEST(ProgramStamp, HoldsMachineAndFile) {
  struct utsname machine {};
  struct stat program {};
  ASSERT_EQ(::uname(&machine), 0);
  ASSERT_EQ(::stat("/proc/self/exe", &program), 0);
  const std::string stamp = program_stamp();
  EXPECT_EQ(stamp.find(machine.nodename), 0U) << stamp;
  for (const auto part :
       {static_cast<uint64_t>(program.st_ino), static_cast<uint64_t>(program.st_size),
        static_cast<uint64_t>(program.st_mtim.tv_sec)}) {
    EXPECT_NE(stamp.find(":" + std::to_string(part)), std::string::npos) << stamp;
  }
}

}  // namespace
}  // namespace quern
