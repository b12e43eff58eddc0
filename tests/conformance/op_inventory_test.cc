// The published operations: 119 ids of graphs and 88 more that only backend surfaces name.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/inventory.h"
#include "ops/op_catalogue.h"
#include "quern/op.h"

namespace quern {
namespace {

// A family and its members: "math" and "add mul" stand for math.add and math.mul.
struct Family {
  std::string_view prefix;
  std::string_view members;
};

// Written by hand from the published list: the test is worthless if it is generated.
constexpr Family kGraphIds[] = {
    {"", "Input Add Mul Matmul ReLU LeakyReLU GELU Tanh Sigmoid SwiGLU Swish SELU Fused"},
    {"activation.", "relu leaky_relu gelu tanh sigmoid swiglu swish selu"},
    {"attention.", "sdpa mqa gqa sliding_window"},
    {"masking.", "apply causal"},
    {"math.",
     "add mul matmul exp sin cos log logsumexp softmax outer sign inv_sqrt_dim_scale dropout "
     "rmsnorm layernorm groupnorm"},
    {"shape.",
     "reshape transpose concat split upsample_nearest2d view_as_heads merge_heads last_token "
     "slice"},
    {"positional.", "rope alibi"},
    {"embedding.", "token"},
    {"convolution.", "conv1d conv2d conv3d conv_transpose2d"},
    {"pooling.", "max_pool2d avg_pool2d adaptive_avg_pool2d adaptive_max_pool2d"},
    {"projection.", "linear fused_qkv"},
    {"hawkes.", "intensity kernel_matrix log_likelihood simulate"},
    {"vsa.", "bind bundle similarity permute inverse_permute"},
    {"active_inference.", "belief_update expected_free_energy free_energy precision_weight"},
    {"predictive_coding.", "prediction prediction_error update_representation update_weights"},
    {"markov_blanket.", "flow_active flow_internal mutual_information partition"},
    {"causal.",
     "backdoor_adjustment cate counterfactual dag_markov_factorization do_calculus "
     "frontdoor_adjustment iv_estimate"},
    {"train.loss.", "mse cross_entropy mse_grad cross_entropy_grad"},
    {"train.grad.", "mse cross_entropy"},
    {"train.optimizer.",
     "adam adamw adamax sgd lion rmsprop hebbian lars lamb adagrad adadelta lbfgs"},
    {"bench.", "accuracy perplexity f1"},
    {"bench.metric.", "accuracy perplexity f1"},
    {"model.", "graft freeze"},
};

constexpr Family kSurfaceIds[] = {
    {"pospop.", "count_string count8 count16 count32 count64"},
    {"activation.",
     "log1p expm1 log_sigmoid silu gelu_tanh elu celu softplus mish softsign hard_sigmoid "
     "hard_swish hard_tanh hard_gelu quick_gelu tanh_shrink log_softmax prelu prelu_v "
     "leaky_relu_slope elu_alpha celu_alpha threshold hard_tanh_range snake snake_parametric "
     "hard_shrink soft_shrink rrelu glu geglu geglu_tanh reglu siglu linglu seglu glu_tensors "
     "geglu_tensors geglu_tanh_tensors swiglu_tensors reglu_tensors siglu_tensors linglu_tensors "
     "seglu_tensors"},
    {"elementwise.", "sub div max min abs neg sqrt relu axpy"},
    {"reduction.", "sum prod reduce_min reduce_max l1_norm"},
    {"dot.", "dot"},
    {"losses.", "mae huber binary_cross_entropy kl_divergence"},
    {"sampling.", "greedy_sample top_k_sample top_p_sample"},
    {"embedding.", "bag"},
    {"normalization.", "instance_norm batch_norm_eval"},
    {"rope.", "rope_pairs"},
    {"physics.",
     "laplacian laplacian4 grad1d divergence1d fft1d ifft1d quantum_potential bohmian_velocity "
     "madelung_continuity"},
    {"causal.", "cholesky"},
    {"dequant.", "dequant dequant4"},
    {"quant.", "quant"},
};

template <size_t n>
std::vector<std::string> expand(const Family (&families)[n]) {
  std::vector<std::string> ids;
  for (const Family& family : families) {
    std::string_view rest = family.members;
    while (!rest.empty()) {
      const size_t space = rest.find(' ');
      ids.push_back(std::string(family.prefix) + std::string(rest.substr(0, space)));
      rest = space == std::string_view::npos ? "" : rest.substr(space + 1);
    }
  }
  return ids;
}

int count_links(OpLink link) {
  return static_cast<int>(std::ranges::count(required_ops(), link, &RequiredOp::link));
}

Inventory inventory_of(std::initializer_list<std::string_view> names) {
  const BackendRegistry registry = register_backends();
  std::vector<const Backend*> backends;
  for (const std::string_view name : names) backends.push_back(*registry.find(name));
  return make_inventory(builtin_ops(), backends);
}

// 119 ids, 151 methods on 25 surfaces, 88 of them not among the ids.
TEST(Catalogue, HasThePublishedCounts) {
  EXPECT_EQ(required_ops().size(), 119u);
  EXPECT_EQ(surface_methods().size(), 151u);
  EXPECT_EQ(count_links(OpLink::kDirect), 74);
  EXPECT_EQ(count_links(OpLink::kComposite), 3);
  EXPECT_EQ(count_links(OpLink::kRegistry), 32);
  EXPECT_EQ(count_links(OpLink::kGraphOnly), 10);
  EXPECT_EQ(std::ranges::count_if(surface_methods(),
                                  [](const auto& m) { return !is_required_method(m.name); }),
            88);
  std::set<std::string_view> surfaces, names;
  for (const SurfaceMethod& method : surface_methods()) {
    surfaces.insert(method.name.substr(0, method.name.find('.')));
    names.insert(method.name);
  }
  EXPECT_EQ(surfaces.size(), 25u);
  EXPECT_EQ(names.size(), 151u);
}

// The tables of the engine against the list above, which was written by hand.
TEST(Catalogue, NamesThePublishedIds) {
  const auto graph_ids = expand(kGraphIds), surface_ids = expand(kSurfaceIds);
  std::set<std::string> required, surface;
  for (const RequiredOp& op : required_ops()) required.emplace(op.id);
  for (const SurfaceMethod& method : surface_methods()) {
    if (!is_required_method(method.name)) surface.emplace(method.id);
  }
  EXPECT_EQ(required, std::set<std::string>(graph_ids.begin(), graph_ids.end()));
  EXPECT_EQ(surface, std::set<std::string>(surface_ids.begin(), surface_ids.end()));
}

TEST(Catalogue, EveryIdIsRegistered) {
  for (const RequiredOp& op : required_ops()) {
    EXPECT_NE(builtin_ops().find(op.id), nullptr) << op.id;
  }
  for (const SurfaceMethod& method : surface_methods()) {
    EXPECT_NE(builtin_ops().find(method.id), nullptr) << method.name;
  }
}

// Each method that a link names is in the list of methods, under the name it has there.
// A direct operation names one method, a composite the two that it is made of.
TEST(Catalogue, LinksNameMethods) {
  for (const RequiredOp& op : required_ops()) {
    const bool has_method = op.link == OpLink::kDirect || op.link == OpLink::kComposite;
    EXPECT_EQ(!op.methods.empty(), has_method) << op.id;
    std::istringstream words{std::string(op.methods)};
    int count = 0;
    for (std::string word; words >> word; ++count) {
      EXPECT_NE(std::ranges::find(surface_methods(), word, &SurfaceMethod::name),
                surface_methods().end())
          << op.id << " " << word;
    }
    EXPECT_EQ(count, op.link == OpLink::kDirect      ? 1
                     : op.link == OpLink::kComposite ? 2
                                                     : 0)
        << op.id;
  }
}

TEST(Inventory, CountsTheCatalogueAndLeavesNothingMissing) {
  const Inventory inventory = inventory_of({"reference", "cpu", "null"});
  EXPECT_EQ(inventory.count(OpOrigin::kRequired), 119);
  EXPECT_EQ(inventory.count(OpOrigin::kSurface), 88);
  EXPECT_EQ(inventory.rows.size(), builtin_ops().list().size());
  const auto missing = static_cast<size_t>(Support::Kind::kMissing);
  EXPECT_EQ(inventory.counts[0][missing], 0);
  EXPECT_EQ(inventory.counts[1][missing], 0);
  // The null backend serves nothing, which shows that missing is counted at all.
  EXPECT_EQ(inventory.counts[2][missing], static_cast<int>(inventory.rows.size()));
  for (const SupportCounts& counts : inventory.counts) {
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0),
              static_cast<int>(inventory.rows.size()));
  }
}

TEST(Inventory, TableHasALineForEachOperation) {
  const Inventory inventory = inventory_of({"cpu"});
  const std::string table = inventory_table(inventory);
  for (const InventoryRow& row : inventory.rows) {
    EXPECT_NE(table.find("\n" + row.op->id + " "), std::string::npos) << row.op->id;
  }
  EXPECT_NE(table.find("119 that graphs name (74 direct, 3 composite, 32 registry, 10 graph-only), "
                       "88 that only surfaces name (of their 151 methods)"),
            std::string::npos);
  EXPECT_NE(table.find(" 0 missing."), std::string::npos);
}

TEST(Inventory, JsonCarriesTheCountsAndEveryRule) {
  const auto json = nlohmann::json::parse(inventory_json(inventory_of({"cpu"})));
  EXPECT_EQ(json["counts"]["required"], 119);
  EXPECT_EQ(json["counts"]["surface_methods"], 151);
  EXPECT_EQ(json["counts"]["surface_only"], 88);
  EXPECT_EQ(
      json["counts"]["links"],
      nlohmann::json::parse(R"({"direct": 74, "composite": 3, "registry": 32, "graph-only": 10})"));
  EXPECT_EQ(json["counts"]["support"]["cpu"]["missing"], 0);
  EXPECT_EQ(json["surface_methods"].size(), 151u);
  for (const auto& op : json["operations"]) {
    const OpDef* found = builtin_ops().find(op["id"].get<std::string>());
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(op["attributes"].size(), found->attributes.size()) << found->id;
    EXPECT_EQ(op["outputs"].size(), found->outputs.size()) << found->id;
  }
}

// Regenerate with: quern ops --markdown > docs/operations.md
// The page is generated: a change of an operation must bring it along.
TEST(Inventory, TheDocumentIsCurrent) {
  std::ifstream file(std::string(QUERN_TEST_DATA_DIR) + "/../../docs/operations.md");
  ASSERT_TRUE(file.is_open());
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == operations_document(inventory_of({"reference", "cpu"})))
      << "docs/operations.md is out of date: quern ops --markdown > docs/operations.md";
}

bool is_sentence(const std::string& text) {
  return text.size() > 10 && (text.back() == '.');
}

TEST(Inventory, EveryOperationSaysWhatItMeans) {
  for (const OpDef* op : builtin_ops().list()) {
    EXPECT_TRUE(is_sentence(op->doc)) << op->id << ": " << op->doc;
    EXPECT_TRUE(is_sentence(op->shape_rule)) << op->id;
    EXPECT_TRUE(is_sentence(op->edge_rule)) << op->id;
    EXPECT_GE(op->f32_bound, 0) << op->id;
    for (const AttributeDef& attribute : op->attributes) {
      EXPECT_TRUE(attribute.doc.size() > 2 && attribute.doc.back() == '.')
          << op->id << " " << attribute.name;
    }
  }
}

// Ports bind by name in commands and manifests.
TEST(Inventory, PortsHaveDistinctNamesInEachForm) {
  for (const OpDef* op : builtin_ops().list()) {
    for (const char* form : {"estimator", "table"}) {
      std::set<std::string> names;
      const auto ports = op->input_ports({{"form", std::string(form)}});
      for (const PortDef& port : ports) EXPECT_TRUE(names.insert(port.name).second) << op->id;
      EXPECT_LE(ports.size(), op->inputs.size()) << op->id;
    }
  }
}

TEST(Inventory, EveryOperationHasAKernelOrIsBoundByTheGraph) {
  const std::set<std::string_view> bound = {"Input", "graph.weight"};
  for (const OpDef* op : builtin_ops().list()) {
    EXPECT_TRUE(op->reference != nullptr || bound.contains(op->id)) << op->id;
  }
}

// An alias of an alias would need two look-ups everywhere.
TEST(Inventory, AliasesShareOneKernel) {
  for (const OpDef* op : builtin_ops().list()) {
    if (op->alias_of.empty()) continue;
    const OpDef* target = builtin_ops().find(op->alias_of);
    ASSERT_NE(target, nullptr) << op->id;
    EXPECT_TRUE(target->alias_of.empty()) << op->id;
    EXPECT_EQ(op->reference, target->reference) << op->id;
    EXPECT_EQ(op->version, target->version) << op->id;
    EXPECT_EQ(op->attributes.size(), target->attributes.size()) << op->id;
  }
}

}  // namespace
}  // namespace quern
