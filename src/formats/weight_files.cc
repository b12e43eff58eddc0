// One look-up over several files.
// A name in two files is an error: nothing says which one is meant.
#include "formats/weight_files.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "formats/gguf_reader.h"
#include "formats/safetensors.h"

namespace quern {
namespace {

// By the first bytes: the name's ending is up to whoever saved the file.
Result<std::shared_ptr<const WeightSource>> open_file(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(path));
  const auto bytes = mapped->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // "FUGG" is "GGUF" with its bytes swapped: GgufFile refuses it, with a message about GGUF and not
  // about safetensors.
  if (text.starts_with("GGUF") || text.starts_with("FUGG")) {
    QUERN_ASSIGN_OR_RETURN(auto file, GgufFile::open(path));
    return std::shared_ptr<const WeightSource>(std::move(file));
  }
  QUERN_ASSIGN_OR_RETURN(auto file, SafetensorsFile::open(path));
  return std::shared_ptr<const WeightSource>(std::move(file));
}

// Several files as one source. Thread-safe as they are.
class WeightFiles final : public WeightSource {
 public:
  // Errors: a weight that an earlier file has.
  Result<void> add(const std::string& path) {
    QUERN_ASSIGN_OR_RETURN(auto file, open_file(path));
    for (const WeightInfo& info : file->list()) {
      const auto [it, is_new] = files_by_name_.emplace(info.name, files_.size());
      if (is_new) continue;
      return fail::invalid("The weight '{}' is in two files, '{}' and '{}'.", info.name,
                           paths_[it->second], path);
    }
    files_.push_back(std::move(file));
    paths_.push_back(path);
    return {};
  }

  std::vector<WeightInfo> list() const override {
    std::vector<WeightInfo> all;
    for (const auto& file : files_) {
      for (WeightInfo& info : file->list()) all.push_back(std::move(info));
    }
    return all;
  }
  Result<WeightInfo> info(std::string_view name) const override {
    QUERN_ASSIGN_OR_RETURN(const WeightSource* file, find(name));
    return file->info(name);
  }
  Result<Tensor> weight(std::string_view name) const override {
    QUERN_ASSIGN_OR_RETURN(const WeightSource* file, find(name));
    return file->weight(name);
  }

 private:
  // Errors: kNotFound with the name.
  Result<const WeightSource*> find(std::string_view name) const {
    const auto it = files_by_name_.find(name);
    if (it != files_by_name_.end()) return files_[it->second].get();
    if (files_.empty()) return fail::not_found("There is no weight '{}': no file was given.", name);
    return fail::not_found("There is no weight '{}' in {}.", name, fmt::join(paths_, ", "));
  }

  std::vector<std::shared_ptr<const WeightSource>> files_;
  std::vector<std::string> paths_;
  std::map<std::string, size_t, std::less<>> files_by_name_;
};

}  // namespace

// No files give a source without weights.
Result<std::unique_ptr<WeightSource>> open_weight_files(std::span<const std::string> paths) {
  auto files = std::make_unique<WeightFiles>();
  for (const std::string& path : paths) QUERN_TRY(files->add(path));
  return std::unique_ptr<WeightSource>(std::move(files));
}

}  // namespace quern
