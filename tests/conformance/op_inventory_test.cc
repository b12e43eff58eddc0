// The published operations: 119 ids of graphs and 88 more that only backend surfaces name.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quern/op.h"

namespace quern {
namespace {

// A family and its members: "math" and "add mul" stand for math.add and math.mul.
struct Family {
  std::string_view prefix;
  std::string_view members;
};

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

TEST(Inventory, EveryPublishedIdIsThere) {
  const auto graph_ids = expand(kGraphIds), surface_ids = expand(kSurfaceIds);
  EXPECT_EQ(graph_ids.size(), 119u);
  EXPECT_EQ(surface_ids.size(), 88u);
  for (const auto& ids : {graph_ids, surface_ids}) {
    for (const std::string& id : ids) EXPECT_NE(builtin_ops().find(id), nullptr) << id;
  }
}

TEST(Inventory, EveryOperationHasAKernelOrIsBoundByTheGraph) {
  const std::set<std::string_view> bound = {"Input", "graph.weight"};
  for (const OpDef* op : builtin_ops().list()) {
    EXPECT_TRUE(op->reference != nullptr || bound.contains(op->id)) << op->id;
  }
}

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
