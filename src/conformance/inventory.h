// What the build's operations are and how backends serve them: the content of `quern ops`.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "ops/op_catalogue.h"
#include "quern/device.h"
#include "quern/op.h"

namespace quern {

// Where an operation comes from.
enum class OpOrigin {
  kRequired,  // one of the 119 that graphs name
  kSurface,   // one of the 88 methods that only backend surfaces name
  kEngine,    // further operations of the engine
};
std::string_view op_origin_name(OpOrigin origin);

struct InventoryRow {
  const OpDef* op = nullptr;
  OpOrigin origin = OpOrigin::kEngine;
  const RequiredOp* required = nullptr;   // for kRequired
  std::vector<std::string_view> methods;  // of surfaces, "Surface.Method"; may be empty
  std::vector<Support> support;           // by backend of the inventory
};

// Number of operations for each Support::Kind.
using SupportCounts = std::array<int, 5>;

struct Inventory {
  std::vector<std::string> backends;
  std::vector<InventoryRow> rows;     // by id
  std::vector<SupportCounts> counts;  // by backend, over all rows

  int count(OpOrigin origin) const;
};

Inventory make_inventory(const OpRegistry& ops, std::span<const Backend* const> backends);

// A line for each operation, with totals at the end.
std::string inventory_table(const Inventory& inventory);
// Everything that is known of each operation, as indented JSON.
std::string inventory_json(const Inventory& inventory);
// The reference document of all operations (docs/operations.md).
std::string operations_document(const Inventory& inventory);
// The page on one operation: ports, attributes, rules and doc; `quern op ID --help`.
std::string op_page(const OpDef& op);

// Parts of those pages.
std::string port_list(std::span<const PortDef> ports);         // "x, weight?, a, b, ..."
std::string attribute_values(const AttributeDef& attribute);   // "number", "none | tanh"
std::string attribute_default(const AttributeDef& attribute);  // "0.01", "required"

}  // namespace quern
