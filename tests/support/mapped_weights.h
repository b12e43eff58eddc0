// Weights of another source, written to a file and mapped: what a model's file gives.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "quern/weight_source.h"

namespace quern::test {

// Owns the mapping; the file may be deleted after it is made.
class MappedWeights final : public WeightSource {
 public:
  // Writes all weights of `source`, which is borrowed, one after another to `path`.
  // Errors: those of the source and of mapping the file.
  static Result<std::unique_ptr<MappedWeights>> make(const WeightSource& source,
                                                     const std::string& path) {
    std::unique_ptr<MappedWeights> made(new MappedWeights(source));
    std::ofstream file(path, std::ios::binary);
    for (const WeightInfo& info : source.list()) {
      QUERN_ASSIGN_OR_RETURN(const Tensor tensor, source.weight(info.name));
      QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.host_view());
      made->places_[info.name] = {static_cast<size_t>(file.tellp()), bytes.size()};
      file.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    }
    file.close();
    QUERN_ASSIGN_OR_RETURN(made->file_, MappedFile::open(path));
    return made;
  }

  const MappedFile& file() const { return *file_; }
  std::vector<WeightInfo> list() const override { return source_.list(); }
  Result<WeightInfo> info(std::string_view name) const override { return source_.info(name); }
  Result<Tensor> weight(std::string_view name) const override {
    QUERN_ASSIGN_OR_RETURN(const WeightInfo known, info(name));
    const Place& place = places_.find(name)->second;
    const auto bytes = file_->bytes().subspan(place.offset, place.size);
    return Tensor::make(known.dtype, known.shape, Buffer::wrap_host(bytes, file_));
  }

 private:
  struct Place {
    size_t offset = 0;
    size_t size = 0;
  };
  explicit MappedWeights(const WeightSource& source) : source_(source) {}

  const WeightSource& source_;
  std::map<std::string, Place, std::less<>> places_;
  std::shared_ptr<const MappedFile> file_;
};

}  // namespace quern::test
