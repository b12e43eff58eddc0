// Regular expressions over UTF-8, for pre-tokenizers: PCRE2 with its JIT, behind two classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "quern/error.h"

namespace quern {

// What one match may cost, since patterns backtrack: passing a limit is an error, not a hang.
struct RegexLimits {
  uint32_t match_steps = 50'000'000;          // of one search
  size_t jit_stack_bytes = size_t{32} << 20;  // of one search
  uint32_t heap_kib = 64 << 10;               // of one search without JIT
};

// A compiled pattern. Thread-safe; copies share the program.
//
// Unicode properties and case folding; $ is the end of the text only; \s and \S are the property
// White_Space, as in the engines that the patterns of tokenizers were written for.
class Regex {
 public:
  using Limits = RegexLimits;
  // Errors: kInvalidArgument with the reason and the offset.
  static Result<Regex> compile(std::string_view pattern, const Limits& limits = {});

 private:
  friend class RegexMatcher;
  struct Program;
  // Shares the program.
  explicit Regex(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const Program> program_;
};

// Searches with one Regex; holds the buffers. One thread only.
class RegexMatcher {
 public:
  // Offsets in bytes.
  struct Match {
    size_t begin = 0;
    size_t end = 0;  // > begin: empty matches do not count
    bool found = false;
  };

  // Buffers for one thread; several matchers may share a regex.
  explicit RegexMatcher(const Regex& regex);
  ~RegexMatcher();
  RegexMatcher(RegexMatcher&&) noexcept;

  // The first match that begins at `from` or later. `subject` must be valid UTF-8 (undefined
  // otherwise) and `from` the begin of a character.
  // Errors: kResourceExhausted when a limit of the Regex is reached.
  Result<Match> find(std::string_view subject, size_t from);

 private:
  struct Buffers;
  // find() again, once, where the stack was too small.
  Result<Match> find_with_large_stack(std::string_view subject, size_t from);
  // From the library's code.
  Result<Match> explain(int code, size_t subject_bytes) const;

  // Outlived by nothing: the program is shared.
  std::shared_ptr<const Regex::Program> program_;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace quern
