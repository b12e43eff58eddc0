// Low-rank adapters (LoRA, arXiv:2106.09685) beside a model's weights.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata.h"
#include "quern/weight_source.h"

namespace quern {

// Immutable once made and shared by the models that use it; thread-safe.
// y = W x becomes y = W x + factor * B (A x), with A = "<weight>.lora_a" [rank, in] and
// B = "<weight>.lora_b" [out, rank].
// The constructor of AdaptedWeights and ModelBuilder take it by shared pointer; whoever drops the
// last one frees the adapter's file.
struct Adapter {
  std::string prefix;  // of the adapter's weights in the model's graph: "lora.0/"
  // Of the file.
  std::shared_ptr<const WeightSource> weights;
  double alpha = 0;  // factor = scale * alpha / rank; alpha 0: factor = scale
  // As given on the command line.
  double scale = 1;

  // What B (A x) is multiplied by.
  double factor(int64_t rank) const {
    return alpha == 0 ? scale : scale * alpha / static_cast<double>(rank);
  }
};

// An adapter file's metadata and weights as an adapter of a model of `architecture`. `prefix` must
// differ between the adapters of one model.
// Errors: kInvalidArgument where the file is no LoRA adapter, or one for another architecture;
// kNotFound where it does not say what it is.
Result<std::shared_ptr<const Adapter>> make_adapter(const Metadata& metadata,
                                                    std::shared_ptr<const WeightSource> weights,
                                                    std::string_view architecture, double scale,
                                                    std::string prefix);

// The model's weights and, under their prefixes, those of its adapters. Borrows `base`, which must
// outlive it. Thread-safe as its sources are.
// Every name that no adapter's prefix begins is the base's, so that the base needs no prefix.
class AdaptedWeights final : public WeightSource {
 public:
  // Prefixes must differ.
  AdaptedWeights(const WeightSource& base, std::vector<std::shared_ptr<const Adapter>> adapters)
      : base_(base), adapters_(std::move(adapters)) {}
  std::vector<WeightInfo> list() const override;
  Result<WeightInfo> info(std::string_view name) const override;
  Result<Tensor> weight(std::string_view name) const override;
  // Empty where one of the sources cannot tell.
  std::string stamp() const override;

 private:
  // The adapter whose prefix the name has.
  const Adapter* owner(std::string_view name) const;  // null: the base
  const WeightSource& base_;
  std::vector<std::shared_ptr<const Adapter>> adapters_;
};

}  // namespace quern
