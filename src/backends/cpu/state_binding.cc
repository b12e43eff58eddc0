// Checks of stores.
#include "backends/cpu/state_binding.h"

#include "base/fail.h"

namespace quern::cpu {
namespace {

// What the declaration does not say is not compared.
Result<void> check_extent(const StateDecl& state, std::string_view what, int64_t found) {
  const AttributeValue* value = state.attributes.find(what);
  const auto* wanted = value == nullptr ? nullptr : std::get_if<int64_t>(value);
  if (wanted == nullptr || *wanted == found) return {};
  return fail::invalid("State '{}' has {} = {}; the store bound to it has {}.", state.name, what,
                       *wanted, found);
}

Result<void> check_type(const StateDecl& state, std::string_view what, DType found) {
  const AttributeValue* value = state.attributes.find(what);
  const auto* wanted = value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (wanted == nullptr || *wanted == dtype_name(found)) return {};
  return fail::invalid("State '{}' has {} = {}; the store bound to it has {}.", state.name, what,
                       *wanted, dtype_name(found));
}

Result<HostKvStore*> bind_state(const StateDecl& state, const RunArguments& arguments) {
  const auto it = arguments.states.find(state.name);
  if (it == arguments.states.end() || it->second == nullptr) {
    return fail::invalid("The graph's state '{}' is not bound.", state.name);
  }
  auto* store = dynamic_cast<HostKvStore*>(it->second);
  if (store == nullptr) {
    return fail::invalid("The store bound to state '{}' was not made by a host device.",
                         state.name);
  }
  QUERN_TRY(check_extent(state, "layers", store->num_layers()));
  QUERN_TRY(check_extent(state, "heads", store->num_heads()));
  QUERN_TRY(check_extent(state, "key_dim", store->key_dim()));
  QUERN_TRY(check_extent(state, "value_dim", store->value_dim()));
  QUERN_TRY(check_type(state, "key_type", store->key_type()));
  QUERN_TRY(check_type(state, "value_type", store->value_type()));
  return store;
}

}  // namespace

Result<std::vector<HostKvStore*>> bind_states(const Graph& graph, const RunArguments& arguments) {
  std::vector<HostKvStore*> stores;
  for (const StateDecl& state : graph.states()) {
    QUERN_ASSIGN_OR_RETURN(HostKvStore * store, bind_state(state, arguments));
    stores.push_back(store);
  }
  return stores;
}

}  // namespace quern::cpu
