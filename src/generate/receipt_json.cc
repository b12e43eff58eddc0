// Receipts as JSON: {"quern_receipt": 1, "model": {...}, ..., "digests": {"model": "...", ...}}.
// Every part has a digest, which finds changes before anything runs; it is no signature.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "generate/receipt.h"

namespace quern {
namespace {

using nlohmann::ordered_json;

// Raised whenever a reader would understand a receipt differently.
constexpr int kFormatVersion = 1;
// Larger files are refused before they are parsed.
// A step takes about 50 bytes: room for millions.
constexpr size_t kMaxReceiptBytes = size_t{256} << 20;
// Each has a digest.
constexpr std::array<std::string_view, 8> kParts = {"made_by", "model",  "operations", "options",
                                                    "sampler", "prompt", "tokens",     "logits"};

// Of the text as this library prints it: order and spaces count.
std::string digest_of(const ordered_json& part) {
  return Sha256()
      // Paths may hold bytes that are no UTF-8; dump() would throw.
      .update(part.dump(-1, ' ', false, ordered_json::error_handler_t::replace))
      .hex_digest();
}

// Writing --------------------------------------------------------------------------------------

// Files and graph.
ordered_json model_json(const Receipt& receipt) {
  auto files = ordered_json::array();
  for (const ReceiptFile& file : receipt.files) {
    ordered_json entry = {{"path", file.path}, {"sha256", file.sha256}};
    // Written only where it says something, so that receipts without adapters stay as they were.
    if (file.scale != 1) entry["scale"] = file.scale;
    files.push_back(std::move(entry));
  }
  return {{"architecture", receipt.architecture},
          {"files", std::move(files)},
          {"model_files", receipt.num_model_files},
          {"graph", fmt::format("{:016x}", receipt.graph_hash)}};
}

ordered_json override_json(const MetadataValue& value) {
  if (value.type() == MetadataType::kString) return std::string(value.text_at(0).value_or(""));
  // Before number_at: 10000 and 10000.0 differ in type, and the type is part of the override.
  if (const auto integer = value.integer_at(0)) return *integer;
  return value.number_at(0).value_or(0);
}

// What the model was built and run with.
ordered_json options_json(const Receipt& receipt) {
  ordered_json overrides = ordered_json::object();
  for (const MetadataOverride& item : receipt.overrides) {
    overrides[item.key] = override_json(item.value);
  }
  return {{"numerics", "strict"},
          {"activations", activations_name(receipt.activations)},
          {"cache_type_k", dtype_name(receipt.key_type)},
          {"cache_type_v", dtype_name(receipt.value_type)},
          {"overrides", std::move(overrides)}};
}

// "15+1.5", "15-inf": the command line's form, which holds infinities too.
ordered_json biases_json(const std::vector<LogitBias>& biases) {
  auto list = ordered_json::array();
  // The sign always: "15+1.5" is the flag's form.
  for (const LogitBias& bias : biases) list.push_back(fmt::format("{}{:+}", bias.token, bias.bias));
  return list;
}

// Each option by the name of its flag.
ordered_json sampler_json(const SamplerOptions& o) {
  return {{"temperature", o.temperature},
          {"top_k", o.top_k},
          {"top_p", o.top_p},
          {"min_p", o.min_p},
          {"seed", o.seed},
          {"typical_p", o.typical_p},
          {"top_n_sigma", o.top_n_sigma},
          {"repeat_penalty", o.penalties.repeat},
          {"frequency_penalty", o.penalties.frequency},
          {"presence_penalty", o.penalties.presence},
          {"penalty_window", o.penalties.window},
          {"dry_multiplier", o.dry.multiplier},
          {"dry_base", o.dry.base},
          {"dry_allowed_length", o.dry.allowed_length},
          {"dry_range", o.dry.range},
          // Breakers are thousands of tokens; they count only where DRY does.
          // The same rule holds for the sampler: without a multiplier there is no DRY stage.
          {"dry_breakers", o.dry.multiplier == 0 ? std::vector<int32_t>{} : o.dry_breakers},
          {"xtc_probability", o.xtc.probability},
          {"xtc_threshold", o.xtc.threshold},
          {"mirostat", o.mirostat.version},
          {"mirostat_tau", o.mirostat.tau},
          {"mirostat_eta", o.mirostat.eta},
          {"dynamic_temperature_range", o.dynamic_temperature.range},
          {"dynamic_temperature_exponent", o.dynamic_temperature.exponent},
          {"logit_bias", biases_json(o.logit_bias)},
          {"order", sampler_order_text(o.order)}};
}

// Reading --------------------------------------------------------------------------------------

// Typed members of one object; the first error is kept.
class Reader {
 public:
  // Borrows the object; `what` begins the sentences of errors.
  Reader(const ordered_json& object, std::string what) : object_(object), what_(std::move(what)) {}

  // Notes an error where it is missing.
  const ordered_json* member(const char* name) {
    known_.emplace(name);
    if (object_.is_object()) {
      if (const auto it = object_.find(name); it != object_.end()) return &*it;
    }
    // Members are required, all of them: a missing one would take a default that the run did not
    // have.
    refuse(name, "is missing");
    return nullptr;
  }
  // Each read() leaves the target alone where the member does not fit.
  void read(const char* name, double& value) {
    if (const auto* json = member(name)) {
      json->is_number() ? void(value = json->get<double>()) : refuse(name, "is not a number");
    }
  }
  template <std::integral T>
  void read(const char* name, T& value) {
    const auto* json = member(name);
    if (json == nullptr) return;
    // 3e9 is an integer of JSON and no int32.
    if (!json->is_number_integer() || !fits<T>(*json))
      return refuse(name, "is not such an integer");
    value = json->get<T>();
  }
  void read(const char* name, std::string& value) {
    if (const auto* json = member(name)) {
      json->is_string() ? void(value = json->get<std::string>()) : refuse(name, "is not text");
    }
  }
  // A list of integers or texts.
  template <class T>
  void read(const char* name, std::vector<T>& values) {
    const auto* json = member(name);
    if (json == nullptr) return;
    if (!json->is_array()) return refuse(name, "is not a list");
    for (const ordered_json& item : *json) {
      if constexpr (std::integral<T>) {
        if (!item.is_number_integer() || !fits<T>(item))
          return refuse(name, "holds no such integer");
      } else {
        if (!item.is_string()) return refuse(name, "holds something that is not text");
      }
      values.push_back(item.template get<T>());
    }
  }
  // The first one is kept.
  void refuse(const char* name, std::string_view why) {
    if (!error_)
      error_ = Error{ErrorCode::kInvalidArgument,
                     fmt::format("The receipt's {} '{}' {}.", what_, name, why)};
  }
  // The first error, after all members were looked at.
  Result<void> finish() const {
    if (error_) return tl::unexpected(*error_);
    return {};
  }
  // The same for an object that holds nothing else: a member that nobody looked at would say
  // something unchecked.
  Result<void> finish_whole() const {
    QUERN_TRY(finish());
    if (!object_.is_object()) return {};
    for (const auto& [key, value] : object_.items()) {
      if (!known_.contains(key)) {
        return fail::invalid("The receipt's {} '{}' is unknown.", what_, key);
      }
    }
    return {};
  }

 private:
  // Within the range of T.
  template <class T>
  static bool fits(const ordered_json& json) {
    // Numbers above 2^63 are unsigned in the library; get<int64_t> would wrap them.
    if (json.is_number_unsigned()) return std::in_range<T>(json.get<uint64_t>());
    return std::in_range<T>(json.get<int64_t>());
  }

  const ordered_json& object_;
  std::string what_;
  std::optional<Error> error_;
  std::set<std::string, std::less<>> known_;
};

// Errors name the member.
Result<void> read_model(const ordered_json& json, Receipt& receipt) {
  Reader reader(json, "model");
  std::string graph;
  reader.read("architecture", receipt.architecture);
  reader.read("model_files", receipt.num_model_files);
  reader.read("graph", graph);
  const ordered_json* files = reader.member("files");
  if (files != nullptr && files->is_array()) {
    for (const ordered_json& entry : *files) {
      Reader file_reader(entry, "file");
      ReceiptFile file;
      file_reader.read("path", file.path);
      file_reader.read("sha256", file.sha256);
      if (entry.contains("scale")) file_reader.read("scale", file.scale);
      QUERN_TRY(file_reader.finish_whole());
      receipt.files.push_back(std::move(file));
    }
  }
  const auto [end, code] =
      std::from_chars(graph.data(), graph.data() + graph.size(), receipt.graph_hash, 16);
  // Also for a graph that is missing: the empty text is no number.
  if (code != std::errc{} || end != graph.data() + graph.size())
    reader.refuse("graph", "is no hash");
  // check_receipt() takes files.front() without looking.
  if (receipt.num_model_files < 1 || receipt.num_model_files > receipt.files.size()) {
    reader.refuse("model_files", "does not fit the files");
  }
  return reader.finish_whole();
}

// Overrides are written as i64; a larger number was never one.
bool is_beyond_int64(const ordered_json& value) {
  return value.is_number_unsigned() && !std::in_range<int64_t>(value.get<uint64_t>());
}

Result<void> read_overrides(const ordered_json& json, Receipt& receipt) {
  if (!json.is_object())
    return fail::invalid("The receipt's options 'overrides' is not an object.");
  for (const auto& [key, value] : json.items()) {
    MetadataOverride item{key, {}};
    if (value.is_string()) {
      item.value = MetadataValue::text(value.get<std::string>());
    } else if (value.is_number_integer() && !is_beyond_int64(value)) {
      item.value = MetadataValue::number(value.get<int64_t>());
    } else if (value.is_number_float()) {
      item.value = MetadataValue::number(value.get<double>());
    } else {
      return fail::invalid("The receipt's override '{}' is no number and no text.", key);
    }
    receipt.overrides.push_back(std::move(item));
  }
  return {};
}

// Words are looked up, numbers checked.
Result<void> read_options(const ordered_json& json, Receipt& receipt) {
  Reader reader(json, "options");
  std::string numerics, activations, key_type, value_type;
  reader.read("numerics", numerics);
  reader.read("activations", activations);
  reader.read("cache_type_k", key_type);
  reader.read("cache_type_v", value_type);
  const ordered_json* overrides = reader.member("overrides");
  // Before the words are looked up: an absent word has an error of its own already.
  QUERN_TRY(reader.finish_whole());
  if (numerics != "strict") reader.refuse("numerics", "is not strict");
  const auto found = find_activations(activations);
  if (!found || *found == Activations::kAuto) reader.refuse("activations", "is not known");
  if (!find_dtype(key_type)) reader.refuse("cache_type_k", "is no dtype");
  if (!find_dtype(value_type)) reader.refuse("cache_type_v", "is no dtype");
  QUERN_TRY(reader.finish_whole());
  receipt.activations = *found;
  receipt.key_type = *find_dtype(key_type);
  receipt.value_type = *find_dtype(value_type);
  return read_overrides(*overrides, receipt);
}

// The options must pass check_sampler_options().
Result<void> read_sampler(const ordered_json& json, SamplerOptions& o) {
  Reader reader(json, "sampler");
  std::vector<std::string> biases;
  std::string order;
  reader.read("temperature", o.temperature);
  reader.read("top_k", o.top_k);
  reader.read("top_p", o.top_p);
  reader.read("min_p", o.min_p);
  reader.read("seed", o.seed);
  reader.read("typical_p", o.typical_p);
  reader.read("top_n_sigma", o.top_n_sigma);
  reader.read("repeat_penalty", o.penalties.repeat);
  reader.read("frequency_penalty", o.penalties.frequency);
  reader.read("presence_penalty", o.penalties.presence);
  reader.read("penalty_window", o.penalties.window);
  reader.read("dry_multiplier", o.dry.multiplier);
  reader.read("dry_base", o.dry.base);
  reader.read("dry_allowed_length", o.dry.allowed_length);
  reader.read("dry_range", o.dry.range);
  reader.read("dry_breakers", o.dry_breakers);
  reader.read("xtc_probability", o.xtc.probability);
  reader.read("xtc_threshold", o.xtc.threshold);
  reader.read("mirostat", o.mirostat.version);
  reader.read("mirostat_tau", o.mirostat.tau);
  reader.read("mirostat_eta", o.mirostat.eta);
  reader.read("dynamic_temperature_range", o.dynamic_temperature.range);
  reader.read("dynamic_temperature_exponent", o.dynamic_temperature.exponent);
  reader.read("logit_bias", biases);
  reader.read("order", order);
  QUERN_TRY(reader.finish_whole());
  for (const std::string& text : biases) {
    QUERN_ASSIGN_OR_RETURN(const LogitBias bias, parse_logit_bias(text));
    o.logit_bias.push_back(bias);
  }
  QUERN_ASSIGN_OR_RETURN(o.order, parse_sampler_order(order));
  return check_sampler_options(o);
}

// Lists that belong together must agree in length.
Result<void> read_steps(const ordered_json& json, Receipt& receipt) {
  Reader reader(json, "part");
  reader.read("prompt", receipt.prompt);
  reader.read("tokens", receipt.tokens);
  reader.read("logits", receipt.logits);
  // The last token of the prompt gives the first logits.
  if (receipt.prompt.empty()) reader.refuse("prompt", "has no token");
  if (receipt.logits.size() != receipt.tokens.size())
    reader.refuse("logits", "does not fit the tokens");
  return reader.finish();
}

// Where the run was.
Result<void> read_made_by(const ordered_json& json, Receipt& receipt) {
  Reader reader(json, "made_by");
  reader.read("quern", receipt.quern_version);
  reader.read("device", receipt.device);
  reader.read("arch", receipt.arch);
  reader.read("threads", receipt.threads);
  return reader.finish_whole();
}

// Any operations: check_receipt() compares them.
Result<void> read_operations(const ordered_json& json, Receipt& receipt) {
  if (!json.is_object()) return fail::invalid("The receipt's operations are not an object.");
  Reader reader(json, "operation");
  for (const auto& [id, version] : json.items()) reader.read(id.c_str(), receipt.operations[id]);
  return reader.finish_whole();
}

// A member that no reader looks at has no digest either: it would say something unchecked.
Result<void> check_keys(const ordered_json& json) {
  for (const auto& [key, value] : json.items()) {
    const bool is_part = std::ranges::find(kParts, key) != kParts.end();
    if (is_part || key == "quern_receipt" || key == "digests") continue;
    return fail::invalid(
        "The receipt has the unknown key '{}'; its keys are quern_receipt, {} and digests.", key,
        fmt::join(kParts, ", "));
  }
  return {};
}

// Every part is there and as it was written, and so are the digests: one for each part.
Result<void> check_digests(const ordered_json& json) {
  const auto digests = json.find("digests");
  for (const std::string_view part : kParts) {
    const auto content = json.find(part);
    if (content == json.end()) return fail::invalid("The receipt has no '{}'.", part);
    const bool has_digest = digests != json.end() && digests->is_object() &&
                            digests->contains(part) && (*digests)[part].is_string();
    if (!has_digest) return fail::invalid("The receipt has no digest of '{}'.", part);
    // The part is printed again, so that a change of spaces is none, but the order of members
    // counts.
    if ((*digests)[part].get<std::string>() == digest_of(*content)) continue;
    return fail::data_loss(
        "The receipt's '{}' do not match their digest: the receipt was changed after the run.",
        part);
  }
  for (const auto& [key, value] : digests->items()) {
    if (std::ranges::find(kParts, key) == kParts.end()) {
      return fail::invalid("The receipt has a digest of '{}', which is no part of it.", key);
    }
  }
  return {};
}

}  // namespace

// Two receipts with the same content are the same text.
std::string receipt_to_json(const Receipt& receipt) {
  ordered_json json = {{"quern_receipt", kFormatVersion},
                       {"made_by",
                        {{"quern", receipt.quern_version},
                         {"device", receipt.device},
                         {"arch", receipt.arch},
                         {"threads", receipt.threads}}},
                       {"model", model_json(receipt)},
                       {"operations", receipt.operations},
                       {"options", options_json(receipt)},
                       {"sampler", sampler_json(receipt.sampler)},
                       {"prompt", receipt.prompt},
                       {"tokens", receipt.tokens},
                       {"logits", receipt.logits}};
  ordered_json digests = ordered_json::object();
  for (const std::string_view part : kParts) digests[part] = digest_of(json[part]);
  json["digests"] = std::move(digests);
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

// Version, digests, then content.
Result<Receipt> parse_receipt(std::string_view text) {
  // No exceptions: a text that is no JSON gives a discarded value.
  std::vector<std::set<std::string>> keys;  // of the objects around the text that is read
  std::string twice;
  const auto note_keys = [&](int, ordered_json::parse_event_t event, const ordered_json& value) {
    if (event == ordered_json::parse_event_t::object_start) keys.emplace_back();
    if (event == ordered_json::parse_event_t::object_end) keys.pop_back();
    if (event == ordered_json::parse_event_t::key &&
        !keys.back().insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  const ordered_json json = ordered_json::parse(text, note_keys, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("quern_receipt")) {
    return fail::invalid("It is not a receipt: a JSON object with 'quern_receipt' is expected.");
  }
  if (!twice.empty()) return fail::invalid("The receipt has the key '{}' twice.", twice);
  Reader reader(json, "format");
  int version = 0;
  reader.read("quern_receipt", version);
  QUERN_TRY(reader.finish());
  if (version != kFormatVersion) {
    return fail::unimplemented("The receipt has version {}; this build reads version {}.", version,
                               kFormatVersion);
  }
  QUERN_TRY(check_keys(json));
  QUERN_TRY(check_digests(json));
  Receipt receipt;
  QUERN_TRY(read_made_by(json["made_by"], receipt));
  QUERN_TRY(read_model(json["model"], receipt));
  QUERN_TRY(read_operations(json["operations"], receipt));
  QUERN_TRY(read_options(json["options"], receipt));
  QUERN_TRY(read_sampler(json["sampler"], receipt.sampler));
  QUERN_TRY(read_steps(json, receipt));
  return receipt;
}

// Replaces an older file only when it is whole.
Result<void> write_receipt(const std::string& path, const Receipt& receipt) {
  QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  QUERN_TRY(file.write(receipt_to_json(receipt)));
  return file.commit();
}

// Errors name the path.
Result<Receipt> read_receipt(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(path));
  const auto bytes = mapped->bytes();
  if (bytes.size() > kMaxReceiptBytes) {
    return fail::invalid("'{}' has {} bytes; a receipt has at most {}.", path, bytes.size(),
                         kMaxReceiptBytes);
  }
  auto receipt = parse_receipt({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!receipt) {
    return tl::unexpected(receipt.error().with_context(fmt::format("While reading '{}'", path)));
  }
  return receipt;
}

}  // namespace quern
