// Messages of onnx.proto, field by field. Numbers after `case` are those of the proto file.
// Unknown fields are skipped, as the format demands of readers.
#include "formats/onnx/onnx_model.h"

#include <algorithm>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "formats/onnx/onnx_tensor.h"
#include "formats/onnx/wire_reader.h"

namespace quern::onnx {
namespace {

using Bytes = std::span<const std::byte>;
using Type = OnnxAttribute::Type;

// Calls visit(field) for each field of a message.
template <class Visit>
Result<void> for_each_field(Bytes message, Visit&& visit) {
  WireReader reader(message);
  while (!reader.is_at_end()) {
    QUERN_ASSIGN_OR_RETURN(const WireField field, reader.next());
    QUERN_TRY(visit(field));
  }
  return {};
}

// Every kind of attribute that operators here ask for; graphs and others are kept as kOther.
Result<void> read_attribute(Bytes message, OnnxAttribute& attribute) {
  int64_t declared = 0;
  QUERN_TRY(for_each_field(message, [&](const WireField& field) -> Result<void> {
    switch (field.tag) {
      case 1:
        attribute.name = field.text();
        return {};
      case 2:
        attribute.number = field.f32();
        return {};
      case 3:
        attribute.integer = field.integer();
        return {};
      case 4:
        attribute.text = field.text();
        return {};
      case 5: {
        QUERN_ASSIGN_OR_RETURN(attribute.tensor, parse_tensor(field.bytes));
        return {};
      }
      case 7:
        return append_floats(field, attribute.numbers);
      case 8:
        return append_integers(field, attribute.integers);
      case 9:
        attribute.texts.emplace_back(field.text());
        return {};
      case 20:
        declared = field.integer();
        return {};
      default:
        return {};  // graphs, types, documentation
    }
  }));
  switch (declared) {  // AttributeProto.AttributeType
    case 1:
      attribute.type = Type::kFloat;
      return {};
    case 2:
      attribute.type = Type::kInt;
      return {};
    case 3:
      attribute.type = Type::kText;
      return {};
    case 4:
      attribute.type = Type::kTensor;
      return {};
    case 6:
      attribute.type = Type::kFloats;
      return {};
    case 7:
      attribute.type = Type::kInts;
      return {};
    case 8:
      attribute.type = Type::kTexts;
      return {};
    default:
      attribute.type = Type::kOther;
      return {};
  }
}

// Fields of NodeProto.
Result<void> read_node(Bytes message, OnnxNode& node) {
  return for_each_field(message, [&](const WireField& field) -> Result<void> {
    switch (field.tag) {
      case 1:
        node.inputs.emplace_back(field.text());
        return {};
      case 2:
        node.outputs.emplace_back(field.text());
        return {};
      case 3:
        node.name = field.text();
        return {};
      case 4:
        node.op_type = field.text();
        return {};
      case 5:
        return read_attribute(field.bytes, node.attributes.emplace_back());
      case 7:
        node.domain = field.text() == "ai.onnx" ? "" : field.text();
        return {};
      default:
        return {};
    }
  });
}

// TensorShapeProto: dim = 1 {dim_value = 1, dim_param = 2}.
Result<std::vector<int64_t>> read_shape(Bytes message) {
  std::vector<int64_t> dims;
  QUERN_TRY(for_each_field(message, [&](const WireField& field) -> Result<void> {
    if (field.tag != 1) return {};
    int64_t extent = -1;
    QUERN_TRY(for_each_field(field.bytes, [&](const WireField& dim) -> Result<void> {
      if (dim.tag == 1) extent = dim.integer();
      return {};
    }));
    // -1 is "not known", for a name (dim_param) as for an absent value.
    dims.push_back(extent < 0 ? -1 : extent);
    return {};
  }));
  return dims;
}

// ValueInfoProto: name = 1, type = 2 {tensor_type = 1 {elem_type = 1, shape = 2}}.
Result<void> read_value(Bytes message, OnnxValue& value) {
  return for_each_field(message, [&](const WireField& field) -> Result<void> {
    if (field.tag == 1) value.name = field.text();
    if (field.tag != 2) return {};
    return for_each_field(field.bytes, [&](const WireField& type) -> Result<void> {
      if (type.tag != 1) return {};
      return for_each_field(type.bytes, [&](const WireField& tensor) -> Result<void> {
        if (tensor.tag == 1) value.data_type = static_cast<int32_t>(tensor.integer());
        if (tensor.tag == 2) {
          QUERN_ASSIGN_OR_RETURN(value.dims, read_shape(tensor.bytes));
        }
        return {};
      });
    });
  });
}

// Fields of GraphProto; unknown ones are skipped, as protocol buffers want it.
Result<void> read_graph(Bytes message, OnnxModel& model) {
  return for_each_field(message, [&](const WireField& field) -> Result<void> {
    switch (field.tag) {
      case 1:
        return read_node(field.bytes, model.nodes.emplace_back());
      case 5: {
        QUERN_ASSIGN_OR_RETURN(OnnxTensor tensor, parse_tensor(field.bytes));
        model.initializers.push_back(std::move(tensor));
        return {};
      }
      case 11:
        return read_value(field.bytes, model.inputs.emplace_back());
      case 12:
        return read_value(field.bytes, model.outputs.emplace_back());
      case 15:
        return fail::unimplemented("The model has sparse initializers, which are not read.");
      default:
        return {};
    }
  });
}

// A domain and its version.
Result<void> read_opset(Bytes message, OnnxModel& model) {
  std::string domain;
  int64_t version = 0;
  QUERN_TRY(for_each_field(message, [&](const WireField& field) -> Result<void> {
    if (field.tag == 1) domain = field.text() == "ai.onnx" ? "" : field.text();
    if (field.tag == 2) version = field.integer();
    return {};
  }));
  model.opsets[domain] = version;
  return {};
}

// Puts the path before an error.
template <class T>
Result<T> with_path(Result<T> result, const std::string& path) {
  if (result) return result;
  return tl::unexpected(result.error().with_context(fmt::format("While reading '{}'", path)));
}

}  // namespace

// Null where there is none.
const OnnxAttribute* OnnxNode::find(std::string_view wanted) const {
  const auto it = std::ranges::find(attributes, wanted, &OnnxAttribute::name);
  return it == attributes.end() ? nullptr : &*it;
}

// 0 where the model does not import the domain.
int64_t OnnxModel::opset(std::string_view domain) const {
  const auto it = opsets.find(domain);
  return it == opsets.end() ? 0 : it->second;
}

// Errors: kInvalidArgument with the offset, for bytes that are no model.
Result<OnnxModel> parse_model(Bytes bytes) {
  OnnxModel model;
  bool has_graph = false;
  QUERN_TRY(for_each_field(bytes, [&](const WireField& field) -> Result<void> {
    if (field.tag == 1) model.ir_version = field.integer();
    if (field.tag == 8) return read_opset(field.bytes, model);
    // ModelProto: ir_version = 1, graph = 7, opset_import = 8; producers and notes are skipped.
    if (field.tag != 7) return {};
    if (has_graph) return fail::invalid("The model has two graphs.");
    has_graph = true;
    return read_graph(field.bytes, model);
  }));
  if (!has_graph) return fail::invalid("The file holds no ONNX model: there is no graph in it.");
  return model;
}

// The same for a file; errors name it.
Result<OnnxModel> read_model(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(path));
  return with_path(parse_model(mapped->bytes()), path);
}

// A TensorProto in a file of its own, as test data have it.
Result<OnnxTensor> read_tensor(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(path));
  return with_path(parse_tensor(mapped->bytes()), path);
}

}  // namespace quern::onnx
