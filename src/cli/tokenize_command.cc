// quern tokenize and quern detokenize.
// Both need the vocabulary alone; weights are never touched.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/text_file.h"
#include "cli/token_list.h"
#include "formats/gguf_reader.h"
#include "text/tokenizer.h"
#include "text/utf8.h"
#include "text/vocabulary_reader.h"

namespace quern::cli {
namespace {

// The options of quern tokenize.
struct TokenizeFlags {
  std::string model;
  std::string text;
  std::string file;
  bool is_json = false;
  bool no_special = false;
  bool parse_special = false;
};

// The options of quern detokenize.
struct DetokenizeFlags {
  std::string model;
  std::vector<std::string> ids;
  bool keeps_special = false;
};

// The tokenizer of a model file; its weights are not touched.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto file, GgufFile::open(path));
  QUERN_ASSIGN_OR_RETURN(Vocabulary vocabulary, read_vocabulary(file->metadata()));
  return make_tokenizer(std::move(vocabulary));
}

// Needs the vocabulary only.
Result<void> tokenize(const TokenizeFlags& flags, bool has_file) {
  QUERN_ASSIGN_OR_RETURN(const auto tokenizer, open_tokenizer(flags.model));
  std::string text = flags.text;
  if (has_file) {
    QUERN_ASSIGN_OR_RETURN(text, read_text_file(flags.file));
  }
  EncodeOptions options;
  options.add_special = !flags.no_special;
  options.parse_special = flags.parse_special;
  QUERN_ASSIGN_OR_RETURN(const auto ids, tokenizer->encode(text, options));
  if (!flags.is_json) {
    fmt::print("{}\n", fmt::join(ids, " "));
    return {};
  }
  nlohmann::json pieces = nlohmann::json::array();
  for (const int32_t id : ids) {
    pieces.push_back(
        // A token may be a part of a character, which JSON cannot hold.
        {{"id", id}, {"text", replace_invalid_utf8(std::string(tokenizer->token_bytes(id)))}});
  }
  fmt::print("{}\n", nlohmann::json{{"ids", ids}, {"tokens", pieces}}.dump());
  return {};
}

// Ids outside of the vocabulary are errors, not blanks.
Result<void> detokenize(const DetokenizeFlags& flags) {
  QUERN_ASSIGN_OR_RETURN(const auto tokenizer, open_tokenizer(flags.model));
  QUERN_ASSIGN_OR_RETURN(const auto ids,
                         // Arguments "1" "2,3" and "[4]" are one list.
                         parse_token_list(fmt::format("{}", fmt::join(flags.ids, " "))));
  for (const int32_t id : ids) {
    if (id >= tokenizer->vocab_size()) {
      return fail::out_of_range("Token {} is outside the vocabulary of {}.", id,
                                tokenizer->vocab_size());
    }
  }
  DecodeOptions options;
  options.skip_special = !flags.keeps_special;
  fmt::print("{}\n", tokenizer->decode(ids, options));
  return {};
}

}  // namespace

// The text comes as an argument or from a file.
void set_up_tokenize(OptionSet& command, Action& action) {
  auto flags = std::make_shared<TokenizeFlags>();
  command.add_option("MODEL", flags->model, "GGUF file").required();
  OptionSet input = command.add_choice("input", "What to tokenize");
  input.add_option("TEXT", flags->text, "Text");
  const Option file = input.add_option("--file", flags->file, "File with the text");
  command.add_flag("--json", flags->is_json, "Ids with their text as JSON");
  command.add_flag("--no-special", flags->no_special, "Add no begin or end token");
  command.add_flag("--parse-special", flags->parse_special,
                   "Read control tokens such as <|im_end|> in the text");
  command.footer("Example:\n  quern tokenize model.gguf 'Hello, world' --json");
  action = [flags, file] { return tokenize(*flags, file.is_given()); };
}

// Ids in the forms that tokenize prints.
void set_up_detokenize(OptionSet& command, Action& action) {
  auto flags = std::make_shared<DetokenizeFlags>();
  command.add_option("MODEL", flags->model, "GGUF file").required();
  command.add_option("IDS", flags->ids, "Token ids: 1,2,3 or 1 2 3").required();
  command.add_flag("--special", flags->keeps_special, "Show control tokens by name");
  command.footer("Example:\n  quern detokenize model.gguf 19556,28,905");
  action = [flags] { return detokenize(*flags); };
}

}  // namespace quern::cli
