// quern graph: the IR of a model.
#include <fmt/format.h>

#include "cli/commands.h"
#include "formats/gguf_reader.h"
#include "models/language_model.h"

namespace quern::cli {
namespace {

struct GraphFlags {
  std::string model;
  std::string activations = "auto";
};

Result<void> graph(const GraphFlags& flags) {
  QUERN_ASSIGN_OR_RETURN(const auto file, GgufFile::open(flags.model));
  ModelOptions options;
  options.activations = *find_activations(flags.activations);
  QUERN_ASSIGN_OR_RETURN(const LanguageModel model,
                         build_language_model(file->metadata(), *file, options));
  fmt::print("# {}, {} parameters, {} activations, semantic hash {:016x}\n{}", model.architecture,
             model.num_parameters, activations_name(model.activations), semantic_hash(model.graph),
             print_graph(model.graph));
  return {};
}

}  // namespace

void set_up_graph(CLI::App& command, Action& action) {
  auto flags = std::make_shared<GraphFlags>();
  command.add_option("MODEL", flags->model, "GGUF file")->required();
  command.add_option("--activations", flags->activations, "As in 'quern run'")
      ->check(CLI::IsMember({"auto", "int8", "int16", "f32"}))
      ->capture_default_str();
  action = [flags] { return graph(*flags); };
}

}  // namespace quern::cli
