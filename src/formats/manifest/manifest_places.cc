// Errors of later stages know nodes by their names; the names are the manifest's ids.
// Messages are searched for "KIND 'NAME'", which is how every layer names what it means.
#include "formats/manifest/manifest_places.h"

#include <array>
#include <string_view>
#include <utility>

#include "quern/op.h"

namespace quern {
namespace {

using manifest::Place;

const Place* find(const ManifestPlaces::Map& map, std::string_view name) {
  const auto it = map.find(name);
  return it == map.end() ? nullptr : &it->second;
}

// The declaration itself, else the one that the node was made for: what stands before the last '.'
// or ':' names it.
const Place* find_node(const ManifestPlaces& places, std::string_view name) {
  while (true) {
    if (const Place* place = find(places.values, name)) return place;
    const size_t end = name.find_last_of(".:/");
    if (end == std::string_view::npos) return nullptr;
    name = name.substr(0, end);
  }
}

// Only inputs: "the graph has no input 'h2'" means no node of that name.
const Place* find_input(const ManifestPlaces& places, const Graph& graph, std::string_view name) {
  const ValueId value = graph.find_value(name);
  if (value == kNoValue || graph.node(graph.value(value).producer).op->id != "Input") {
    return nullptr;
  }
  return find(places.values, name);
}

// By the name in weight files, which need not be the id.
const Place* find_weight(const ManifestPlaces& places, const Graph& graph, std::string_view name) {
  for (const Node& node : graph.nodes()) {
    const AttributeValue* weight = node.attributes.find("weight");
    if (node.op == nullptr || node.op->id != "graph.weight" || weight == nullptr) continue;
    if (std::get<std::string>(*weight) == name) return find_node(places, node.name);
  }
  return nullptr;
}

// What a word in front of a quoted name means; without its first letter, which may be a capital.
enum class Named { kNode, kInput, kWeight, kOutput, kState };
constexpr std::array<std::pair<std::string_view, Named>, 5> kWords = {{{"ode", Named::kNode},
                                                                       {"nput", Named::kInput},
                                                                       {"eight", Named::kWeight},
                                                                       {"utput", Named::kOutput},
                                                                       {"tate", Named::kState}}};

const Place* find_named(const ManifestPlaces& places, const Graph& graph, Named kind,
                        std::string_view name) {
  switch (kind) {
    case Named::kNode:
      return find_node(places, name);
    case Named::kInput:
      return find_input(places, graph, name);
    case Named::kWeight:
      return find_weight(places, graph, name);
    case Named::kOutput:
      return find(places.outputs, name);
    case Named::kState:
      return find(places.states, name);
  }
  return nullptr;
}

// The place of the name in quotes at `begin`, if the word before it says what it is.
const Place* find_quoted(const ManifestPlaces& places, const Graph& graph, std::string_view message,
                         size_t begin) {
  const size_t end = message.find('\'', begin + 1);
  if (end == std::string_view::npos || begin == 0) return nullptr;
  const std::string_view before = message.substr(0, begin - 1);
  const std::string_view name = message.substr(begin + 1, end - begin - 1);
  for (const auto& [word, kind] : kWords) {
    if (before.ends_with(word)) return find_named(places, graph, kind, name);
  }
  return nullptr;
}

}  // namespace

// The first name that is known decides: it is the nearest to the start of the sentence.
Error at_declaration(const ManifestPlaces& places, const Graph& graph, const Error& error) {
  const std::string_view message = error.message;
  for (size_t at = message.find('\''); at != std::string_view::npos;
       at = message.find('\'', at + 1)) {
    const Place* place = find_quoted(places, graph, message, at);
    if (place != nullptr) return error.with_context(place->to_string());
  }
  return error;
}

}  // namespace quern
