// Reading, writing and describing tensors for commands.
// The format follows from the ending of the name.
#include "cli/tensor_files.h"

#include <algorithm>
#include <optional>

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

// As text, with all digits of T.
template <class T>
Result<std::vector<std::string>> integer_texts(const Tensor& tensor, size_t most) {
  QUERN_ASSIGN_OR_RETURN(const std::vector<T> values, tensor.read_as<T>());
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(most, values.size()); ++i) {
    texts.push_back(fmt::format("{}", values[i]));
  }
  return texts;
}

// "-2 to 7"; nothing without a number.
template <class T>
std::optional<std::string> range_text(const std::vector<T>& values) {
  T low{}, high{};
  bool has_number = false;
  for (const T value : values) {
    if (value != value) continue;
    low = has_number ? std::min(low, value) : value;
    high = has_number ? std::max(high, value) : value;
    has_number = true;
  }
  if (!has_number) return std::nullopt;
  return fmt::format("{} to {}", low, high);
}

// Integers of 64 bits keep their digits; all other numbers are exact in f64.
Result<std::optional<std::string>> range_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::kI64) {
    QUERN_ASSIGN_OR_RETURN(const auto values, tensor.read_as<int64_t>());
    return range_text(values);
  }
  if (tensor.dtype() == DType::kU64) {
    QUERN_ASSIGN_OR_RETURN(const auto values, tensor.read_as<uint64_t>());
    return range_text(values);
  }
  QUERN_ASSIGN_OR_RETURN(const auto values, numbers_of(tensor));
  return range_text(values);
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

// The ending decides the format, so it must be one.
Result<void> check_tensor_path(std::string_view path, std::string_view option, bool only_npy) {
  if (path.ends_with(".npy") || (!only_npy && path.ends_with(".safetensors"))) return {};
  return fail::invalid("{}: '{}' does not end in {}, which is what results are written as.", option,
                       path, only_npy ? ".npy" : ".npy or .safetensors");
}

// The file holds one tensor.
Result<void> write_tensor_file(const std::string& path, const std::string& name,
                               const Tensor& tensor) {
  if (!is_safetensors(path)) return write_npy(path, tensor);
  const NamedTensor named{name, tensor, false};
  return write_safetensors(path, {&named, 1});
}

// Complex numbers are two numbers each.
int64_t num_numbers(const Tensor& tensor) {
  return tensor.shape().num_elements() * (is_complex(tensor.dtype()) ? 2 : 1);
}

// 64-bit integers would lose digits past 2^53 on the way through f64.
Result<std::vector<std::string>> element_texts(const Tensor& tensor, size_t most) {
  if (tensor.dtype() == DType::kI64) return integer_texts<int64_t>(tensor, most);
  if (tensor.dtype() == DType::kU64) return integer_texts<uint64_t>(tensor, most);
  QUERN_ASSIGN_OR_RETURN(const std::vector<double> numbers, numbers_of(tensor));
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(most, numbers.size()); ++i) {
    texts.push_back(fmt::format("{}", numbers[i]));
  }
  return texts;
}

// Range and the first elements; NaN is left out of the range.
Result<std::string> describe_tensor(const Tensor& tensor) {
  std::string text = fmt::format("{}{}", dtype_name(tensor.dtype()), tensor.shape().to_string());
  // Block formats have no elements to show.
  constexpr size_t kShown = 8;
  const auto shown = element_texts(tensor, kShown).value_or(std::vector<std::string>());
  if (shown.empty()) return text;
  QUERN_ASSIGN_OR_RETURN(const auto range, range_of(tensor));
  text += range ? fmt::format(" from {}:", *range) : " all NaN:";
  for (const std::string& element : shown) text += " " + element;
  return text + (num_numbers(tensor) > static_cast<int64_t>(kShown) ? " ..." : "");
}

}  // namespace quern::cli
