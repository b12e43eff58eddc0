// The visible lists of what templates can use by name.
#pragma once

#include <string_view>

#include "text/jinja/interpreter.h"
#include "text/jinja/object.h"

namespace quern::jinja {

using FilterFunction = Result<Value> (*)(Interpreter&, const Value& input, const Arguments&);
using TestFunction = Result<bool> (*)(Interpreter&, const Value& input, const Arguments&);

// A row of a table of filters.
struct NamedFilter {
  std::string_view name;
  FilterFunction function;
};
// A row of a table of tests.
struct NamedTest {
  std::string_view name;
  TestFunction function;
};
// A row of a table of methods of one type.
struct NamedMethod {
  std::string_view name;
  NativeMethod function;
};

// nullptr where there is none.
FilterFunction find_filter(std::string_view name);
TestFunction find_test(std::string_view name);
// The method of a string, list or dict.
NativeMethod find_method(const Value& receiver, std::string_view name);

// range, namespace, raise_exception and the like.
void add_globals(Interpreter& interpreter, Scope& scope);

// The parts of the lists, a file each.
std::span<const NamedFilter> text_filters();
// The tables, each in the file of its name; environment.cc searches them in turn.
std::span<const NamedFilter> number_filters();
std::span<const NamedFilter> sequence_filters();
std::span<const NamedFilter> selection_filters();
std::span<const NamedFilter> dict_filters();
std::span<const NamedTest> value_checks();
std::span<const NamedMethod> string_methods();
std::span<const NamedMethod> string_search_methods();
std::span<const NamedMethod> list_methods();
std::span<const NamedMethod> dict_methods();

}  // namespace quern::jinja
