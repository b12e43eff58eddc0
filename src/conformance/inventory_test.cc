// The inventory of operations: counts against the catalogue, support by backend, and the pages that
// are made of it.
#include "conformance/inventory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "quern/op.h"

namespace quern {
namespace {

using nlohmann::json;

// The inventory of this build on the backends reference and null.
class InventoryTest : public testing::Test {
 protected:
  InventoryTest() : inventory_(make_inventory(builtin_ops(), backends_)) {}

  const InventoryRow& row(std::string_view id) const {
    for (const InventoryRow& r : inventory_.rows) {
      if (r.op->id == id) return r;
    }
    ADD_FAILURE() << id;
    return inventory_.rows.front();
  }

  BackendRegistry registry_ = register_backends();
  std::vector<const Backend*> backends_ = {*registry_.find("reference"), *registry_.find("null")};
  Inventory inventory_;
};

// The published numbers.
TEST_F(InventoryTest, CountsAreThoseOfTheCatalogue) {
  EXPECT_EQ(inventory_.count(OpOrigin::kRequired), 119);
  EXPECT_EQ(inventory_.count(OpOrigin::kSurface), 88);
  EXPECT_EQ(static_cast<size_t>(inventory_.count(OpOrigin::kEngine)),
            inventory_.rows.size() - 119 - 88);
  EXPECT_EQ(inventory_.rows.size(), builtin_ops().list().size());
}

// Every operation is counted once.
TEST_F(InventoryTest, SupportAddsUpOnEachBackend) {
  ASSERT_EQ(inventory_.counts.size(), 2u);
  for (const SupportCounts& counts : inventory_.counts) {
    int sum = 0;
    for (const int count : counts) sum += count;
    EXPECT_EQ(static_cast<size_t>(sum), inventory_.rows.size());
  }
  // The reference misses nothing; the template implements nothing.
  EXPECT_EQ(inventory_.counts[0][static_cast<size_t>(Support::Kind::kMissing)], 0);
  EXPECT_EQ(static_cast<size_t>(inventory_.counts[1][static_cast<size_t>(Support::Kind::kMissing)]),
            inventory_.rows.size());
}

// Searches rely on it.
TEST_F(InventoryTest, RowsAreSortedAndComplete) {
  std::string last;
  for (const InventoryRow& r : inventory_.rows) {
    EXPECT_LT(last, r.op->id);
    last = r.op->id;
    EXPECT_EQ(r.support.size(), 2u);
    EXPECT_EQ(r.required != nullptr, r.origin == OpOrigin::kRequired);
    EXPECT_FALSE(r.op->doc.empty()) << r.op->id;
    EXPECT_FALSE(r.op->shape_rule.empty()) << r.op->id;
    EXPECT_FALSE(r.op->edge_rule.empty()) << r.op->id;
  }
}

// Of the published surfaces.
TEST_F(InventoryTest, RowsKnowTheirMethods) {
  EXPECT_EQ(row("math.rmsnorm").methods, std::vector<std::string_view>{"LayerNorm.RMSNorm"});
  EXPECT_EQ(row("math.rmsnorm").origin, OpOrigin::kRequired);
  EXPECT_EQ(row("activation.mish").methods, std::vector<std::string_view>{"Activation.Mish"});
  EXPECT_EQ(row("activation.mish").origin, OpOrigin::kSurface);
  EXPECT_EQ(row("attention.gqa").methods.size(), 2u);
  EXPECT_TRUE(row("math.sin").methods.empty());
  EXPECT_EQ(row("kv.append").origin, OpOrigin::kEngine);
}

// Every one of the 151 methods is reached through an operation that exists, and each is named once.
TEST(Catalogue, MethodsAreDistinctAndReachable) {
  std::set<std::string_view> names, surfaces;
  for (const SurfaceMethod& method : surface_methods()) {
    EXPECT_TRUE(names.insert(method.name).second) << method.name;
    const size_t dot = method.name.find('.');
    ASSERT_NE(dot, std::string_view::npos) << method.name;
    surfaces.insert(method.name.substr(0, dot));
    EXPECT_NE(builtin_ops().find(method.id), nullptr) << method.id;
  }
  EXPECT_EQ(names.size(), 151u);
  EXPECT_EQ(surfaces.size(), 25u);
}

// Direct, composite, registry, graph only.
TEST(Catalogue, RequiredOperationsHaveTheCountsOfTheirLinks) {
  std::set<std::string_view> ids;
  int by_link[4] = {};
  for (const RequiredOp& op : required_ops()) {
    EXPECT_TRUE(ids.insert(op.id).second) << op.id;
    ++by_link[static_cast<size_t>(op.link)];
    EXPECT_NE(builtin_ops().find(op.id), nullptr) << op.id;
    EXPECT_EQ(find_required(op.id), &op);
    // A direct link names one method, a composite several, the others none.
    const auto words = op.methods.empty() ? 0 : 1 + std::ranges::count(op.methods, ' ');
    if (op.link == OpLink::kDirect) {
      EXPECT_EQ(words, 1) << op.id;
    }
    if (op.link == OpLink::kComposite) {
      EXPECT_GT(words, 1) << op.id;
    }
    if (op.link == OpLink::kRegistry || op.link == OpLink::kGraphOnly) {
      EXPECT_EQ(words, 0) << op.id;
    }
  }
  EXPECT_EQ(by_link[0], 74);
  EXPECT_EQ(by_link[1], 3);
  EXPECT_EQ(by_link[2], 32);
  EXPECT_EQ(by_link[3], 10);
}

// Exact names.
TEST(Catalogue, ItsNamesAreKnownAndOthersAreNot) {
  EXPECT_EQ(find_required("activation.mish"), nullptr);
  EXPECT_EQ(find_required(""), nullptr);
  EXPECT_TRUE(is_required_method("Matmul.Matmul"));
  EXPECT_FALSE(is_required_method("Activation.Mish"));
  EXPECT_FALSE(is_required_method("Matmul"));
  std::set<std::string_view> links;
  for (const OpLink link :
       {OpLink::kDirect, OpLink::kComposite, OpLink::kRegistry, OpLink::kGraphOnly}) {
    EXPECT_TRUE(links.insert(op_link_name(link)).second);
  }
  std::set<std::string_view> origins;
  for (const OpOrigin origin : {OpOrigin::kRequired, OpOrigin::kSurface, OpOrigin::kEngine}) {
    EXPECT_TRUE(origins.insert(op_origin_name(origin)).second);
  }
}

// For programs.
TEST_F(InventoryTest, JsonRepeatsTheCountsAndEveryRow) {
  const json parsed = json::parse(inventory_json(inventory_));
  EXPECT_EQ(parsed["counts"]["required"], 119);
  EXPECT_EQ(parsed["counts"]["surface_only"], 88);
  EXPECT_EQ(parsed["counts"]["surface_methods"], 151);
  EXPECT_EQ(parsed["counts"]["links"]["direct"], 74);
  EXPECT_EQ(parsed["counts"]["support"]["null"]["missing"], inventory_.rows.size());
  ASSERT_EQ(parsed["operations"].size(), inventory_.rows.size());
  EXPECT_EQ(parsed["surface_methods"].size(), 151u);
  for (size_t i = 0; i < inventory_.rows.size(); ++i) {
    const json& operation = parsed["operations"][i];
    const OpDef& op = *inventory_.rows[i].op;
    EXPECT_EQ(operation["id"], op.id);
    EXPECT_EQ(operation["attributes"].size(), op.attributes.size()) << op.id;
    EXPECT_EQ(operation["outputs"].size(), op.outputs.size()) << op.id;
    EXPECT_EQ(operation["support"]["null"], "missing");
  }
}

// For people.
TEST_F(InventoryTest, TheTableHasALineForEachOperation) {
  const std::string table = inventory_table(inventory_);
  for (const InventoryRow& r : inventory_.rows) {
    EXPECT_NE(table.find("\n" + r.op->id + " "), std::string::npos) << r.op->id;
  }
  EXPECT_NE(table.find("Backend null: 0 "), std::string::npos);
  EXPECT_NE(table.find("119 that graphs name (74 direct, 3 composite, 32 registry, 10 graph-only)"),
            std::string::npos);
}

// Ports, attributes, rules, error.
TEST(OpPage, SaysEverythingOfAnOperation) {
  const std::string page = op_page(*builtin_ops().find("math.layernorm"));
  EXPECT_TRUE(page.starts_with("math.layernorm  (version 1, pure)\n")) << page;
  EXPECT_NE(page.find("Inputs:  x, weight?, bias?\n"), std::string::npos) << page;
  EXPECT_NE(page.find("Outputs: y\n"), std::string::npos);
  EXPECT_NE(page.find("  eps              number [1e-05]"), std::string::npos) << page;
  EXPECT_NE(page.find("Error in f32: at most 32 units"), std::string::npos);
}

// The special cases of a page.
TEST(OpPage, NamesAliasesFormsAndExactResults) {
  const std::string alias = op_page(*builtin_ops().find("vsa.bind"));
  EXPECT_NE(alias.find("the same as math.mul"), std::string::npos) << alias;
  const std::string forms = op_page(*builtin_ops().find("hawkes.intensity"));
  EXPECT_NE(forms.find("query, times, alpha, beta, mu (form table)"), std::string::npos) << forms;
  const std::string exact = op_page(*builtin_ops().find("shape.reshape"));
  EXPECT_NE(exact.find("Error in f32: none"), std::string::npos);
  const std::string none = op_page(*builtin_ops().find("math.mul"));
  EXPECT_NE(none.find("Attributes: none\n"), std::string::npos);
}

// Terminals of 100 columns.
TEST(OpPage, LinesStayWithinTheirWidth) {
  for (const OpDef* op : builtin_ops().list()) {
    const std::string page = op_page(*op);
    size_t start = page.find('\n') + 1;
    const size_t end = page.find("\nInputs:");
    while (start < end) {
      const size_t stop = page.find('\n', start);
      EXPECT_LE(stop - start, 100u) << op->id;
      start = stop + 1;
    }
  }
}

// Optional, variadic, required, choices.
TEST(PageParts, PortsAndAttributes) {
  const std::vector<PortDef> ports = {
      {.name = "x"}, {.name = "bias", .is_optional = true}, {.name = "a", .is_variadic = true}};
  EXPECT_EQ(port_list(ports), "x, bias?, a, b, ...");
  EXPECT_EQ(port_list({}), "none");
  AttributeDef attribute{.name = "eps", .kind = AttributeKind::kNumber};
  EXPECT_EQ(attribute_values(attribute), "number");
  EXPECT_EQ(attribute_default(attribute), "required");
  attribute.default_value = 1e-5;
  EXPECT_EQ(attribute_default(attribute), "1e-05");
  attribute = {.name = "mode", .kind = AttributeKind::kText, .choices = {"none", "tanh"}};
  EXPECT_EQ(attribute_values(attribute), "none | tanh");
  attribute.default_value = std::string();
  EXPECT_EQ(attribute_default(attribute), "empty");
  attribute.default_value = std::vector<int64_t>{1, 2};
  EXPECT_EQ(attribute_default(attribute), "[1, 2]");
}

}  // namespace
}  // namespace quern
