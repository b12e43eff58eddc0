// Tables of the catalogue.
#include "ops/op_catalogue.h"

#include <algorithm>

namespace quern {
namespace {

// In the published order. Two ids may stand on one method: a short name and one with its family.
constexpr RequiredOp kRequiredOps[] = {
    // Short names; most are aliases of operations that have a family below.
    {"Input", OpLink::kGraphOnly, ""},
    {"Add", OpLink::kDirect, "Elementwise.Add"},
    {"Mul", OpLink::kDirect, "Elementwise.Mul"},
    {"Matmul", OpLink::kDirect, "Matmul.Matmul"},
    {"ReLU", OpLink::kDirect, "Activation.ReLU"},
    {"LeakyReLU", OpLink::kDirect, "Activation.LeakyReLU"},
    {"GELU", OpLink::kDirect, "Activation.Gelu"},
    {"Tanh", OpLink::kDirect, "Activation.Tanh"},
    {"Sigmoid", OpLink::kDirect, "Activation.Sigmoid"},
    {"SwiGLU", OpLink::kDirect, "Activation.SwiGLU"},
    {"Swish", OpLink::kDirect, "Activation.Swish"},
    {"SELU", OpLink::kDirect, "Activation.SELU"},
    {"Fused", OpLink::kGraphOnly, ""},
    // Activations, attention and masks.
    {"activation.relu", OpLink::kDirect, "Activation.ReLU"},
    {"activation.leaky_relu", OpLink::kDirect, "Activation.LeakyReLU"},
    {"activation.gelu", OpLink::kDirect, "Activation.Gelu"},
    {"activation.tanh", OpLink::kDirect, "Activation.Tanh"},
    {"activation.sigmoid", OpLink::kDirect, "Activation.Sigmoid"},
    {"activation.swiglu", OpLink::kDirect, "Activation.SwiGLU"},
    {"activation.swish", OpLink::kDirect, "Activation.Swish"},
    {"activation.selu", OpLink::kDirect, "Activation.SELU"},
    {"attention.sdpa", OpLink::kDirect, "Attention.ScaledDotProductAttention"},
    {"attention.mqa", OpLink::kComposite, "Attention.MultiHeadAttention Attention.FlashAttention"},
    {"attention.gqa", OpLink::kComposite, "Attention.MultiHeadAttention Attention.FlashAttention"},
    {"attention.sliding_window", OpLink::kDirect, "Attention.MultiHeadAttention"},
    {"masking.apply", OpLink::kDirect, "Masking.ApplyMask"},
    {"masking.causal", OpLink::kDirect, "Masking.CausalMask"},
    // Arithmetic, norms, and what moves elements.
    {"math.add", OpLink::kDirect, "Elementwise.Add"},
    {"math.mul", OpLink::kDirect, "Elementwise.Mul"},
    {"math.matmul", OpLink::kDirect, "Matmul.Matmul"},
    {"math.exp", OpLink::kDirect, "Activation.Exp"},
    {"math.sin", OpLink::kRegistry, ""},
    {"math.cos", OpLink::kRegistry, ""},
    {"math.log", OpLink::kDirect, "Activation.Log"},
    {"math.logsumexp", OpLink::kRegistry, ""},
    {"math.softmax", OpLink::kDirect, "Activation.Softmax"},
    {"math.outer", OpLink::kRegistry, ""},
    {"math.sign", OpLink::kRegistry, ""},
    {"math.inv_sqrt_dim_scale", OpLink::kRegistry, ""},
    {"math.dropout", OpLink::kDirect, "Dropout.Dropout"},
    {"math.rmsnorm", OpLink::kDirect, "LayerNorm.RMSNorm"},
    {"math.layernorm", OpLink::kDirect, "LayerNorm.LayerNorm"},
    {"math.groupnorm", OpLink::kDirect, "Normalization.GroupNorm"},
    {"shape.reshape", OpLink::kRegistry, ""},
    {"shape.transpose", OpLink::kRegistry, ""},
    {"shape.concat", OpLink::kRegistry, ""},
    {"shape.split", OpLink::kRegistry, ""},
    {"shape.upsample_nearest2d", OpLink::kRegistry, ""},
    {"shape.view_as_heads", OpLink::kRegistry, ""},
    {"shape.merge_heads", OpLink::kRegistry, ""},
    {"shape.last_token", OpLink::kRegistry, ""},
    {"shape.slice", OpLink::kRegistry, ""},
    // Positions, embeddings, convolution, pooling and projections.
    {"positional.rope", OpLink::kDirect, "RoPE.RoPE"},
    {"positional.alibi", OpLink::kDirect, "Masking.ALiBiBias"},
    {"embedding.token", OpLink::kDirect, "Embedding.Lookup"},
    {"convolution.conv1d", OpLink::kDirect, "Convolution.Conv1D"},
    {"convolution.conv2d", OpLink::kDirect, "Convolution.Conv2D"},
    {"convolution.conv3d", OpLink::kDirect, "Convolution.Conv3D"},
    {"convolution.conv_transpose2d", OpLink::kDirect, "Convolution.ConvTranspose2D"},
    {"pooling.max_pool2d", OpLink::kDirect, "Pool.MaxPool2D"},
    {"pooling.avg_pool2d", OpLink::kDirect, "Pool.AvgPool2D"},
    {"pooling.adaptive_avg_pool2d", OpLink::kDirect, "Pool.AdaptiveAvgPool2D"},
    {"pooling.adaptive_max_pool2d", OpLink::kDirect, "Pool.AdaptiveMaxPool2D"},
    {"projection.linear", OpLink::kDirect, "Matmul.Matmul"},
    {"projection.fused_qkv", OpLink::kComposite, "Matmul.Matmul Attention.MultiHeadAttention"},
    // Estimators: point processes, vector symbols, active inference, predictive coding, causality.
    {"hawkes.intensity", OpLink::kDirect, "Hawkes.HawkesIntensity"},
    {"hawkes.kernel_matrix", OpLink::kDirect, "Hawkes.HawkesKernelMatrix"},
    {"hawkes.log_likelihood", OpLink::kDirect, "Hawkes.HawkesLogLikelihood"},
    {"hawkes.simulate", OpLink::kRegistry, ""},
    {"vsa.bind", OpLink::kDirect, "VSA.Bind"},
    {"vsa.bundle", OpLink::kDirect, "VSA.Bundle"},
    {"vsa.similarity", OpLink::kDirect, "VSA.Similarity"},
    {"vsa.permute", OpLink::kDirect, "VSA.Permute"},
    {"vsa.inverse_permute", OpLink::kDirect, "VSA.InversePermute"},
    {"active_inference.belief_update", OpLink::kDirect, "ActiveInference.BeliefUpdate"},
    {"active_inference.expected_free_energy", OpLink::kDirect,
     "ActiveInference.ExpectedFreeEnergy"},
    {"active_inference.free_energy", OpLink::kDirect, "ActiveInference.FreeEnergy"},
    {"active_inference.precision_weight", OpLink::kDirect, "ActiveInference.PrecisionWeight"},
    {"predictive_coding.prediction", OpLink::kDirect, "PredictiveCoding.Prediction"},
    {"predictive_coding.prediction_error", OpLink::kDirect, "PredictiveCoding.PredictionError"},
    {"predictive_coding.update_representation", OpLink::kDirect,
     "PredictiveCoding.UpdateRepresentation"},
    {"predictive_coding.update_weights", OpLink::kDirect, "PredictiveCoding.UpdateWeights"},
    {"markov_blanket.flow_active", OpLink::kDirect, "Causal.MarkovFlowActive"},
    {"markov_blanket.flow_internal", OpLink::kDirect, "Causal.MarkovFlowInternal"},
    {"markov_blanket.mutual_information", OpLink::kDirect, "Hawkes.MarkovMutualInformation"},
    {"markov_blanket.partition", OpLink::kDirect, "Hawkes.MarkovBlanketPartition"},
    {"causal.backdoor_adjustment", OpLink::kDirect, "Causal.BackdoorAdjustment"},
    {"causal.cate", OpLink::kDirect, "Causal.CATE"},
    {"causal.counterfactual", OpLink::kDirect, "Causal.Counterfactual"},
    {"causal.dag_markov_factorization", OpLink::kDirect, "Causal.DAGMarkovFactorization"},
    {"causal.do_calculus", OpLink::kDirect, "Causal.DoIntervene"},
    {"causal.frontdoor_adjustment", OpLink::kDirect, "Causal.FrontdoorAdjustment"},
    {"causal.iv_estimate", OpLink::kDirect, "Causal.IVEstimate"},
    // Training, metrics, and whole models. Optimisers stand on no surface.
    {"train.loss.mse", OpLink::kDirect, "Losses.MSE"},
    {"train.loss.cross_entropy", OpLink::kDirect, "Losses.CrossEntropy"},
    {"train.loss.mse_grad", OpLink::kRegistry, ""},
    {"train.loss.cross_entropy_grad", OpLink::kRegistry, ""},
    {"train.grad.mse", OpLink::kRegistry, ""},
    {"train.grad.cross_entropy", OpLink::kRegistry, ""},
    {"train.optimizer.adam", OpLink::kRegistry, ""},
    {"train.optimizer.adamw", OpLink::kRegistry, ""},
    {"train.optimizer.adamax", OpLink::kRegistry, ""},
    {"train.optimizer.sgd", OpLink::kRegistry, ""},
    {"train.optimizer.lion", OpLink::kRegistry, ""},
    {"train.optimizer.rmsprop", OpLink::kRegistry, ""},
    {"train.optimizer.hebbian", OpLink::kRegistry, ""},
    {"train.optimizer.lars", OpLink::kRegistry, ""},
    {"train.optimizer.lamb", OpLink::kRegistry, ""},
    {"train.optimizer.adagrad", OpLink::kRegistry, ""},
    {"train.optimizer.adadelta", OpLink::kRegistry, ""},
    {"train.optimizer.lbfgs", OpLink::kRegistry, ""},
    {"bench.accuracy", OpLink::kGraphOnly, ""},
    {"bench.perplexity", OpLink::kGraphOnly, ""},
    {"bench.f1", OpLink::kGraphOnly, ""},
    {"bench.metric.accuracy", OpLink::kGraphOnly, ""},
    {"bench.metric.perplexity", OpLink::kGraphOnly, ""},
    {"bench.metric.f1", OpLink::kGraphOnly, ""},
    {"model.graft", OpLink::kGraphOnly, ""},
    {"model.freeze", OpLink::kGraphOnly, ""},
};

// Grouped by surface. A method reaches one operation, an operation may serve several methods.
constexpr SurfaceMethod kSurfaceMethods[] = {
    {"PosPop.CountString", "pospop.count_string"},
    {"PosPop.Count8", "pospop.count8"},
    {"PosPop.Count16", "pospop.count16"},
    {"PosPop.Count32", "pospop.count32"},
    {"PosPop.Count64", "pospop.count64"},
    // Exponentials and logarithms are listed with the activations, wherever their ids live.
    {"Activation.Exp", "math.exp"},
    {"Activation.Log", "math.log"},
    {"Activation.Log1p", "activation.log1p"},
    {"Activation.Expm1", "activation.expm1"},
    {"Activation.Sigmoid", "activation.sigmoid"},
    {"Activation.LogSigmoid", "activation.log_sigmoid"},
    {"Activation.Tanh", "activation.tanh"},
    {"Activation.Silu", "activation.silu"},
    {"Activation.Swish", "activation.swish"},
    {"Activation.GeluTanh", "activation.gelu_tanh"},
    {"Activation.Gelu", "activation.gelu"},
    {"Activation.ReLU", "activation.relu"},
    {"Activation.LeakyReLU", "activation.leaky_relu"},
    {"Activation.ELU", "activation.elu"},
    {"Activation.CELU", "activation.celu"},
    {"Activation.SELU", "activation.selu"},
    {"Activation.Softplus", "activation.softplus"},
    {"Activation.Mish", "activation.mish"},
    {"Activation.Softsign", "activation.softsign"},
    {"Activation.HardSigmoid", "activation.hard_sigmoid"},
    {"Activation.HardSwish", "activation.hard_swish"},
    {"Activation.HardTanh", "activation.hard_tanh"},
    {"Activation.HardGelu", "activation.hard_gelu"},
    {"Activation.QuickGelu", "activation.quick_gelu"},
    {"Activation.TanhShrink", "activation.tanh_shrink"},
    {"Activation.Softmax", "math.softmax"},
    {"Activation.LogSoftmax", "activation.log_softmax"},
    {"Activation.PReLU", "activation.prelu"},
    {"Activation.PReLUV", "activation.prelu_v"},
    {"Activation.LeakyReLUSlope", "activation.leaky_relu_slope"},
    {"Activation.ELUAlpha", "activation.elu_alpha"},
    {"Activation.CELUAlpha", "activation.celu_alpha"},
    {"Activation.Threshold", "activation.threshold"},
    {"Activation.HardTanhRange", "activation.hard_tanh_range"},
    {"Activation.Snake", "activation.snake"},
    {"Activation.SnakeParametric", "activation.snake_parametric"},
    {"Activation.HardShrink", "activation.hard_shrink"},
    {"Activation.SoftShrink", "activation.soft_shrink"},
    {"Activation.RReLU", "activation.rrelu"},
    {"Activation.GLU", "activation.glu"},
    {"Activation.GeGLU", "activation.geglu"},
    {"Activation.GeGLUTanh", "activation.geglu_tanh"},
    {"Activation.SwiGLU", "activation.swiglu"},
    {"Activation.ReGLU", "activation.reglu"},
    {"Activation.SiGLU", "activation.siglu"},
    {"Activation.LinGLU", "activation.linglu"},
    {"Activation.SeGLU", "activation.seglu"},
    {"Activation.GLUTensors", "activation.glu_tensors"},
    {"Activation.GeGLUTensors", "activation.geglu_tensors"},
    {"Activation.GeGLUTanhTensors", "activation.geglu_tanh_tensors"},
    {"Activation.SwiGLUTensors", "activation.swiglu_tensors"},
    {"Activation.ReGLUTensors", "activation.reglu_tensors"},
    {"Activation.SiGLUTensors", "activation.siglu_tensors"},
    {"Activation.LinGLUTensors", "activation.linglu_tensors"},
    {"Activation.SeGLUTensors", "activation.seglu_tensors"},
    // One operation may have the id of another family (math.add) on the surface that publishes it.
    {"Elementwise.Add", "math.add"},
    {"Elementwise.Sub", "elementwise.sub"},
    {"Elementwise.Mul", "math.mul"},
    {"Elementwise.Div", "elementwise.div"},
    {"Elementwise.Max", "elementwise.max"},
    {"Elementwise.Min", "elementwise.min"},
    {"Elementwise.Abs", "elementwise.abs"},
    {"Elementwise.Neg", "elementwise.neg"},
    {"Elementwise.Sqrt", "elementwise.sqrt"},
    {"Elementwise.ReLU", "elementwise.relu"},
    {"Elementwise.Axpy", "elementwise.axpy"},
    {"Reduction.Sum", "reduction.sum"},
    {"Reduction.Prod", "reduction.prod"},
    {"Reduction.ReduceMin", "reduction.reduce_min"},
    {"Reduction.ReduceMax", "reduction.reduce_max"},
    {"Reduction.L1Norm", "reduction.l1_norm"},
    {"Dot.Dot", "dot.dot"},
    {"Matmul.Matmul", "math.matmul"},
    {"Pool.MaxPool2D", "pooling.max_pool2d"},
    {"Pool.AvgPool2D", "pooling.avg_pool2d"},
    {"Pool.AdaptiveMaxPool2D", "pooling.adaptive_max_pool2d"},
    {"Pool.AdaptiveAvgPool2D", "pooling.adaptive_avg_pool2d"},
    {"Convolution.Conv2D", "convolution.conv2d"},
    {"Convolution.Conv1D", "convolution.conv1d"},
    {"Convolution.Conv3D", "convolution.conv3d"},
    {"Convolution.ConvTranspose2D", "convolution.conv_transpose2d"},
    {"Dropout.Dropout", "math.dropout"},
    {"Losses.MSE", "train.loss.mse"},
    {"Losses.MAE", "losses.mae"},
    {"Losses.Huber", "losses.huber"},
    {"Losses.BinaryCrossEntropy", "losses.binary_cross_entropy"},
    {"Losses.KLDivergence", "losses.kl_divergence"},
    {"Losses.CrossEntropy", "train.loss.cross_entropy"},
    {"Sampling.GreedySample", "sampling.greedy_sample"},
    {"Sampling.TopKSample", "sampling.top_k_sample"},
    {"Sampling.TopPSample", "sampling.top_p_sample"},
    {"Embedding.Lookup", "embedding.token"},
    {"Embedding.Bag", "embedding.bag"},
    {"Normalization.GroupNorm", "math.groupnorm"},
    {"Normalization.InstanceNorm", "normalization.instance_norm"},
    {"Normalization.BatchNormEval", "normalization.batch_norm_eval"},
    {"LayerNorm.LayerNorm", "math.layernorm"},
    {"LayerNorm.RMSNorm", "math.rmsnorm"},
    {"RoPE.RoPE", "positional.rope"},
    {"RoPE.RoPEPairs", "rope.rope_pairs"},
    {"Hawkes.HawkesIntensity", "hawkes.intensity"},
    {"Hawkes.HawkesKernelMatrix", "hawkes.kernel_matrix"},
    {"Hawkes.HawkesLogLikelihood", "hawkes.log_likelihood"},
    // The surface's family is not always the operation's: Markov blankets are on Hawkes and Causal.
    {"Hawkes.MarkovMutualInformation", "markov_blanket.mutual_information"},
    {"Hawkes.MarkovBlanketPartition", "markov_blanket.partition"},
    {"Physics.Laplacian", "physics.laplacian"},
    {"Physics.Laplacian4", "physics.laplacian4"},
    {"Physics.Grad1D", "physics.grad1d"},
    {"Physics.Divergence1D", "physics.divergence1d"},
    {"Physics.FFT1D", "physics.fft1d"},
    {"Physics.IFFT1D", "physics.ifft1d"},
    {"Physics.QuantumPotential", "physics.quantum_potential"},
    {"Physics.BohmianVelocity", "physics.bohmian_velocity"},
    {"Physics.MadelungContinuity", "physics.madelung_continuity"},
    {"Causal.Cholesky", "causal.cholesky"},
    {"Causal.BackdoorAdjustment", "causal.backdoor_adjustment"},
    {"Causal.FrontdoorAdjustment", "causal.frontdoor_adjustment"},
    {"Causal.DoIntervene", "causal.do_calculus"},
    {"Causal.CATE", "causal.cate"},
    {"Causal.Counterfactual", "causal.counterfactual"},
    {"Causal.IVEstimate", "causal.iv_estimate"},
    {"Causal.DAGMarkovFactorization", "causal.dag_markov_factorization"},
    {"Causal.MarkovFlowActive", "markov_blanket.flow_active"},
    {"Causal.MarkovFlowInternal", "markov_blanket.flow_internal"},
    {"Masking.ApplyMask", "masking.apply"},
    {"Masking.CausalMask", "masking.causal"},
    {"Masking.ALiBiBias", "positional.alibi"},
    {"Attention.ScaledDotProductAttention", "attention.sdpa"},
    {"Attention.FlashAttention", "attention.flash_attention"},
    {"Attention.MultiHeadAttention", "attention.multi_head_attention"},
    {"VSA.Bind", "vsa.bind"},
    {"VSA.Bundle", "vsa.bundle"},
    {"VSA.Permute", "vsa.permute"},
    {"VSA.InversePermute", "vsa.inverse_permute"},
    {"VSA.Similarity", "vsa.similarity"},
    {"ActiveInference.FreeEnergy", "active_inference.free_energy"},
    {"ActiveInference.ExpectedFreeEnergy", "active_inference.expected_free_energy"},
    {"ActiveInference.BeliefUpdate", "active_inference.belief_update"},
    {"ActiveInference.PrecisionWeight", "active_inference.precision_weight"},
    {"PredictiveCoding.Prediction", "predictive_coding.prediction"},
    {"PredictiveCoding.PredictionError", "predictive_coding.prediction_error"},
    {"PredictiveCoding.UpdateRepresentation", "predictive_coding.update_representation"},
    {"PredictiveCoding.UpdateWeights", "predictive_coding.update_weights"},
    // Affine quantisation of whole tensors; block formats are dtypes and no methods.
    {"Dequant.Dequant", "dequant.dequant"},
    {"Dequant.Dequant4", "dequant.dequant4"},
    {"Quant.Quant", "quant.quant"},
};

// Whole names only: Activation.GLU is not in "Activation.GLUTensors". Names stand between spaces.
bool names_method(std::string_view methods, std::string_view name) {
  while (!methods.empty()) {
    const size_t space = methods.find(' ');
    // substr takes npos as "to the end", so the last name needs no case of its own.
    if (methods.substr(0, space) == name) return true;
    if (space == std::string_view::npos) return false;
    methods.remove_prefix(space + 1);
  }
  return false;
}

}  // namespace

std::span<const RequiredOp> required_ops() {
  return kRequiredOps;
}

std::span<const SurfaceMethod> surface_methods() {
  return kSurfaceMethods;
}

// A linear search of the 119 rows; the result points into the table.
const RequiredOp* find_required(std::string_view id) {
  const auto* found = std::ranges::find(kRequiredOps, id, &RequiredOp::id);
  return found == std::end(kRequiredOps) ? nullptr : found;
}

bool is_required_method(std::string_view name) {
  return std::ranges::any_of(kRequiredOps,
                             [&](const RequiredOp& op) { return names_method(op.methods, name); });
}

std::string_view op_link_name(OpLink link) {
  switch (link) {
    case OpLink::kDirect:
      return "direct";
    case OpLink::kComposite:
      return "composite";
    case OpLink::kRegistry:
      return "registry";
    case OpLink::kGraphOnly:
      return "graph-only";
  }
  return "unknown";
}

}  // namespace quern
