// The wrapper of PCRE2. Small searches run on the machine stack; the rare deep one gets a JIT stack
// of its own, up to the limit.
#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <utility>

#include "base/fail.h"

namespace quern {
namespace {

// Of what the C library gave.
struct Free {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};
// Owns one of them.
template <class T>
using Owned = std::unique_ptr<T, Free>;

// Texts were checked to be UTF-8, and an empty match would never end a split.
constexpr uint32_t kMatchOptions = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;

// The library's sentence on an error code.
std::string text_of_error(int code) {
  PCRE2_UCHAR text[256];
  if (pcre2_get_error_message(code, text, sizeof text) < 0) return "unknown error";
  return reinterpret_cast<const char*>(text);
}

// PCRE2's own \s has U+180E besides White_Space.
std::string with_exact_white_space(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    // An escaped backslash is copied with its partner: an s behind it is a letter.
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's') {
      out += "\\p{White_Space}";
    } else if (escaped == 'S') {
      out += "\\P{White_Space}";
    } else {
      out += {'\\', escaped};
    }
  }
  return out;
}

}  // namespace

// Compiled code with its limits; immutable once made.
struct Regex::Program {
  std::string pattern;
  Limits limits;
  Owned<pcre2_code> code;
  Owned<pcre2_match_context> context;  // the limits; shared by all threads, never changed
  bool has_jit = false;
};

// Compiles to machine code where the host allows it; else the interpreter runs it.
Result<Regex> Regex::compile(std::string_view pattern, const Limits& limits) {
  auto program = std::make_shared<Program>();
  program->pattern = pattern;
  program->limits = limits;
  const std::string source = with_exact_white_space(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  program->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(),
                                    PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &error, &offset,
                                    nullptr));
  if (!program->code) {
    return fail::invalid("Pattern '{}' does not compile: {} at offset {}.", source,
                         text_of_error(error), offset);
  }
  program->has_jit = pcre2_jit_compile(program->code.get(), PCRE2_JIT_COMPLETE) == 0;
  program->context.reset(pcre2_match_context_create(nullptr));
  if (!program->context) return fail::exhausted("No memory for the pattern '{}'.", pattern);
  pcre2_set_match_limit(program->context.get(), limits.match_steps);
  pcre2_set_heap_limit(program->context.get(), limits.heap_kib);
  return Regex(std::move(program));
}

// What one thread needs to match.
struct RegexMatcher::Buffers {
  Owned<pcre2_match_data> data;
  // Only after a search that was too deep for the machine stack.
  Owned<pcre2_jit_stack> stack;
  Owned<pcre2_match_context> context;
};

// Made once; matching allocates nothing.
RegexMatcher::RegexMatcher(const Regex& regex)
    : program_(regex.program_), buffers_(std::make_unique<Buffers>()) {
  buffers_->data.reset(pcre2_match_data_create_from_pattern(program_->code.get(), nullptr));
}
RegexMatcher::~RegexMatcher() = default;
RegexMatcher::RegexMatcher(RegexMatcher&&) noexcept = default;

// From a byte offset that begins a character. Errors: a limit that the pattern passed on this text.
Result<RegexMatcher::Match> RegexMatcher::find(std::string_view subject, size_t from) {
  if (!buffers_->data) return fail::exhausted("No memory to search '{}'.", program_->pattern);
  const auto* text = reinterpret_cast<PCRE2_SPTR>(subject.data());
  const auto search = program_->has_jit ? pcre2_jit_match : pcre2_match;
  pcre2_match_context* context =
      buffers_->context ? buffers_->context.get() : program_->context.get();
  const int code = search(program_->code.get(), text, subject.size(), from, kMatchOptions,
                          buffers_->data.get(), context);
  if (code == PCRE2_ERROR_NOMATCH) return Match{};
  if (code == PCRE2_ERROR_JIT_STACKLIMIT && !buffers_->stack) {
    return find_with_large_stack(subject, from);
  }
  if (code < 0) return explain(code, subject.size());
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(buffers_->data.get());
  return Match{offsets[0], offsets[1], true};
}

// Machine code begins with a small stack; hard texts need more.
Result<RegexMatcher::Match> RegexMatcher::find_with_large_stack(std::string_view subject,
                                                                size_t from) {
  constexpr size_t kStartBytes = 64 << 10;
  buffers_->stack.reset(
      pcre2_jit_stack_create(kStartBytes, program_->limits.jit_stack_bytes, nullptr));
  buffers_->context.reset(pcre2_match_context_copy(program_->context.get()));
  if (!buffers_->stack || !buffers_->context) {
    return fail::exhausted("No memory for a stack of {} bytes to search '{}'.",
                           program_->limits.jit_stack_bytes, program_->pattern);
  }
  pcre2_jit_stack_assign(buffers_->context.get(), nullptr, buffers_->stack.get());
  return find(subject, from);
}

// Errors name the limit or the library's reason.
Result<RegexMatcher::Match> RegexMatcher::explain(int code, size_t subject_bytes) const {
  return fail::exhausted(
      "The search of pattern '{}' in a text of {} bytes stops: {} (limits: {} steps, {} bytes of "
      "stack).",
      program_->pattern, subject_bytes, text_of_error(code), program_->limits.match_steps,
      program_->limits.jit_stack_bytes);
}

}  // namespace quern
