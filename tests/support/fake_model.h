// Models of every family in the smallest sizes, as metadata and a list of weights without bytes:
// enough to build a graph. Link quern_models beside quern_test_support.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata.h"
#include "quern/weight_source.h"

namespace quern::test {

// 2 layers, hidden 8, 4 heads of 2, 2 key-value heads, feed-forward 16, vocabulary 12, context 32;
// mixtures have 4 experts of width 6, of which 2 are used.
class FakeModel final : public WeightSource {
 public:
  explicit FakeModel(std::string architecture);

  // A key under "<architecture>.", added or replaced.
  void set(std::string_view key, MetadataValue value) {
    metadata.set(architecture + "." + std::string(key), std::move(value));
  }
  template <class T>
  void set_number(std::string_view key, T value) {
    set(key, MetadataValue::number(value));
  }
  void add(const std::string& name, const Shape& shape, DType dtype = DType::kF32) {
    weights[name] = {name, dtype, shape};
  }

  std::vector<WeightInfo> list() const override;
  Result<WeightInfo> info(std::string_view name) const override;
  // Zeros.
  Result<Tensor> weight(std::string_view name) const override;

  std::string architecture;
  Metadata metadata;
  std::map<std::string, WeightInfo, std::less<>> weights;

 private:
  void add_config();
  void add_layer(const std::string& blk);
  bool is(std::string_view name) const { return architecture == name; }
};

// Every architecture of this build, with "mixtral": a llama with experts.
std::vector<std::string> fake_architectures();

}  // namespace quern::test
