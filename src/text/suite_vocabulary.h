// Test support: the tokenizers of the vocabularies in the suites.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "formats/gguf_reader.h"
#include "text/tokenizer.h"
#include "text/vocabulary_reader.h"

namespace quern {

// Of a file in the suites of test data.
inline std::string suite_path(const std::string& name) {
  return std::string(QUERN_SUITES_DIR) + "/" + name;
}

// The vocabulary of a file that holds nothing else. Errors: those of reading it.
inline Result<Vocabulary> load_vocabulary(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto file, GgufFile::open(path));
  return read_vocabulary(file->metadata());
}

// Null, with a failure reported, when the file cannot be used.
inline std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  auto vocabulary = load_vocabulary(path);
  if (!vocabulary) {
    ADD_FAILURE() << path << ": " << vocabulary.error().message;
    return nullptr;
  }
  auto tokenizer = make_tokenizer(std::move(*vocabulary));
  if (!tokenizer) {
    ADD_FAILURE() << path << ": " << tokenizer.error().message;
    return nullptr;
  }
  return std::move(*tokenizer);
}

}  // namespace quern
