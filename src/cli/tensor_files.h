// Tensors named on the command line: NAME=FILE.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/device.h"

namespace quern::cli {

// "x=dir/x.npy" to its parts; `option` is for the error.
Result<std::pair<std::string, std::string>> split_assignment(std::string_view text,
                                                             std::string_view option);

// Before any work: results go to .npy files and, unless `only_npy`, to .safetensors files; any
// other ending would get bytes that its name does not tell. `option` is for the error.
Result<void> check_tensor_path(std::string_view path, std::string_view option,
                               bool only_npy = false);

// Reads `path`: an .npy file, or the tensor `name` of a .safetensors file.
Result<Tensor> read_tensor_file(const std::string& path, const std::string& name);

// One of the results, written as an .npy or a .safetensors file by the path's ending.
Result<void> write_tensor_file(const std::string& path, const std::string& name,
                               const Tensor& tensor);

// Numbers that the elements hold: one each, two of complex ones.
int64_t num_numbers(const Tensor& tensor);

// The first of these numbers (at most `most`) as text: integers with all their digits, floats as
// short as their value allows in f64. Errors: a dtype that is no plain number.
Result<std::vector<std::string>> element_texts(const Tensor& tensor, size_t most);

// "f64[2, 3] from -0.5 to 7.25: 1 2 3 ..."
Result<std::string> describe_tensor(const Tensor& tensor);

}  // namespace quern::cli
