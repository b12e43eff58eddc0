// What the type rule of an operation says, as text, for tables of cases.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace quern::test {

// The types that `id` gives for inputs such as "f32[T, 3]; _; i32[T]" (`_` is an absent port) and
// attributes in the text form of graphs, "{axes = [1]}": "f32[T]; i32[T]", or the message of the
// error. States, "layers = 2, heads = 3, ...", declare one of kind kv under the name kv.
std::string inferred_types(std::string_view id, std::string_view inputs,
                           std::string_view attributes = "", std::string_view state = "");

// A row of a table: what inferred_types() must say.
struct TypeCase {
  std::string_view id;
  std::string_view inputs;
  std::string_view attributes;
  std::string_view expected;
};
// One failed expectation for each row that says something else.
void expect_types(std::initializer_list<TypeCase> cases);
// The same with this state declared.
void expect_types_with_state(std::string_view state, std::initializer_list<TypeCase> cases);

}  // namespace quern::test
