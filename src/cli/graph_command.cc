// quern graph: the IR of a model or a manifest, as text or as a manifest.
// The comment line in front has the semantic hash: equal hashes mean equal computations.
#include <fmt/format.h>

#include "cli/commands.h"
#include "formats/gguf_reader.h"
#include "formats/manifest/manifest.h"
#include "models/language_model.h"
#include "quern/op.h"

namespace quern::cli {
namespace {

// The options of the command.
struct GraphFlags {
  std::string file;
  std::string activations = "auto";
  bool is_yaml = false;
};

// A comment line with the facts, then the text form, which parse_graph() takes.
Result<void> print(const GraphFlags& flags, const Graph& graph, const std::string& name,
                   const std::string& facts) {
  std::string text = print_graph(graph);
  if (flags.is_yaml) {
    // Errors: what a manifest cannot express.
    QUERN_ASSIGN_OR_RETURN(text, print_manifest(graph, name));
  }
  fmt::print("# {}semantic hash {:016x}\n{}", facts, semantic_hash(graph), text);
  return {};
}

// No device and no weights: names, types and shapes make the graph.
Result<void> graph(const GraphFlags& flags) {
  if (flags.file.ends_with(".yaml") || flags.file.ends_with(".yml")) {
    QUERN_ASSIGN_OR_RETURN(const Manifest manifest, read_manifest(flags.file, builtin_ops()));
    return print(flags, manifest.graph, manifest.name, "");
  }
  // Whatever has another name is taken for a model.
  QUERN_ASSIGN_OR_RETURN(const auto file, GgufFile::open(flags.file));
  ModelOptions options;
  options.activations = *find_activations(flags.activations);
  QUERN_ASSIGN_OR_RETURN(const LanguageModel model,
                         build_language_model(file->metadata(), *file, options));
  return print(flags, model.graph, model.architecture,
               fmt::format("{}, {} parameters, {} activations, ", model.architecture,
                           model.num_parameters, activations_name(model.activations)));
}

}  // namespace

// Activations are the one option that changes a model's graph here.
void set_up_graph(OptionSet& command, Action& action) {
  auto flags = std::make_shared<GraphFlags>();
  command.add_option("FILE", flags->file, "GGUF model, or manifest (.yaml)").required();
  command.add_option("--activations", flags->activations, "As in 'quern run'")
      .one_of({"auto", "int8", "int16", "f32"})
      .show_default();
  command.add_flag("--yaml", flags->is_yaml, "As a manifest that 'quern exec' runs");
  action = [flags] { return graph(*flags); };
}

}  // namespace quern::cli
