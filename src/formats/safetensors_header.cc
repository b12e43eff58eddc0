// Header of safetensors files, parsed event by event: no tree of untrusted JSON is built.
// Offsets must tile the data without gaps, as the format demands.
#include "formats/safetensors_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "formats/byte_cursor.h"

namespace quern::safetensors {
namespace {

using nlohmann::json;

// Texts of whoever wrote the file; not a tensor.
constexpr std::string_view kMetadataKey = "__metadata__";
// Names of types in the format.
constexpr std::array kElementTypes = {
    ElementType{"BOOL", 8, DType::kU8, true},  ElementType{"F4", 4, std::nullopt},
    ElementType{"F6_E2M3", 6, std::nullopt},   ElementType{"F6_E3M2", 6, std::nullopt},
    ElementType{"U8", 8, DType::kU8},          ElementType{"I8", 8, DType::kI8},
    ElementType{"F8_E5M2", 8, DType::kF8E5M2}, ElementType{"F8_E4M3", 8, DType::kF8E4M3},
    ElementType{"F8_E8M0", 8, std::nullopt},   ElementType{"I16", 16, DType::kI16},
    ElementType{"U16", 16, DType::kU16},       ElementType{"F16", 16, DType::kF16},
    ElementType{"BF16", 16, DType::kBF16},     ElementType{"I32", 32, DType::kI32},
    ElementType{"U32", 32, DType::kU32},       ElementType{"F32", 32, DType::kF32},
    ElementType{"C64", 64, DType::kComplex64}, ElementType{"F64", 64, DType::kF64},
    ElementType{"I64", 64, DType::kI64},       ElementType{"U64", 64, DType::kU64},
};

// Takes the events of nlohmann's parser. Depth 1 is the file's object, depth 2 a tensor or the
// metadata, an array its shape or offsets. Every event returns false after an error, which stops
// the parser.
class HeaderEvents final : public json::json_sax_t {
 public:
  // Receives the events of the JSON parser: no tree of hostile JSON is ever built.
  explicit HeaderEvents(Header& header) : header_(header) {}
  // The first thing that does not fit.
  const std::string& error() const { return error_; }

  // Events that never fit, whatever the place.
  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_float(number_float_t, const string_t&) override { return unexpected("a fraction"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }
  bool number_integer(number_integer_t value) override {
    return refuse(fmt::format("{} holds {}; it cannot be negative.", place(), value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!in_array_) return unexpected("a number");
    // A longer list is never needed; the check keeps hostile lists short.
    if (numbers_.size() > kMaxRank) return refuse(place() + " has more than 8 numbers.");
    if (value > static_cast<uint64_t>(INT64_MAX))
      return refuse(place() + " holds a number over 2^63.");
    numbers_.push_back(static_cast<int64_t>(value));
    return true;
  }
  bool string(string_t& value) override {
    if (depth_ == 2 && in_metadata_) {
      header_.metadata.emplace(std::move(field_), std::move(value));
      return true;
    }
    if (depth_ != 2 || field_ != "dtype") return unexpected("text");
    entry_.type = find_element_type(value);
    if (entry_.type != nullptr) return true;
    return refuse(fmt::format("Tensor '{}' has the unknown dtype '{}'.", entry_.name,
                              std::string_view(value).substr(0, 32)));
  }
  bool start_object(std::size_t) override {
    if (depth_ == 2 || in_array_) return unexpected("an object");
    if (++depth_ == 2) fields_.clear();
    return true;
  }
  bool key(string_t& name) override { return depth_ == 1 ? tensor_key(name) : field_key(name); }
  bool end_object() override {
    // Leaving the file's object, or the metadata: nothing has to be complete there.
    if (depth_-- == 1 || in_metadata_) {
      in_metadata_ = false;
      return true;
    }
    return finish_entry();
  }
  bool start_array(std::size_t) override {
    const bool is_known = field_ == "shape" || field_ == "data_offsets";
    if (depth_ != 2 || in_metadata_ || in_array_ || !is_known) return unexpected("a list");
    in_array_ = true;
    numbers_.clear();
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    if (field_ == "shape") {
      const auto shape = Shape::make(numbers_);
      if (!shape) return refuse(fmt::format("{}: {}", place(), shape.error().message));
      entry_.shape = *shape;
      return true;
    }
    if (numbers_.size() != 2) {
      return refuse(fmt::format("{} has {} numbers; it needs 2.", place(), numbers_.size()));
    }
    entry_.begin = numbers_[0];
    entry_.end = numbers_[1];
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    return refuse(fmt::format("The header is no JSON at its byte {}.", position));
  }

 private:
  // Keeps the first error and ends parsing.
  bool refuse(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    return false;
  }
  // "... is not expected here".
  bool unexpected(std::string_view what) {
    return refuse(fmt::format("{} holds {} out of place.", place(), what));
  }
  // Where in the header, for errors.
  std::string place() const {
    if (depth_ < 2) return "The header";
    if (in_metadata_) return fmt::format("The metadata '{}'", field_);
    return fmt::format("Tensor '{}', '{}',", entry_.name, field_);
  }
  // The name of a tensor. Errors: twice.
  bool tensor_key(string_t& name) {
    if (!names_.insert(name).second)
      return refuse(fmt::format("The name '{}' is used twice.", name));
    in_metadata_ = name == kMetadataKey;
    entry_ = {};
    entry_.name = std::move(name);
    return true;
  }
  // dtype, shape or data_offsets. Errors: another one, or twice.
  bool field_key(string_t& name) {
    field_ = std::move(name);
    const bool is_known =
        in_metadata_ || field_ == "dtype" || field_ == "shape" || field_ == "data_offsets";
    if (!is_known) return refuse(place() + " is an unknown key.");
    if (!fields_.insert(field_).second) return refuse(place() + " is there twice.");
    return true;
  }
  // All three must be there, and fit each other.
  bool finish_entry() {
    if (fields_.size() != 3) {
      return refuse(
          fmt::format("Tensor '{}' needs 'dtype', 'shape' and 'data_offsets'.", entry_.name));
    }
    header_.entries.push_back(std::move(entry_));
    return true;
  }

  Header& header_;
  std::set<std::string, std::less<>> names_;   // of the file's object
  std::set<std::string, std::less<>> fields_;  // of the current tensor or the metadata
  Entry entry_;
  std::string field_;
  std::vector<int64_t> numbers_;
  int depth_ = 0;
  bool in_metadata_ = false;
  bool in_array_ = false;
  std::string error_;
};

// The offsets must span exactly what dtype and shape need.
Result<void> check_entry_size(const Entry& entry) {
  // In bits, since F4 and the F6 kinds are no whole bytes.
  const auto bits = checked_multiply(entry.shape.num_elements(), entry.type->bits);
  if (!bits || *bits % 8 != 0) {
    return fail::invalid("Tensor '{}' of shape {} and dtype {} has no size in whole bytes.",
                         entry.name, entry.shape.to_string(), entry.type->name);
  }
  if (entry.end < entry.begin || entry.end - entry.begin != *bits / 8) {
    return fail::invalid(
        "Tensor '{}' of shape {} and dtype {} needs {} bytes; its offsets are {} to {}.",
        entry.name, entry.shape.to_string(), entry.type->name, *bits / 8, entry.begin, entry.end);
  }
  return {};
}

// The tensors cover the data from first to last byte, each byte once.
Result<void> check_places(Header& header, int64_t data_size) {
  for (const Entry& entry : header.entries) QUERN_TRY(check_entry_size(entry));
  std::ranges::stable_sort(header.entries, [](const Entry& a, const Entry& b) {
    // By the end too: an empty tensor [4, 4] stands before one that begins at 4.
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t covered = 0;
  for (const Entry& entry : header.entries) {
    if (entry.end > data_size) {
      return fail::data_loss("Tensor '{}' ends at byte {} of the data; the file holds {}.",
                             entry.name, entry.end, data_size);
    }
    // Gaps are refused too, as the format demands: a file with hidden bytes could be two formats at
    // once.
    if (entry.begin != covered) {
      return fail::invalid("Tensor '{}' begins at byte {} of the data; the one before ends at {}.",
                           entry.name, entry.begin, covered);
    }
    covered = entry.end;
  }
  if (covered == data_size) return {};
  return fail::invalid("The tensors cover {} bytes of the data; the file holds {}.", covered,
                       data_size);
}

}  // namespace

// Null for names that are not known.
const ElementType* find_element_type(std::string_view name) {
  const auto* type = std::ranges::find(kElementTypes, name, &ElementType::name);
  return type == kElementTypes.end() ? nullptr : type;
}

// Null for types that files cannot have.
const ElementType* find_element_type(DType dtype, bool is_bool) {
  const auto* type = std::ranges::find_if(kElementTypes, [&](const ElementType& candidate) {
    return candidate.dtype == dtype && candidate.is_bool == is_bool;
  });
  return type == kElementTypes.end() ? nullptr : type;
}

// Errors: sizes, JSON, tensors that overlap or leave gaps.
Result<Header> read_header(std::span<const std::byte> file) {
  ByteCursor cursor(file);
  uint64_t length = 0;
  if (!cursor.take_number(length)) {
    return fail::data_loss("The file has {} bytes; a safetensors file has 8 and more.",
                           file.size());
  }
  if (length > kMaxHeaderBytes) {
    return fail::invalid("The header has {} bytes; the limit is {}. Is it a safetensors file?",
                         length, kMaxHeaderBytes);
  }
  std::string_view text;
  if (!cursor.take_bytes(static_cast<size_t>(length), text)) {
    return fail::data_loss("The header has {} bytes; {} remain.", length, cursor.remaining());
  }
  // The format demands it; a JSON parser alone would take blanks before it.
  if (!text.starts_with('{')) return fail::invalid("The header does not begin with '{{'.");
  Header header;
  HeaderEvents events(header);
  if (!json::sax_parse(text, &events)) return fail::invalid("{}", events.error());
  header.data_start = static_cast<int64_t>(cursor.offset());
  QUERN_TRY(check_places(header, static_cast<int64_t>(cursor.remaining())));
  return header;
}

// JSON padded with blanks, so that the data are aligned to 8 bytes.
Result<std::string> make_header(const Header& header) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) json[kMetadataKey] = header.metadata;
  for (const Entry& entry : header.entries) {
    json[entry.name] = {
        {"dtype", entry.type->name},
        {"shape", std::vector<int64_t>(entry.shape.dims().begin(), entry.shape.dims().end())},
        {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text;
  try {
    text = json.dump();  // throws for text that is no UTF-8, and for nothing else
  } catch (const json::exception&) {
    return fail::invalid("A tensor's name or the metadata is not valid UTF-8.");
  }
  text.resize(static_cast<size_t>(round_up(static_cast<int64_t>(text.size()), 8)), ' ');
  std::string bytes;
  // The size counts the padding blanks as a part of the text.
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return bytes + text;
}

}  // namespace quern::safetensors
