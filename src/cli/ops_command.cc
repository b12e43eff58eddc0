// quern ops: the operations of this build and how backends serve them.
// What a backend supports is asked of the backend, not written down a second time.
#include <fmt/format.h>

#include "base/fail.h"
#include "cli/commands.h"
#include "conformance/inventory.h"

namespace quern::cli {
namespace {

// The options of the command.
struct OpsFlags {
  std::vector<std::string> backends;
  bool is_json = false;
  bool is_markdown = false;
};

// Exit code 1 for a backend that is not there.
Result<void> ops(OpsFlags flags) {
  if (flags.is_json && flags.is_markdown) {
    return fail::invalid("'--json' and '--markdown' exclude each other.");
  }
  if (flags.backends.empty()) {
    flags.backends = {"cpu"};
    // The document in docs/ lists both.
    if (flags.is_markdown) flags.backends = {"reference", "cpu"};
  }
  const BackendRegistry registry = register_backends();
  std::vector<const Backend*> backends;
  for (const std::string& name : flags.backends) {
    QUERN_ASSIGN_OR_RETURN(const Backend* backend, registry.find(name));
    backends.push_back(backend);
  }
  const Inventory inventory = make_inventory(builtin_ops(), backends);
  const std::string text = flags.is_json       ? inventory_json(inventory)
                           : flags.is_markdown ? operations_document(inventory)
                                               : inventory_table(inventory);
  fmt::print("{}", text);
  return {};
}

}  // namespace

// As table, JSON or the reference in Markdown.
void set_up_ops(OptionSet& command, Action& action) {
  auto flags = std::make_shared<OpsFlags>();
  command
      .add_option("--backend", flags->backends,
                  "Backend to ask [cpu; with --markdown reference and cpu]; may be repeated")
      .repeatable();
  command.add_flag("--json", flags->is_json, "Everything about each operation, as JSON");
  command.add_flag("--markdown", flags->is_markdown, "The reference of all operations");
  action = [flags] { return ops(*flags); };
}

}  // namespace quern::cli
