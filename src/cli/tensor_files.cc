// Reading, writing and describing tensors for commands.
// The format follows from the ending of the name.
#include "cli/tensor_files.h"

#include <algorithm>
#include <limits>

#include "base/fail.h"
#include "conformance/host_values.h"
#include "formats/npy.h"
#include "formats/safetensors.h"

namespace quern::cli {
namespace {

// All other names are .npy.
bool is_safetensors(const std::string& path) {
  return path.ends_with(".safetensors");
}

}  // namespace

// At the first '='.
Result<std::pair<std::string, std::string>> split_assignment(std::string_view text,
                                                             std::string_view option) {
  const size_t equals = text.find('=');
  // Neither part may be empty; the value may hold more '='.
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return fail::invalid("{} {} does not have the form NAME=VALUE.", option, text);
  }
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

// Errors: those of the format, with the path.
Result<Tensor> read_tensor_file(const std::string& path, const std::string& name) {
  if (is_safetensors(path)) {
    QUERN_ASSIGN_OR_RETURN(const auto file, SafetensorsFile::open(path));
    return file->weight(name);
  }
  QUERN_ASSIGN_OR_RETURN(NpyArray array, read_npy(path));
  return std::move(array.tensor);
}

// The file holds one tensor.
Result<void> write_tensor_file(const std::string& path, const std::string& name,
                               const Tensor& tensor) {
  if (!is_safetensors(path)) return write_npy(path, tensor);
  const NamedTensor named{name, tensor, false};
  return write_safetensors(path, {&named, 1});
}

// Range and the first elements; NaN is left out of the range.
Result<std::string> describe_tensor(const Tensor& tensor) {
  std::string text = fmt::format("{}{}", dtype_name(tensor.dtype()), tensor.shape().to_string());
  // Block formats have no elements to show.
  const auto numbers = numbers_of(tensor).value_or(std::vector<double>());
  if (numbers.empty()) return text;
  constexpr size_t kShown = 8;
  // Any number is below +infinity and above -infinity: only NaN leaves low over high.
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double number : numbers) {
    if (number < low) low = number;
    if (number > high) high = number;
  }
  const size_t shown = std::min(kShown, numbers.size());
  text += low > high ? " all NaN:" : fmt::format(" from {} to {}:", low, high);
  for (size_t i = 0; i < shown; ++i) text += fmt::format(" {}", numbers[i]);
  return text + (shown < numbers.size() ? " ..." : "");
}

}  // namespace quern::cli
