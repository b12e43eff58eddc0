// Tokens that files often do not name by key: their role is known by their text.
#pragma once

#include <span>
#include <string_view>

#include "text/vocabulary.h"

namespace quern {

// What a well-known token does besides filling a role.
enum class WellKnownEffect {
  kNone,
  kEnds,           // ends the generation
  kEndsIfControl,  // the same, but the text is ordinary in some vocabularies (HTML's </s>)
  kShown,          // control by its type, but always part of the text
};

// A text that means the same in every vocabulary that has it.
struct WellKnownToken {
  std::string_view text;
  int32_t SpecialIds::*role;  // null: none. The first row found in a vocabulary wins
  WellKnownEffect effect;
};

std::span<const WellKnownToken> well_known_tokens();

}  // namespace quern
