// The inventory as a table, and the page on one operation.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/inventory.h"
#include "ir/variadic_port.h"

namespace quern {
namespace {

// The first sentence, which ends with ". " or with the text.
// An "e.g. " within would end it early.
std::string_view first_sentence(std::string_view doc) {
  const size_t end = doc.find(". ");
  return end == std::string_view::npos ? doc : doc.substr(0, end + 1);
}

// The link and the methods behind it, as the table shows them.
std::string link_text(const InventoryRow& row) {
  if (row.required != nullptr) {
    const std::string_view link = op_link_name(row.required->link);
    return row.methods.empty() ? std::string(link)
                               : fmt::format("{} {}", link, fmt::join(row.methods, " + "));
  }
  if (!row.methods.empty()) return fmt::format("surface {}", fmt::join(row.methods, " + "));
  return "engine";
}

// One sentence about all operations.
std::string totals(const Inventory& inventory) {
  std::string links;
  for (const OpLink link :
       {OpLink::kDirect, OpLink::kComposite, OpLink::kRegistry, OpLink::kGraphOnly}) {
    links += fmt::format("{}{} {}", links.empty() ? "" : ", ",
                         std::ranges::count(required_ops(), link, &RequiredOp::link),
                         op_link_name(link));
  }
  return fmt::format(
      "{} operations: {} that graphs name ({}), {} that only surfaces name (of their {} methods), "
      "{} of the engine.\n",
      inventory.rows.size(), inventory.count(OpOrigin::kRequired), links,
      inventory.count(OpOrigin::kSurface), surface_methods().size(),
      inventory.count(OpOrigin::kEngine));
}

// One sentence about a backend.
std::string support_totals(const Inventory& inventory, size_t backend) {
  std::string text = fmt::format("Backend {}:", inventory.backends[backend]);
  for (size_t kind = 0; kind < inventory.counts[backend].size(); ++kind) {
    text += fmt::format("{} {} {}", kind == 0 ? "" : ",", inventory.counts[backend][kind],
                        support_name(static_cast<Support::Kind>(kind)));
  }
  return text + ".\n";
}

// Wraps at `width` columns after `indent` spaces; words longer than that stay whole.
std::string wrap(std::string_view text, size_t indent, size_t width) {
  std::string out, line(indent, ' ');
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    // A line takes one word at least, however long.
    if (line.size() > indent && line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line.assign(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out + line + "\n";
}

constexpr size_t kWidth = 100;

}  // namespace

// Names with marks: `?` optional, `...` any number, whose first two names are there.
std::string port_list(std::span<const PortDef> ports) {
  std::string text;
  for (size_t i = 0; i < ports.size(); ++i) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", input_name(ports, i),
                        ports[i].is_optional ? "?" : "");
    if (ports[i].is_variadic) text += fmt::format(", {}, ...", input_name(ports, i + 1));
  }
  return text.empty() ? "none" : text;
}

// The choices, or the kind of value.
std::string attribute_values(const AttributeDef& attribute) {
  if (attribute.choices.empty()) return std::string(attribute_kind_name(attribute.kind));
  return fmt::format("{}", fmt::join(attribute.choices, " | "));
}

// The default as a person would write it.
std::string attribute_default(const AttributeDef& attribute) {
  if (!attribute.default_value) return "required";
  if (const auto* text = std::get_if<std::string>(&*attribute.default_value)) {
    return text->empty() ? "empty" : *text;
  }
  return attribute_to_string(*attribute.default_value);
}

// One line for each operation, then the totals.
std::string inventory_table(const Inventory& inventory) {
  size_t link_width = 0;
  for (const InventoryRow& row : inventory.rows) {
    link_width = std::max(link_width, link_text(row).size());
  }
  std::string text = fmt::format("{:<38} ", "operation");
  for (const std::string& backend : inventory.backends) text += fmt::format("{:<11}", backend);
  text += fmt::format("{:<{}} {}\n", "catalogue", link_width, "meaning");
  for (const InventoryRow& row : inventory.rows) {
    text += fmt::format("{:<38} ", row.op->id);
    for (const Support& support : row.support) {
      text += fmt::format("{:<11}", support_name(support.kind));
    }
    text += fmt::format("{:<{}} {}\n", link_text(row), link_width, first_sentence(row.op->doc));
  }
  text += "\n" + totals(inventory);
  for (size_t i = 0; i < inventory.backends.size(); ++i) text += support_totals(inventory, i);
  return text;
}

// The page of `quern ops ID`: meaning, ports, attributes, rules, error.
std::string op_page(const OpDef& op) {
  std::string text =
      fmt::format("{}  (version {}, {}{})\n", op.id, op.version, effect_name(op.effect),
                  op.alias_of.empty() ? "" : ", the same as " + op.alias_of);
  text += wrap(op.doc, 2, kWidth);
  text += fmt::format("\nInputs:  {}\n", port_list(op.input_ports({})));
  if (!op.table_inputs.empty()) {
    text += fmt::format("         {} (form table)\n", fmt::join(op.table_inputs, ", "));
  }
  text += fmt::format("Outputs: {}\n", port_list(op.outputs));
  text += op.attributes.empty() ? "Attributes: none\n" : "Attributes:\n";
  for (const AttributeDef& attribute : op.attributes) {
    text += fmt::format(
        "  {:<16} {:<24} {}\n", attribute.name,
        fmt::format("{} [{}]", attribute_values(attribute), attribute_default(attribute)),
        attribute.doc);
  }
  text += "Types:\n" + wrap(op.shape_rule, 2, kWidth);
  text += "Edges:\n" + wrap(op.edge_rule, 2, kWidth);
  if (op.f32_bound == 0) {
    return text +
           "Error in f32: none; the result is that of exact arithmetic on the same inputs.\n";
  }
  text += fmt::format(
      "Error in f32: at most {} units (an ulp of the result, plus what half an ulp in each input "
      "changes{}).\n",
      op.f32_bound, op.f32_cancels ? ", plus an ulp of the largest of 1 and the inputs" : "");
  return text;
}

}  // namespace quern
