// A folder for one test, empty at the start and removed at the end.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace quern::test {

// Unique per process and name, so that tests may run beside each other. One thread only.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string_view name)
      : path_(std::filesystem::temp_directory_path() /
              ("quern_" + std::string(name) + "_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace quern::test
