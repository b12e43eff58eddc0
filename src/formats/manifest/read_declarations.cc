// The sections of a manifest around its nodes.
// Every section has short forms; all of them become the same declarations.
#include <cmath>
#include <optional>
#include <utility>

#include "formats/manifest/declarations.h"
#include "formats/manifest/yaml_values.h"
#include "ir/tensor_type.h"

namespace quern::manifest {
namespace {

// What a whole number of this type may be; constants are numbers of f64, so that 64-bit types end
// where it stops counting one by one. Nothing for other types.
struct IntegerLimits {
  double low;
  double high;
};
std::optional<IntegerLimits> integer_limits(DType dtype) {
  constexpr double kExact = 0x1p53;
  switch (dtype) {
    case DType::kI8:
      return IntegerLimits{-128, 127};
    case DType::kU8:
      return IntegerLimits{0, 255};
    case DType::kI16:
      return IntegerLimits{-32768, 32767};
    case DType::kU16:
      return IntegerLimits{0, 65535};
    case DType::kI32:
      return IntegerLimits{-0x1p31, 0x1p31 - 1};
    case DType::kU32:
      return IntegerLimits{0, 0x1p32 - 1};
    case DType::kI64:
      return IntegerLimits{-kExact, kExact};
    case DType::kU64:
      return IntegerLimits{0, kExact};
    default:
      return std::nullopt;
  }
}

// Of values that name no type: what the manifest computes in.
DType default_dtype(Precision precision) {
  return precision == Precision::kFloat32 ? DType::kF32 : DType::kF64;
}

// [T, 64]
Result<std::vector<Dim>> read_dims(const YamlNode& node, std::string_view what) {
  QUERN_TRY(expect_sequence(node, what));
  if (node.items.size() > kMaxRank) {
    return error_at(node.place, fmt::format("{} has {} extents; the limit is {}.", what,
                                            node.items.size(), kMaxRank));
  }
  std::vector<Dim> dims;
  for (const YamlNode& item : node.items) {
    QUERN_ASSIGN_OR_RETURN(const std::string text, text_of(item, what));
    const auto dim = parse_dim(text);
    if (!dim) return error_at(item.place, dim.error());
    dims.push_back(*dim);
  }
  return dims;
}

// Errors: no name of a type.
Result<DType> read_dtype(const YamlNode& node, std::string_view what) {
  QUERN_ASSIGN_OR_RETURN(const std::string name, text_of(node, what));
  if (const auto dtype = find_dtype(name)) return *dtype;
  return error_at(node.place, fmt::format("{} is '{}', which is no dtype.", what, name));
}

// The sections that declare values; they share their short forms.
class ValueReader {
 public:
  // Borrows the scope.
  ValueReader(const Scope& scope, Precision precision) : scope_(scope), precision_(precision) {}

  // `kind` is "input", "weight" or "constant". Forms of the type: "f32[T, 64]"; [T, 64];
  // {shape: [T, 64], dtype: f32} with further keys by kind.
  Result<std::vector<ValueDecl>> read(const YamlNode& section, std::string_view kind) const {
    std::vector<ValueDecl> decls;
    if (section.is_null()) return decls;
    QUERN_TRY(expect_map(section, fmt::format("'{}s'", kind)));
    for (const auto& [id, raw] : section.members) {
      QUERN_ASSIGN_OR_RETURN(const YamlNode node, substitute(raw, scope_));
      // A weight has its own id as its name in the file unless it says another.
      ValueDecl decl{.place = raw.place, .id = id, .type = {}, .weight = id, .values = {}};
      QUERN_TRY(read_value(node, kind, decl));
      decls.push_back(std::move(decl));
    }
    return decls;
  }

 private:
  // Any of the forms. Errors with the place of what does not fit.
  Result<void> read_value(const YamlNode& node, std::string_view kind, ValueDecl& decl) const {
    const std::string what = fmt::format("The {} '{}'", kind, decl.id);
    if (kind == "constant") return read_constant(node, what, decl);
    if (node.is_scalar()) {
      auto type = parse_tensor_type(node.text);
      if (!type) return error_at(node.place, type.error());
      decl.type = std::move(*type);
      return {};
    }
    if (node.is_map()) return read_map(node, kind, what, decl);
    QUERN_ASSIGN_OR_RETURN(decl.type.dims, read_dims(node, what));
    decl.type.dtype = default_dtype(precision_);
    return {};
  }

  // {shape, dtype} and, of weights, the name in the file.
  Result<void> read_map(const YamlNode& node, std::string_view kind, const std::string& what,
                        ValueDecl& decl) const {
    if (kind == "weight") {
      QUERN_TRY(expect_keys(node, what, {"shape", "dtype", "name"}));
    } else {
      QUERN_TRY(expect_keys(node, what, {"shape", "dtype"}));
    }
    QUERN_TRY(read_shape_and_dtype(node, what, decl));
    if (const YamlNode* name = node.find("name")) {
      QUERN_ASSIGN_OR_RETURN(decl.weight, text_of(*name, what));
    }
    return {};
  }

  // `shape` is needed, `dtype` is not.
  Result<void> read_shape_and_dtype(const YamlNode& node, const std::string& what,
                                    ValueDecl& decl) const {
    QUERN_ASSIGN_OR_RETURN(const YamlNode* shape, require(node, "shape", what));
    QUERN_ASSIGN_OR_RETURN(decl.type.dims, read_dims(*shape, what));
    decl.type.dtype = default_dtype(precision_);
    if (const YamlNode* dtype = node.find("dtype")) {
      QUERN_ASSIGN_OR_RETURN(decl.type.dtype, read_dtype(*dtype, what));
    }
    return {};
  }

  // 0.5; [1, 2, 3]; {shape: [2, 2], values: [1, 2, 3, 4], dtype: i64}
  Result<void> read_constant(const YamlNode& node, const std::string& what, ValueDecl& decl) const {
    const YamlNode* values = &node;
    if (node.is_map()) {
      QUERN_TRY(expect_keys(node, what, {"shape", "dtype", "values"}));
      QUERN_TRY(read_shape_and_dtype(node, what, decl));
      QUERN_ASSIGN_OR_RETURN(values, require(node, "values", what));
    } else {
      decl.type.dtype = default_dtype(precision_);
      if (node.is_sequence()) {
        // A list is a vector; a single number stays a scalar of rank 0.
        decl.type.dims = {Dim::constant(static_cast<int64_t>(node.items.size()))};
      }
    }
    if (values->is_scalar()) return read_element(*values, what, decl);
    QUERN_TRY(expect_sequence(*values, what));
    for (const YamlNode& item : values->items) QUERN_TRY(read_element(item, what, decl));
    return {};
  }

  // One number, which an integer type must hold as it is.
  Result<void> read_element(const YamlNode& node, const std::string& what, ValueDecl& decl) const {
    QUERN_ASSIGN_OR_RETURN(const double value, number_of(node, what));
    const auto limits = integer_limits(decl.type.dtype);
    if (limits && (std::trunc(value) != value || value < limits->low || value > limits->high)) {
      return error_at(node.place, fmt::format("{} has the value {}, which {} cannot hold.", what,
                                              node.text, dtype_name(decl.type.dtype)));
    }
    decl.values.push_back(value);
    return {};
  }

  const Scope& scope_;
  Precision precision_;
};

// With their places, since the graph checks them later.
Result<std::vector<std::pair<Place, StateDecl>>> read_states(const YamlNode& section,
                                                             const Scope& scope) {
  std::vector<std::pair<Place, StateDecl>> states;
  if (section.is_null()) return states;
  QUERN_TRY(expect_map(section, "'states'"));
  for (const auto& [name, raw] : section.members) {
    const std::string what = fmt::format("The state '{}'", name);
    QUERN_ASSIGN_OR_RETURN(const YamlNode node, substitute(raw, scope));
    QUERN_TRY(expect_keys(node, what, {"kind", "attributes"}));
    StateDecl state{.name = name, .kind = {}, .attributes = {}};
    QUERN_ASSIGN_OR_RETURN(const YamlNode* kind, require(node, "kind", what));
    QUERN_ASSIGN_OR_RETURN(state.kind, text_of(*kind, what));
    if (const YamlNode* attributes = node.find("attributes")) {
      QUERN_TRY(expect_map(*attributes, what));
      for (const auto& [key, value] : attributes->members) {
        QUERN_ASSIGN_OR_RETURN(AttributeValue attribute, plain_attribute_of(value, what));
        state.attributes.set(key, std::move(attribute));
      }
    }
    states.emplace_back(raw.place, std::move(state));
  }
  return states;
}

// {y: h3} or [h3], where the output has the value's name.
Result<std::vector<std::pair<std::string, ValueRef>>> read_outputs(const YamlNode& section,
                                                                   const Scope& scope) {
  std::vector<std::pair<std::string, ValueRef>> outputs;
  QUERN_ASSIGN_OR_RETURN(const YamlNode node, substitute(section, scope));
  for (const YamlNode& item : node.items) {
    QUERN_ASSIGN_OR_RETURN(std::string name, text_of(item, "An output"));
    outputs.emplace_back(name, ValueRef{item.place, name});
  }
  for (const auto& [name, value] : node.members) {
    QUERN_ASSIGN_OR_RETURN(std::string text, text_of(value, fmt::format("The output '{}'", name)));
    outputs.emplace_back(name, ValueRef{value.place, std::move(text)});
  }
  if (node.is_scalar())
    return error_at(node.place, "'outputs' is text; a map or a list is needed.");
  return outputs;
}

// One name or a list.
Result<std::vector<std::string>> read_weight_files(const YamlNode& section, const Scope& scope) {
  std::vector<std::string> files;
  QUERN_ASSIGN_OR_RETURN(const YamlNode node, substitute(section, scope));
  if (node.is_scalar()) return std::vector<std::string>{node.text};
  QUERN_TRY(expect_sequence(node, "'weight_files'"));
  for (const YamlNode& item : node.items) {
    QUERN_ASSIGN_OR_RETURN(std::string file, text_of(item, "'weight_files'"));
    files.push_back(std::move(file));
  }
  return files;
}

// Before anything else: a later version may mean all of it differently.
Result<void> check_version(const YamlNode& root) {
  QUERN_ASSIGN_OR_RETURN(const YamlNode* version, require(root, "quern", "A manifest"));
  QUERN_ASSIGN_OR_RETURN(const int64_t number, integer_of(*version, "'quern'"));
  if (number == 1) return {};
  return error_at(version->place,
                  fmt::format("The manifest has version {}; this build reads version 1.", number));
}

}  // namespace

Result<Declarations> read_declarations(const YamlNode& root,
                                       const std::map<std::string, std::string>& overrides) {
  QUERN_TRY(expect_keys(root, "A manifest",
                        {"quern", "name", "precision", "variables", "weight_files", "states",
                         "inputs", "weights", "constants", "nodes", "outputs"}));
  QUERN_TRY(check_version(root));
  QUERN_ASSIGN_OR_RETURN(const Variables variables,
                         Variables::make(root.find("variables"), overrides));
  const Scope scope{&variables};
  Declarations d;
  if (const YamlNode* name = root.find("name")) {
    QUERN_ASSIGN_OR_RETURN(const YamlNode value, substitute(*name, scope));
    QUERN_ASSIGN_OR_RETURN(d.name, text_of(value, "'name'"));
  }
  if (const YamlNode* precision = root.find("precision")) {
    QUERN_ASSIGN_OR_RETURN(const YamlNode value, substitute(*precision, scope));
    QUERN_ASSIGN_OR_RETURN(d.precision, read_precision(value));
  }
  if (const YamlNode* files = root.find("weight_files")) {
    d.weight_files_place = files->place;
    QUERN_ASSIGN_OR_RETURN(d.weight_files, read_weight_files(*files, scope));
  }
  if (const YamlNode* states = root.find("states")) {
    QUERN_ASSIGN_OR_RETURN(d.states, read_states(*states, scope));
  }
  const ValueReader reader(scope, d.precision);
  if (const YamlNode* inputs = root.find("inputs")) {
    QUERN_ASSIGN_OR_RETURN(d.inputs, reader.read(*inputs, "input"));
  }
  if (const YamlNode* weights = root.find("weights")) {
    QUERN_ASSIGN_OR_RETURN(d.weights, reader.read(*weights, "weight"));
  }
  if (const YamlNode* constants = root.find("constants")) {
    QUERN_ASSIGN_OR_RETURN(d.constants, reader.read(*constants, "constant"));
  }
  if (const YamlNode* nodes = root.find("nodes"); nodes && !nodes->is_null()) {
    QUERN_ASSIGN_OR_RETURN(d.nodes, read_nodes(*nodes, variables));
  }
  if (const YamlNode* outputs = root.find("outputs"); outputs && !outputs->is_null()) {
    QUERN_ASSIGN_OR_RETURN(d.outputs, read_outputs(*outputs, scope));
  }
  return d;
}

}  // namespace quern::manifest
