// docs/operations.md: every operation on one page, made from the registry.
#include <fmt/format.h>

#include "conformance/inventory.h"

namespace quern {
namespace {

constexpr std::string_view kIntroduction =
    R"(# Operations

This page is generated: `quern ops --markdown > docs/operations.md`. A test compares the two.

An operation is a node of a graph. `quern op ID` runs one on `.npy` files, `quern op ID --help` prints its entry.
Rules that hold for all of them, unless an entry says otherwise:

- Tensors are dense and row-major. Operations need equal extents; only the ones that say so repeat axes.
- "Floats" are f64, f32, f16, bf16, f8e4m3 and f8e5m2. f64 computes in f64, all others in f32 with one rounding of the
  result. Sums start from +0 in the order that the entry names, so every backend gives the same bits under `strict`.
- `?` marks an optional input, `...` any number of inputs. An attribute without default is required.
- Two published forms of one operation are chosen by the attribute `form`: `estimator` works on samples, `table` on
  probability tables, with inputs of its own.
- "Error in f32" bounds each element of a result in f32 against exact arithmetic on the same inputs, in units of one
  ulp of the exact result plus the change that half an ulp in each input makes. 0: no error. Where results are what
  remains after large terms cancel, the unit also holds an ulp of the largest number among 1 and the inputs ("cancels").

)";

// A bar would end a table's cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

// The anchor that Markdown gives a heading: lower case, without dots.
std::string anchor(std::string_view id) {
  std::string out;
  for (const char c : id) {
    if (c == '.') continue;
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return out;
}

// Where the operation comes from.
std::string catalogue_cell(const InventoryRow& row) {
  if (row.required != nullptr) return std::string(op_link_name(row.required->link));
  return row.origin == OpOrigin::kSurface ? "surface" : "engine";
}

// The table of all operations with a link to each entry.
std::string overview(const Inventory& inventory) {
  std::string text = "## Inventory\n\n";
  text += fmt::format(
      "{} operations. Graphs name {} of them, which stand on a method of a backend surface "
      "(direct), "
      "on several (composite), on a kernel outside the surfaces (registry) or on the graph itself "
      "(graph-only). Surfaces have {} methods, {} of which no such operation stands on; each of "
      "those has an operation too (surface). The others are the engine's own.\n\n",
      inventory.rows.size(), inventory.count(OpOrigin::kRequired), surface_methods().size(),
      inventory.count(OpOrigin::kSurface));
  text += fmt::format("| operation | catalogue | {} | methods |\n|---|---|",
                      fmt::join(inventory.backends, " | "));
  for (size_t i = 0; i < inventory.backends.size(); ++i) text += "---|";
  text += "---|\n";
  for (const InventoryRow& row : inventory.rows) {
    text += fmt::format("| [{}](#{}) | {} |", row.op->id, anchor(row.op->id), catalogue_cell(row));
    for (const Support& support : row.support) {
      text += fmt::format(" {} |", support_name(support.kind));
    }
    text += fmt::format(" {} |\n", fmt::join(row.methods, ", "));
  }
  return text + "\n";
}

// The attributes; nothing if there are none.
std::string attribute_table(const OpDef& op) {
  if (op.attributes.empty()) return "";
  std::string text = "\n| attribute | kind | default | |\n|---|---|---|---|\n";
  for (const AttributeDef& attribute : op.attributes) {
    text +=
        fmt::format("| {} | {} | {} | {} |\n", attribute.name, cell(attribute_values(attribute)),
                    cell(attribute_default(attribute)), cell(attribute.doc));
  }
  return text;
}

// The entry of one operation.
std::string section(const OpDef& op) {
  std::string text = fmt::format("### {}\n\n", op.id);
  if (!op.alias_of.empty()) {
    text += fmt::format("The same operation as [{}](#{}).\n\n", op.alias_of, anchor(op.alias_of));
  }
  text += op.doc + "\n\n";
  text += fmt::format("- Inputs: {}\n", port_list(op.input_ports({})));
  if (!op.table_inputs.empty()) {
    text += fmt::format("- Inputs of the form table: {}\n", fmt::join(op.table_inputs, ", "));
  }
  text += fmt::format("- Outputs: {}\n- Types: {}\n- Edges: {}\n", port_list(op.outputs),
                      op.shape_rule, op.edge_rule);
  text += fmt::format("- Error in f32: {}{}. Effect: {}. Version {}.\n", op.f32_bound,
                      op.f32_cancels ? " (cancels)" : "", effect_name(op.effect), op.version);
  return text + attribute_table(op) + "\n";
}

}  // namespace

// The whole page, which a test compares with the file in docs.
std::string operations_document(const Inventory& inventory) {
  std::string text = std::string(kIntroduction) + overview(inventory) + "## Entries\n\n";
  for (const InventoryRow& row : inventory.rows) text += section(*row.op);
  text.pop_back();  // the file ends with one line break
  return text;
}

}  // namespace quern
