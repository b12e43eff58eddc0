// The one list of ONNX operators that have an equivalent.
// Operators that cannot be mapped are listed too, with the reason, for an error that helps.
#include <algorithm>
#include <array>

#include "formats/onnx/node_context.h"
#include "formats/onnx/onnx_importer.h"

namespace quern::onnx {
namespace {

// All tables.
std::array<std::span<const OpMapper>, 12> families() {
  return {elementwise_mappers(),  logic_mappers(),      reduction_mappers(), shape_mappers(),
          index_mappers(),        window_mappers(),     norm_mappers(),      attention_mappers(),
          quantization_mappers(), resampling_mappers(), signal_mappers(),    training_mappers()};
}

// Operators without an equivalent, by what they need.
struct Missing {
  std::string_view reason;
  std::string_view operators;  // between spaces
};
// Operators that are known to have no equivalent, and why.
constexpr std::array kMissing = {
    Missing{
        "Quern has no text tensors.",
        " LabelEncoder RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer "},
    Missing{"Quern has no sequences or optional values.",
            " OptionalGetElement OptionalHasElement SequenceInsert SequenceMap SplitToSequence "},
    Missing{"Graphs of Quern have no branches or loops.", " If Loop Scan "},
    Missing{"The shape of the result depends on values.", " NonMaxSuppression NonZero Unique "},
    Missing{"The places that are read or written depend on values in a way that no operation has.",
            " DeformConv GridSample MaxUnpool RoiAlign TensorScatter "},
    Missing{"Recurrences over a sequence are not translated yet.",
            " CausalConvWithState GRU LSTM LinearAttention RNN "},
    Missing{"ONNX does not fix the random numbers.", " Bernoulli "},
};

}  // namespace

// Ends the sentence of an error.
std::string why_without_equivalent(std::string_view op_type) {
  const std::string word = " " + std::string(op_type) + " ";
  for (const Missing& missing : kMissing) {
    if (missing.operators.find(word) != std::string_view::npos) return std::string(missing.reason);
  }
  return "The operator has no equivalent.";
}

// Null for operators that are not known.
const OpMapper* find_mapper(std::string_view domain, std::string_view op_type) {
  for (const auto family : families()) {
    const auto it = std::ranges::find_if(family, [&](const OpMapper& mapper) {
      return mapper.op_type == op_type && mapper.domain == domain;
    });
    if (it != family.end()) return &*it;
  }
  return nullptr;
}

// Sorted, for reports.
std::vector<std::string> known_operators() {
  std::vector<std::string> names;
  for (const auto family : families()) {
    for (const OpMapper& mapper : family) names.emplace_back(mapper.op_type);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace quern::onnx
