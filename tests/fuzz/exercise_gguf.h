// Everything a program does with a model file that it does not trust.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/check.h"
#include "formats/gguf_reader.h"
#include "formats/model_metadata.h"

namespace quern::test {

// Reads each value through each kind of lookup; the results must be values or errors.
inline void exercise_metadata(const Metadata& metadata) {
  for (int64_t i = 0; i < metadata.size(); ++i) {
    const std::string& key = metadata.key(i);
    static_cast<void>(metadata.integer(key));
    static_cast<void>(metadata.number(key));
    static_cast<void>(metadata.boolean(key));
    static_cast<void>(metadata.text(key));
    static_cast<void>(metadata.integers(key));
    static_cast<void>(metadata.numbers_per_layer(key, 2));
    static_cast<void>(metadata.booleans(key));
    const auto texts = metadata.texts(key);
    for (int64_t t = 0; texts && t < texts->size(); ++t) {
      QUERN_CHECK((*texts)[t].size() <= metadata.value(i).bytes().size());
    }
  }
  QUERN_CHECK(metadata.unread_keys("").empty());
  static_cast<void>(check_model_metadata(metadata));
}

// Parses the bytes and touches all that a good file offers. True: the file was accepted.
inline bool exercise_gguf(std::span<const std::byte> bytes) {
  const auto file = GgufFile::parse(bytes, nullptr);
  if (!file) {
    QUERN_CHECK(!file.error().message.empty());
    return false;
  }
  exercise_metadata((*file)->metadata());
  for (const WeightInfo& info : (*file)->list()) {
    const auto weight = (*file)->weight(info.name);
    if (!weight) continue;  // no big-endian form
    const auto view = weight->host_view();
    QUERN_CHECK(view.has_value() && static_cast<int64_t>(view->size()) >= weight->size_bytes());
    const volatile std::byte first = view->front();
    const volatile std::byte last = view->back();
    static_cast<void>(first);
    static_cast<void>(last);
  }
  return true;
}

}  // namespace quern::test
