// Graph to YAML. Every text that could be read as something else is quoted.
// Only what differs from the defaults is written, so that a person can read it.
#include <algorithm>
#include <cctype>

#include "base/fail.h"
#include "formats/manifest/manifest.h"
#include "quern/op.h"

namespace quern {
namespace {

// Whether YAML and the manifest read these characters as this text, in a flow map too.
bool is_plain(std::string_view text) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  // A first letter rules out numbers, dates, "~", "-" and every indicator of YAML; what remains are
  // the words that mean something.
  if (text.empty() || !is_letter(text.front())) return false;
  for (const std::string_view word : {"null", "Null", "NULL", "true", "false", "nan", "inf"}) {
    if (text == word) return false;
  }
  return std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           c == '.' || c == '/';
  });
}

// In double quotes, with YAML's escapes, and "${" escaped for the manifest.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      // YAML's escape of a byte below 0x80; UTF-8 stands as it is.
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else if (c == '$' && text.substr(i).starts_with("${")) {
      out += "$$";  // the manifest's escape of a variable
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Plain where that reads back, else in quotes.
std::string scalar(std::string_view text) {
  return is_plain(text) ? std::string(text) : quoted(text);
}

// An attribute as the reader takes it for its kind.
std::string attribute_text(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    std::string list = "[";
    for (const double number : *numbers) {
      list += (list.size() > 1 ? ", " : "") + attribute_to_string(number);
    }
    return list + "]";
  }
  return attribute_to_string(value);
}

// {eps: 1e-06, mode: "x"}; only what differs from the operation's defaults.
std::string attributes_text(const OpDef* op, const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes) {
    const AttributeDef* def = op == nullptr ? nullptr : op->find_attribute(name);
    const bool is_default = def && def->default_value &&
                            attribute_to_string(*def->default_value) == attribute_to_string(value);
    if (is_default) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", scalar(name), attribute_text(value));
  }
  return text.empty() ? "" : "{" + text + "}";
}

// One graph each.
class Writer {
 public:
  // Borrows the graph.
  explicit Writer(const Graph& graph) : graph_(graph) {}

  // Errors: kInvalidArgument for layouts that a manifest cannot name.
  Result<std::string> write(std::string_view name) {
    text_ = "quern: 1\n";
    if (!name.empty()) text_ += fmt::format("name: {}\n", quoted(name));
    // The graph's own casts are nodes of it already: no others may be added when it is read.
    text_ += "precision: mixed\n";
    write_states();
    const size_t first = write_sections();
    if (first < graph_.nodes().size()) text_ += "nodes:\n";
    for (size_t i = first; i < graph_.nodes().size(); ++i) write_node(graph_.nodes()[i]);
    if (!graph_.outputs().empty()) text_ += "outputs:\n";
    for (const GraphOutput& output : graph_.outputs()) {
      text_ +=
          fmt::format("  {}: {}\n", scalar(output.name), scalar(graph_.value(output.value).name));
    }
    for (const Value& value : graph_.values()) {
      if (value.type.layout == LayoutKind::kRowMajor) continue;
      return fail::invalid("Value '{}' has type {}; a manifest holds row-major values only.",
                           value.name, value.type.to_string());
    }
    return std::move(text_);
  }

 private:
  // Before everything that uses them.
  void write_states() {
    if (!graph_.states().empty()) text_ += "states:\n";
    for (const StateDecl& state : graph_.states()) {
      text_ += fmt::format("  {}:\n    kind: {}\n", scalar(state.name), scalar(state.kind));
      const std::string attributes = attributes_text(nullptr, state.attributes);
      if (!attributes.empty()) text_ += fmt::format("    attributes: {}\n", attributes);
    }
  }

  // Inputs, then weights, that stand in front in this order, as a reader puts them. Others stay
  // among the nodes, so that the order is kept.
  size_t write_sections() {
    size_t next = 0;
    for (const auto& [id, title] :
         {std::pair("Input", "inputs"), std::pair("graph.weight", "weights")}) {
      bool is_first = true;
      for (; next < graph_.nodes().size(); ++next) {
        // A declaration has no place for a device: such a node stays among the nodes.
        const Node& node = graph_.nodes()[next];
        if (node.op->id != id || !node.device.empty()) break;
        if (is_first) text_ += fmt::format("{}:\n", title);
        is_first = false;
        write_declaration(node);
      }
    }
    return next;
  }

  // An input or a weight in its section.
  void write_declaration(const Node& node) {
    const TensorType& type = graph_.value(node.outputs[0]).type;
    const bool has_other_name =
        node.op->id == "graph.weight" && node.attributes.text("weight") != node.name;
    if (!has_other_name) {
      text_ += fmt::format("  {}: {}\n", scalar(node.name), quoted(type.to_string()));
      return;
    }
    const std::string whole = type.to_string();
    text_ += fmt::format("  {}: {{shape: {}, dtype: {}, name: {}}}\n", scalar(node.name),
                         whole.substr(whole.find('[')), dtype_name(type.dtype),
                         quoted(node.attributes.text("weight")));
  }

  // Any other node.
  void write_node(const Node& node) {
    text_ += fmt::format("  - id: {}\n    op: {}\n", scalar(node.name), scalar(node.op->id));
    if (!node.inputs.empty()) text_ += fmt::format("    in: {}\n", inputs_text(node));
    const std::string attributes = attributes_text(node.op, node.attributes);
    if (!attributes.empty()) text_ += fmt::format("    attributes: {}\n", attributes);
    if (!node.device.empty()) text_ += fmt::format("    device: {}\n", scalar(node.device));
  }

  // By port, so that a person sees what each input is for; variadic ports have no names of their
  // own.
  std::string inputs_text(const Node& node) const {
    // The node has inputs, so the operation has a last port.
    const bool has_names = !node.op->inputs.back().is_variadic;
    const std::vector<PortDef> ports = node.op->input_ports(node.attributes);
    std::string text;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (has_names && node.inputs[i] == kNoValue) continue;
      if (!text.empty()) text += ", ";
      if (has_names) text += scalar((i < ports.size() ? ports[i] : node.op->inputs[i]).name) + ": ";
      text += node.inputs[i] == kNoValue ? "null" : scalar(graph_.value(node.inputs[i]).name);
    }
    return has_names ? "{" + text + "}" : "[" + text + "]";
  }

  const Graph& graph_;
  std::string text_;
};

}  // namespace

// Reads back to the same graph: same names, order and semantic hash.
Result<std::string> print_manifest(const Graph& graph, std::string_view name) {
  return Writer(graph).write(name);
}

}  // namespace quern
