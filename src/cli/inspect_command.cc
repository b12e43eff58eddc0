// quern inspect: metadata and tensors of a model file.
// Only the header is read, whatever the size of the file.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/metadata_json.h"
#include "formats/gguf_reader.h"

namespace quern::cli {
namespace {

// The options of the command.
struct InspectFlags {
  std::string file;
  bool is_json = false;
};

// Long texts and arrays are cut for people; JSON has all of them.
std::string shortened(std::string text) {
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, "\\n");
  }
  // The key and a value of 80 bytes fit a wide terminal's line.
  constexpr size_t kLimit = 80;
  if (text.size() <= kLimit) return text;
  size_t cut = kLimit;
  // Not inside a character of several bytes.
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return text.substr(0, cut) + "...";
}

// For people: counts, then a line for each key and each tensor.
void print_text(const GgufFile& file) {
  int64_t parameters = 0;
  int64_t bytes = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    parameters += tensor.shape.num_elements();
    bytes += tensor.size_bytes;
  }
  fmt::print("GGUF version {}, {} keys, {} tensors, {} parameters, {} bytes of weights\n\n",
             file.version(), file.metadata().size(), file.tensors().size(), parameters, bytes);
  for (int64_t i = 0; i < file.metadata().size(); ++i) {
    fmt::print("{:<44} {}\n", file.metadata().key(i),
               // Eight elements show what an array is; vocabularies have a hundred thousand.
               shortened(metadata_to_json(file.metadata().value(i), 8)
                             // Texts in files need not be UTF-8; dump() would throw.
                             .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  }
  fmt::print("\n");
  for (const GgufTensor& tensor : file.tensors()) {
    fmt::print("{:<44} {:<8} {:<18} {:>12} bytes at {}\n", tensor.name, dtype_name(tensor.dtype),
               tensor.shape.to_string(), tensor.size_bytes, tensor.offset);
  }
}

// For programs: everything, arrays in full.
void print_json(const GgufFile& file) {
  nlohmann::ordered_json json;
  json["version"] = file.version();
  json["alignment"] = file.alignment();
  auto& metadata = json["metadata"] = nlohmann::ordered_json::object();
  for (int64_t i = 0; i < file.metadata().size(); ++i) {
    metadata[file.metadata().key(i)] = metadata_to_json(file.metadata().value(i), INT64_MAX);
  }
  auto& tensors = json["tensors"] = nlohmann::ordered_json::array();
  for (const GgufTensor& tensor : file.tensors()) {
    tensors.push_back({{"name", tensor.name},
                       {"dtype", dtype_name(tensor.dtype)},
                       {"shape", tensor.shape.dims()},
                       {"offset", tensor.offset},
                       {"bytes", tensor.size_bytes}});
  }
  fmt::print("{}\n", json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

// Weights are not read: the size of the model does not matter.
void set_up_inspect(OptionSet& command, Action& action) {
  auto flags = std::make_shared<InspectFlags>();
  command.add_option("FILE", flags->file, "GGUF file").required();
  command.add_flag("--json", flags->is_json, "Everything as JSON");
  command.footer("Example:\n  quern inspect model.gguf");
  action = [flags]() -> Result<void> {
    QUERN_ASSIGN_OR_RETURN(const auto file, GgufFile::open(flags->file));
    if (flags->is_json) {
      print_json(*file);
    } else {
      print_text(*file);
    }
    return {};
  };
}

}  // namespace quern::cli
