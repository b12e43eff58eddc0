// One small file for each pass.
#include "generate/parity_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/mapped_file.h"

namespace quern {
namespace {

// A short name for the library's.
namespace fs = std::filesystem;

// What a file of a pass holds; a file cut short is none.
constexpr std::string_view kPassed = "passed the parity gate\n";

void hash_texts(const std::vector<std::string>& texts, Hasher& hasher) {
  hasher.number(texts.size());
  for (const std::string& text : texts) hasher.text(text);
}

// Packed weights may come from these files, and damage in them changes answers: any change asks for
// a new proof. A folder that cannot be read has no files.
void hash_packed_files(const std::string& folder, Hasher& hasher) {
  if (folder.empty()) return;
  std::vector<std::string> stamps;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with("packed-")) continue;
    const auto mapped = MappedFile::open(at->path().string());
    stamps.push_back(at->path().string() + (mapped ? (*mapped)->stamp() : std::string()));
  }
  std::ranges::sort(stamps);
  hash_texts(stamps, hasher);
}

}  // namespace

std::string passed_path(const GateSubject& subject) {
  const std::string model_stamp = subject.weights->stamp();
  if (subject.cache_folder.empty() || subject.program_stamp.empty() || model_stamp.empty()) {
    return "";
  }
  const Capabilities& device = subject.device->capabilities();
  Hasher hasher;
  hasher.text(QUERN_VERSION).text(subject.program_stamp).text(model_stamp);
  hasher.number(semantic_hash(subject.model->graph));
  hasher.number(static_cast<uint64_t>(subject.first_token));
  hasher.text(subject.device_name).text(device.arch);
  hasher.number(static_cast<uint64_t>(device.num_threads));
  hasher.number(static_cast<uint64_t>(device.correctness));
  hasher.number(static_cast<uint64_t>(subject.numerics));
  hash_texts(subject.passes.only, hasher);
  hash_texts(subject.passes.off, hasher);
  hash_packed_files(subject.pack_cache, hasher);
  const std::string name = fmt::format("parity-{:016x}.passed", hasher.digest());
  return (fs::path(subject.cache_folder) / name).string();
}

bool has_passed(const std::string& path) {
  if (path.empty()) return false;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return text == kPassed;
}

void remember_pass(const std::string& path) {
  if (path.empty()) return;
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  auto file = AtomicFile::create(path);
  if (file && file->write(kPassed)) {
    static_cast<void>(file->commit(Durability::kProcess).has_value());
  }
}

}  // namespace quern
