// Look-ups in the lists.
// Tables are small; a linear search is faster than a map.
#include "text/jinja/environment.h"

#include <algorithm>

namespace quern::jinja {
namespace {

// Linear: tables are short, and a name is looked up once for each use.
template <class Entry>
auto find_in(std::span<const Entry> entries, std::string_view name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : found->function;
}

}  // namespace

// Null for an unknown name.
FilterFunction find_filter(std::string_view name) {
  for (const auto& filters : {text_filters(), number_filters(), sequence_filters(),
                              selection_filters(), dict_filters()}) {
    if (const FilterFunction function = find_in(filters, name)) return function;
  }
  return nullptr;
}

TestFunction find_test(std::string_view name) {
  return find_in(value_checks(), name);
}

// Methods of the receiver's type; null for other names.
NativeMethod find_method(const Value& receiver, std::string_view name) {
  if (receiver.is_dict()) return find_in(dict_methods(), name);
  if (receiver.is_string()) {
    const NativeMethod method = find_in(string_methods(), name);
    return method != nullptr ? method : find_in(string_search_methods(), name);
  }
  if (!receiver.is_list() || !receiver.list().is_indexable()) return nullptr;
  // Other sequences cannot be changed.
  const bool is_mutable = receiver.list().kind == ListKind::kList;
  return is_mutable || name == "index" || name == "count" ? find_in(list_methods(), name) : nullptr;
}

}  // namespace quern::jinja
