// The table: every operation but those that bind values or work on a key-value state.
#include "conformance/case_table.h"

namespace quern {
namespace {

// Sizes of products: 1, odd, empty in each extent, and longer than a block of sums.
constexpr std::string_view kMatmulSizes =
    "M=1 K=1 N=1; M=3 K=5 N=7; M=2 K=0 N=3; M=0 K=4 N=3; M=4 K=7 N=0; M=17 K=13 N=31; "
    "M=5 K=300 N=33; M=2 K=1031 N=129";
// Block-quantised weights: B blocks along a row, O rows.
constexpr std::string_view kBlockSizes =
    "N=1 B=1 O=1; N=3 B=2 O=5; N=17 B=3 O=13; N=0 B=1 O=4; N=2 B=5 O=67";
// Heads: up to two chunks of keys (64) and more than one block of chunks (512).
// S = 70 passes a chunk, 600 an outer chunk; S = 0 leaves nothing to attend to; B = 0 is an empty
// batch.
constexpr std::string_view kHeadSizes =
    "B=1 H=1 T=1 S=1 D=2 E=2; B=2 H=3 T=5 S=5 D=8 E=6; B=1 H=2 T=3 S=70 D=10 E=4; "
    "B=1 H=1 T=2 S=0 D=4 E=4; B=0 H=2 T=2 S=2 D=4 E=4; B=1 H=2 T=7 S=600 D=16 E=16; "
    "B=1 H=2 T=67 S=67 D=12 E=12";
// Images: extents that windows do not divide.
// 13 x 17 and 31 x 29 are prime: no window or stride divides them.
constexpr std::string_view kImageSizes =
    "N=1 C=1 H=4 W=4; N=2 C=3 H=7 W=5; N=1 C=2 H=13 W=17; N=0 C=2 H=6 W=6; N=2 C=5 H=31 W=29";
// 257 and 4,099 are one and three past 256 and 4,096.
constexpr std::string_view kLineSizes = "N=1; N=2; N=3; N=7; N=13; N=0; N=257; N=4099";
constexpr std::string_view kSquareSizes = "N=1; N=2; N=3; N=7; N=13; N=33";
// N samples of A and B variables: enough samples for the estimates to exist.
constexpr std::string_view kSampleSizes = "N=12 A=1 B=1; N=29 A=2 B=3; N=67 A=3 B=2";

// Operations that share a row are checked with the same inputs, attributes and sizes. Parameters
// are chosen off their defaults, negative where the formula has a case for it, and at the edges 0
// and 1.
constexpr CaseRow kRows[] = {
    // Elementwise: activations and functions of one tensor.
    {"activation.celu activation.elu activation.expm1 activation.gelu activation.gelu_tanh "
     "activation.hard_sigmoid activation.hard_swish activation.hard_tanh activation.leaky_relu "
     "activation.log1p activation.log_sigmoid activation.mish activation.quick_gelu "
     "activation.relu activation.selu activation.sigmoid activation.softplus activation.softsign "
     "activation.swish activation.tanh activation.tanh_shrink math.exp math.erf math.log math.sin "
     "math.cos "
     "elementwise.sqrt math.inv_sqrt_dim_scale math.acos math.acosh math.asin math.asinh math.atan "
     "math.atanh math.ceil math.cosh math.floor math.round math.sinh math.tan",
     "f[N,D]", "", "", "N"},
    {"activation.celu_alpha", "f[N,D]", "alpha=1.5", "", "N"},
    {"activation.celu_alpha", "f[N,D]", "alpha=-0.5", "", "N"},
    {"activation.elu_alpha", "f[N,D]", "alpha=0.7", "", "N"},
    {"activation.leaky_relu", "f[N,D]", "alpha=-0.2", "", "N"},
    {"activation.gelu", "f[N,D]", "approximate=tanh", "", "N"},
    {"activation.hard_shrink activation.soft_shrink", "f[N,D]", "lambda=0.5", "", "N"},
    {"activation.soft_shrink", "f[N,D]", "lambda=0", "", "N"},
    {"activation.hard_tanh_range", "f[N,D]", "min=-2 max=1", "", "N"},
    {"activation.prelu", "f[N,D]", "slope=0.25", "", "N"},
    {"activation.snake", "f[N,D]", "alpha=1.5", "", "N"},
    {"activation.snake_parametric", "f[N,D]", "alpha=1.5 beta=0.5", "", "N"},
    {"activation.threshold", "f[N,D]", "theta=0.3", "", "N"},
    {"math.scale", "f[N,D]", "factor=1.7", "", "N"},
    {"activation.prelu_v", "f[N] f[N]", "", "", ""},
    {"activation.prelu_v", "f[N,D] f[1]", "", "", "N"},
    {"activation.rrelu", "f[N,D]", "", "", "N"},
    {"activation.rrelu", "f[N,D]", "training=true seed=7", "", ""},
    {"activation.rrelu", "f[N,D]", "generator=lcg", "", ""},
    {"math.dropout", "f[N,D]", "p=0.4 seed=7", "", ""},
    {"math.dropout", "f[N,D]", "p=1", "", ""},
    {"math.dropout", "f[N,D]", "training=false", "", "N"},
    {"activation.geglu activation.geglu_tanh activation.glu activation.linglu activation.reglu "
     "activation.siglu activation.swiglu",
     "f[N,2*D]", "", "", "N"},
    {"activation.geglu_tensors activation.geglu_tanh_tensors activation.glu_tensors "
     "activation.linglu_tensors activation.reglu_tensors activation.siglu_tensors "
     "activation.swiglu_tensors elementwise.div",
     "f[N,D] f[N,D]", "", "", "N"},
    {"elementwise.axpy", "f[N,D] f[N,D]", "alpha=0.7", "", "N"},
    {"elementwise.axpy", "f[N] f[N]", "alpha=0", "", "N"},
    {"elementwise.abs elementwise.neg math.sign", "n[N,D]", "", "", "N"},
    {"math.add math.mul elementwise.sub elementwise.max elementwise.min", "n[N,D] n[N,D]", "", "",
     "N"},
    {"math.add", "n[N,D] n[D]", "", "", "N"},
    {"math.add math.mul", "n[] n[]", "", "", ""},
    {"math.outer", "f[N] f[D]", "", "", "N"},
    {"math.pow", "f[N,D] f[N,D]", "", "", "N"},
    {"compare.equal compare.less compare.less_or_equal elementwise.remainder", "n[N,D] n[N,D]", "",
     "", "N"},
    {"elementwise.remainder", "n[N,D] n[N,D]", "sign=divisor", "", "N"},
    {"compare.where", "u8<2[N,D] n[N,D] n[N,D]", "", "", "N"},
    {"elementwise.quotient bits.and bits.or bits.xor bits.shift_left bits.shift_right",
     "i32[N,D] i32[N,D]", "", "", "N"},
    {"elementwise.quotient bits.and bits.or bits.xor bits.shift_left bits.shift_right",
     "u8<40[N,D] u8<12[N,D]", "", "", "N"},
    {"elementwise.quotient bits.shift_left bits.shift_right", "i64[N,D] i64<70[N,D]", "", "", "N"},
    {"graph.copy", "n[N,D]", "from=cpu to=reference", "", "N"},

    // What the fusion passes make.
    {"fused.elementwise", "f[N,D] f[N,D] f[D]",
     "program=math.mul(x0,x1);math.add(v0,x2);activation.relu(v1)", "", "N"},
    {"fused.elementwise", "f[N,D]", "program=activation.gelu(x0);math.mul(v0,x0)", "", "N"},
    {"fused.linear", "f[M,K] f[N,K] f[N] - f[M,N]", "program=activation.swish(x0);math.add(v0,x1)",
     kMatmulSizes, "M"},
    {"fused.linear", "act8[N,32*B] q4_0[O,32*B] - f32+[N,B] f32[N,O]", "program=math.add(x0,x1)",
     kBlockSizes, "N"},
    {"fused.gated_linear", "f[M,K] f[N,K] f[N,K]", "program=activation.swiglu_tensors(x0,x1)",
     kMatmulSizes, "M"},
    {"fused.gated_linear", "act8[N,32*B] q8_0[O,32*B] q8_0[O,32*B] - - f32+[N,B]",
     "program=activation.swiglu_tensors(x0,x1)", kBlockSizes, "N"},
    {"fused.matmul", "f[M,K] f[K,N] f[N]", "program=math.add(x0,x1);activation.relu(v0)",
     kMatmulSizes, "M"},
    {"fused.attention", "f[T,D] f[D,S] f[S,E] f[T,S]",
     "program=math.scale(x0){factor=0.5};math.add(v0,x1)",
     "T=1 D=2 S=1 E=2; T=5 D=8 S=7 E=6; T=67 D=12 S=70 E=4; T=0 D=4 S=2 E=4", "T"},
    {"fused.quantize", "f[N,64] f[64]", "program=math.rmsnorm(x0,x1)", "N=1; N=3; N=0; N=67", "N"},
    {"fused.quantize", "f[N,256] f[N,256]", "program=math.mul(x0,x1) block=256 bits=16",
     "N=1; N=3; N=0; N=17", "N"},

    // Reductions and rows.
    {"reduction.sum reduction.prod reduction.l1_norm reduction.mean reduction.reduce_max "
     "reduction.reduce_min",
     "n[N,D]", "", "", ""},
    {"reduction.sum reduction.prod reduction.l1_norm reduction.mean reduction.reduce_max "
     "reduction.reduce_min",
     "n[N,D]", "axes=[1]", "", "N"},
    {"reduction.sum reduction.mean reduction.reduce_max", "n[N,M,D]", "axes=[0,2] keep_dims=true",
     "N=3 M=5 D=7; N=2 M=33 D=70; N=0 M=3 D=2; N=1 M=1 D=1; N=17 M=1 D=300", ""},
    {"reduction.argmin", "n[N,D]", "", "", "N"},
    {"reduction.argmax math.softmax activation.log_softmax math.logsumexp", "f[N,D]", "", "", "N"},
    {"math.softmax math.logsumexp", "f[D]", "", "", ""},
    {"sort.top_k", "f[N,D]", "k=3", "N=1 D=3; N=3 D=7; N=2 D=4099; N=0 D=5; N=17 D=31", "N"},
    {"dot.dot", "f[N] f[N]", "", "", ""},
    {"math.rmsnorm", "f[N,D] f[D]", "eps=1e-5", "", "N"},
    {"math.rmsnorm", "f[N,D]", "eps=0", "", "N"},
    {"math.layernorm", "f[N,D] f[D] f[D]", "", "", "N"},
    {"math.layernorm", "f[N,D] - f[D]", "eps=0", "", "N"},
    {"math.groupnorm", "f[N,4,D] f[4] f[4]", "groups=2", "", "N"},
    {"math.groupnorm", "f[N,6,D,2]", "groups=3 eps=0.01", "", "N"},
    {"normalization.instance_norm", "f[N,C,D] f[C] f[C]", "", "", "N"},
    {"normalization.batch_norm_eval", "f[N,C,D] f[C] f+[C] f[C] f[C]", "", "", "N"},
    {"normalization.batch_norm_eval", "f[N,C] f[C] f+[C]", "eps=0", "", "N"},

    // Products.
    {"math.matmul", "f[M,K] f[K,N]", "", kMatmulSizes, "M"},
    {"Fused", "f[M,K] f[K,N] f[N]", "activation=relu", kMatmulSizes, "M"},
    {"Fused", "f[M,K] f[K,N]", "activation=gelu", kMatmulSizes, "M"},
    {"Fused", "f[M,K] f[K,N] f[N]", "activation=swish", "M=3 K=5 N=7", "M"},
    {"projection.linear", "f[M,K] f[N,K] f[N]", "", kMatmulSizes, "M"},
    {"projection.linear", "f[2,M,K] f[N,K]", "weight_scale=0.5", "M=3 K=5 N=7; M=2 K=257 N=33", ""},
    {"projection.linear", "f32[N,32*B] q8_0[O,32*B] f32[O]", "", kBlockSizes, "N"},
    {"projection.linear", "f32[N,32*B] q4_0[O,32*B]", "", kBlockSizes, "N"},
    {"projection.linear", "f32[N,256*B] q4_K[O,256*B] f32[O]", "", kBlockSizes, "N"},
    {"projection.linear", "f32[N,256*B] q6_K[O,256*B]", "", kBlockSizes, "N"},
    {"projection.linear", "act8[N,32*B] q8_0[O,32*B] f32[O] f32+[N,B]", "", kBlockSizes, "N"},
    {"projection.linear", "act8[N,32*B] q4_0[O,32*B] - f32+[N,B]", "", kBlockSizes, "N"},
    {"projection.linear", "act16[N,32*B] q4_1[O,32*B] - f32+[N,B]", "", kBlockSizes, "N"},
    {"projection.linear", "act16[N,32*B] q5_0[O,32*B] - f32+[N,B]", "", kBlockSizes, "N"},
    {"projection.linear", "act8[N,32*B] q5_1[O,32*B] - f32+[N,B]", "", kBlockSizes, "N"},
    {"projection.linear", "act8[N,32*B] iq4_nl[O,32*B] - f32+[N,B]", "", kBlockSizes, "N"},
    {"projection.linear", "act8[N,32*B] mxfp4[O,32*B] - f32+[N,B]", "", kBlockSizes, "N"},
    {"projection.linear", "act8[N,64*B] nvfp4[O,64*B] - f32+[N,2*B]", "weight_scale=0.25",
     kBlockSizes, "N"},
    {"projection.linear", "act8[N,256*B] q2_K[O,256*B] - f32+[N,B]", "", kBlockSizes, "N"},
    {"projection.linear", "act8[N,256*B] q3_K[O,256*B] - f32+[N,B]", "", kBlockSizes, "N"},
    {"projection.linear", "act16[N,256*B] q4_K[O,256*B] - f32+[N,B]", "", kBlockSizes, "N"},
    {"projection.linear", "act8[N,256*B] q5_K[O,256*B] - f32+[N,B]", "", kBlockSizes, "N"},
    {"projection.linear", "act16[N,256*B] q6_K[O,256*B] - f32+[N,B]", "", kBlockSizes, "N"},
    {"projection.fused_qkv", "f[M,K] f[9,K] f[9]", "d_in=5 d_q=4 d_k=3 d_v=2",
     "M=3 K=5; M=1 K=5; M=67 K=5; M=0 K=5", "M"},
    {"quant.dynamic", "f[N,D]", "", "", "N"},
    {"quant.dynamic", "f[N,D]", "block=256 bits=16", "", "N"},
    {"experts.linear", "f[T,K] f[E,N,K] i32<E[T,2] f[E,N]", "",
     "T=1 K=1 E=1 N=1; T=5 K=7 E=3 N=6; T=0 K=4 E=2 N=3; T=17 K=70 E=4 N=33", "T"},
    {"experts.linear", "f[T,2,K] f[E,N,K] i32<E[T,2]", "", "T=5 K=7 E=3 N=6; T=3 K=257 E=2 N=5",
     "T"},
    {"experts.combine", "f[T,U,N] f[T,U]", "",
     "T=1 U=1 N=1; T=5 U=2 N=7; T=3 U=0 N=4; T=0 U=2 N=3; T=17 U=4 N=67", "T"},
    {"embedding.token", "i32<V[N] f[V,D]", "",
     "N=1 V=1 D=1; N=5 V=7 D=3; N=0 V=3 D=4; N=67 V=13 D=33", "N"},
    {"embedding.token", "i64<V[N,2] f[V,D]", "", "N=5 V=7 D=3", "N"},
    {"embedding.token", "i32<V[N] q4_0[V,32*D]", "", "N=5 V=7 D=3", "N"},
    {"embedding.token", "i32=9[N] f[V,D]", "", "N=2 V=9 D=3", ""},
    {"embedding.bag", "i64<V[N] i64up<N[B] f[V,D]", "",
     "N=5 B=3 V=7 D=3; N=0 B=2 V=3 D=4; N=67 B=13 V=13 D=33; N=3 B=0 V=3 D=4", ""},

    // Attention and positions.
    {"attention.sdpa attention.flash_attention", "f[B,H,T,D] f[B,H,S,D] f[B,H,S,E]", "causal=false",
     kHeadSizes, "B"},
    {"attention.sdpa", "f[B,H,T,D] f[B,H,S,D] f[B,H,S,E]", "causal=true", kHeadSizes, "B"},
    {"attention.sdpa", "f[B,H,T,D] f[B,H,S,D] f[B,H,S,E] fm[T,S]", "scale=0.3", kHeadSizes, ""},
    {"attention.gqa", "f[B,6,T,D] f[B,2,S,D] f[B,2,S,E]", "causal=true", kHeadSizes, "B"},
    {"attention.gqa", "f[B,6,T,D] f[B,2,S,D] f[B,2,S,E] fm[1,1,T,S]", "", kHeadSizes, ""},
    {"attention.gqa", "f[B,6,T,D] f[B,2,T,D] f[B,2,T,E] - f[B,2,P,D] f[B,2,P,E]", "causal=true",
     "B=1 T=1 P=1 D=2 E=2; B=2 T=5 P=7 D=8 E=6; B=1 T=3 P=0 D=4 E=4; B=1 T=67 P=13 D=12 E=12", "B"},
    {"attention.gqa", "f[B,4,T,D] f[B,2,T,D] f[B,2,T,D] - f[B,2,P,D] f[B,2,P,D]",
     "causal=true start_position=3", "B=2 T=5 P=7 D=8; B=1 T=1 P=3 D=2", "B"},
    {"attention.mqa", "f[B,H,T,D] f[B,1,S,D] f[B,1,S,E]", "causal=true", kHeadSizes, "B"},
    {"attention.gqa", "f[B,H,T,D] f[B,2,S,D] f[B,2,S,E]", "", "B=2 H=0 T=3 S=4 D=6 E=5", ""},
    {"attention.mqa", "f[B,H,T,D] f[B,1,S,D] f[B,1,S,E]", "", "B=2 H=0 T=3 S=4 D=6 E=5", ""},
    {"attention.sliding_window", "f[B,H,T,D] f[B,H,S,D] f[B,H,S,E]", "window=3", kHeadSizes, "B"},
    {"attention.multi_head_attention", "f[T,24] f[S,12] f[S,12]",
     "num_heads=4 head_dim=6 kv_head_count=2 causal=true alibi_slope=0.5",
     "T=1 S=1; T=5 S=7; T=67 S=67; T=0 S=3", ""},
    {"attention.multi_head_attention", "f[T,24] f[S,24] f[S,24]",
     "num_heads=4 head_dim=6 window_size=3", "T=1 S=1; T=5 S=7; T=67 S=67", ""},
    {"positional.rope", "f[B,H,T,D]", "start_position=1000",
     "B=1 H=1 T=1 D=2; B=2 H=3 T=5 D=8; B=0 H=1 T=2 D=4; B=1 H=2 T=67 D=66", "B"},
    {"positional.rope", "f[B,H,T,D]", "style=half base=500", "B=2 H=3 T=5 D=8; B=1 H=2 T=33 D=66",
     "B"},
    {"positional.rope_at", "f[T,H,D] i32<5000[T]", "",
     "T=1 H=1 D=2; T=5 H=3 D=8; T=0 H=1 D=4; T=67 H=2 D=66", "T"},
    {"positional.rope_at", "f[T,H,16] i32<5000[T] f32+[4]",
     "n_rot=8 style=half scaling=linear factor=2", "T=5 H=3; T=33 H=2", "T"},
    {"positional.rope_at", "f[T,H,16] i32<5000[T]",
     "style=half scaling=yarn factor=4 original_context=256 attn_factor=1.1", "T=5 H=3", "T"},
    {"positional.alibi", "f[B,4,T,S]", "num_heads=4",
     "B=2 T=3 S=5; B=1 T=1 S=1; B=0 T=2 S=2; B=1 T=33 S=65", "B"},
    {"positional.alibi", "f[B,3,T,S]", "num_heads=3 causal=false", "B=2 T=3 S=5", "B"},
    {"rope.rope_pairs", "f[T,10] f[T,5] f[T,5]", "half_dim=5", "T=1; T=7; T=0; T=257", "T"},
    {"masking.apply", "f[B,T,S] fm[T,S]", "",
     "B=2 T=3 S=5; B=1 T=1 S=1; B=3 T=0 S=2; B=2 T=33 S=65", "B"},
    {"masking.causal", "i64=5[1]", "seq_len=5", "", ""},
    {"masking.causal", "", "seq_len=67 dtype=f32", "", ""},
    {"masking.causal", "i64=3[1]", "seq_len=5", "", ""},

    // Convolution and pooling.
    {"convolution.conv1d", "f[N,C,L] f[O,C,3] f[O]", "kernel_size=3",
     "N=1 C=1 L=3 O=1; N=2 C=3 L=7 O=5; N=0 C=2 L=5 O=3; N=1 C=13 L=259 O=17", "N"},
    {"convolution.conv1d", "f[N,4,L] f[6,2,2]",
     "kernel_size=2 stride=2 padding=1 dilation=2 groups=2", "N=2 L=9; N=1 L=67", "N"},
    {"convolution.conv2d", "f[N,C,H,W] f[O,C,3,3] f[O]", "kernel_h=3 kernel_w=3 pad_h=1 pad_w=1",
     "N=1 C=1 H=3 W=3 O=1; N=2 C=3 H=7 W=5 O=4; N=0 C=2 H=5 W=5 O=3; N=1 C=33 H=13 W=17 O=19", "N"},
    {"convolution.conv2d", "f[N,4,H,W] f[6,2,2,1]",
     "kernel_h=2 kernel_w=1 stride_h=2 stride_w=1 pad_h=1 pad_w=0 dil_h=2 dil_w=3 groups=2",
     "N=2 H=7 W=5; N=1 H=31 W=29", "N"},
    {"convolution.conv3d", "f[N,C,D,H,W] f[O,C,2,2,2] f[O]", "kernel_d=2 kernel_h=2 kernel_w=2",
     "N=1 C=1 D=2 H=2 W=2 O=1; N=2 C=3 D=4 H=5 W=3 O=4; N=0 C=2 D=3 H=3 W=3 O=3; N=1 C=5 D=7 H=11 "
     "W=9 O=7",
     "N"},
    {"convolution.conv_transpose2d", "f[N,C,H,W] f[C,O,3,3] f[O]",
     "kernel_h=3 kernel_w=3 stride_h=2 stride_w=2 pad_h=1 pad_w=1 out_pad_h=1 out_pad_w=1",
     "N=1 C=1 H=1 W=1 O=1; N=2 C=3 H=4 W=5 O=4; N=0 C=2 H=3 W=3 O=3; N=1 C=7 H=13 W=11 O=5", "N"},
    {"convolution.conv_transpose2d", "f[N,4,H,W] f[4,3,2,2]",
     "kernel_h=2 kernel_w=2 dil_h=2 dil_w=3 groups=2", "N=2 H=4 W=5", "N"},
    {"pooling.max_pool2d pooling.avg_pool2d", "f[N,C,H,W]",
     "kernel_h=2 kernel_w=2 stride_h=2 stride_w=2", kImageSizes, "N"},
    {"pooling.max_pool2d pooling.avg_pool2d", "f[N,C,H,W]",
     "kernel_h=3 kernel_w=2 stride_h=2 stride_w=1 pad_h=1 pad_w=1 dil_w=2 ceil=true", kImageSizes,
     "N"},
    {"pooling.adaptive_avg_pool2d pooling.adaptive_max_pool2d", "f[N,C,H,W]", "out_h=3 out_w=2",
     kImageSizes, "N"},
    {"shape.upsample_nearest2d", "n[N,C,4,6]", "out_h=8 out_w=18", "N=1 C=1; N=2 C=3; N=0 C=2",
     "N"},

    // Moving elements.
    {"shape.reshape", "n[N,6]", "shape=[-1,3]", "N=1; N=5; N=0; N=1031", ""},
    {"shape.transpose", "n[N,D]", "dim0=0 dim1=1", "", ""},
    {"shape.transpose", "n[N,M,D]", "dim0=-1 dim1=0", "N=3 M=5 D=7; N=2 M=33 D=70; N=0 M=3 D=2",
     ""},
    {"shape.permute", "n[N,M,D]", "order=[2,0,1]", "N=3 M=5 D=7; N=17 M=33 D=70; N=0 M=3 D=2", ""},
    {"shape.concat", "n[N,D] n[M,D] n[N,D]", "dim=0", "N=3 M=5 D=7; N=0 M=3 D=2; N=67 M=1 D=129",
     ""},
    {"shape.concat", "n[N,D] n[N,M]", "dim=-1", "N=3 M=5 D=7; N=5 M=0 D=2; N=67 M=1 D=129", "N"},
    {"shape.split", "n[N,6]", "split_size=2 dim=1", "N=1; N=5; N=0; N=257", ""},
    {"shape.slice", "n[N,7]", "dim=1 start=2 end=5", "N=1; N=5; N=0; N=257", "N"},
    {"shape.slice", "n[N,D]", "", "", "N"},
    {"shape.view_as_heads", "n[B,T,12]", "num_heads=4", "B=1 T=1; B=2 T=5; B=0 T=3; B=3 T=67", "B"},
    {"shape.merge_heads", "n[B,H,T,D]", "",
     "B=1 H=1 T=1 D=1; B=2 H=3 T=5 D=4; B=0 H=2 T=3 D=2; B=1 H=4 T=67 D=16", "B"},
    {"shape.last_token", "n[B,T,D]", "",
     "B=1 T=1 D=1; B=2 T=5 D=7; B=0 T=3 D=2; B=3 T=67 D=33; B=2 T=0 D=3", "B"},
    {"shape.broadcast", "n[N,1,D]", "shape=[2,-1,3,-1]", "N=1 D=1; N=5 D=7; N=0 D=3; N=17 D=67",
     ""},
    {"shape.broadcast", "n[D] n[N,D]", "", "N=3 D=7; N=0 D=2", ""},
    {"shape.gather_rows", "n[V,D] i32<V[N]", "",
     "N=1 V=1 D=1; N=5 V=7 D=3; N=0 V=3 D=4; N=67 V=13 D=33", ""},
    {"shape.gather_rows", "n[V,D] i32=9[N]", "", "N=2 V=9 D=3", ""},
    {"shape.select_rows", "n[N,D] n[N,D] i32<2[N]", "", "N=1 D=1; N=5 D=7; N=0 D=3; N=67 D=33",
     "N"},
    {"math.cast", "n[N,D]", "to=f32", "", "N"},
    {"math.cast", "n[N,D]", "to=f16", "N=3 D=7; N=2 D=4099", "N"},
    {"math.cast", "n[N,D]", "to=bf16", "N=3 D=7; N=2 D=4099", "N"},
    {"math.cast", "n[N,D]", "to=f64", "N=3 D=7; N=2 D=4099", "N"},
    {"math.cast", "n[N,D]", "to=f8e4m3", "N=3 D=7; N=2 D=1031", "N"},
    {"math.cast", "n[N,D]", "to=f8e5m2 saturate=true", "N=3 D=7; N=2 D=1031", "N"},
    {"math.cast", "n[N,D]", "to=i8", "N=3 D=7; N=2 D=1031", "N"},
    {"math.cast", "n[N,D]", "to=u64", "N=3 D=7; N=2 D=1031", "N"},
    {"math.cast", "n[N,D]", "to=i32", "N=3 D=7; N=2 D=1031", "N"},
    {"math.cast", "f32[N,32*D]", "to=q8_0", "N=3 D=2", "N"},
    {"math.cast", "q4_K[N,256*D]", "to=f32", "N=3 D=2", "N"},
    {"model.graft", "f[1] f[N,D] f[N,D]", "mode=read_write", "", ""},
    {"model.graft", "f[1] - f[N,D]", "", "N=3 D=7", ""},
    {"model.freeze", "n[N,D]", "pattern=layer.*", "", ""},

    // Random numbers and constants.
    {"random.uniform", "", "shape=[3,7] seed=5 low=-1 high=2 dtype=f32", "", ""},
    {"random.uniform", "", "shape=[4099] seed=-3 dtype=f64", "", ""},
    {"random.uniform", "", "shape=[0,3] dtype=f16", "", ""},
    {"random.uniform random.normal", "n[N,D]", "seed=1", "N=3 D=7; N=2 D=1031", ""},
    {"random.normal", "", "shape=[3,7] seed=5 mean=1 std=0.5 dtype=f64", "", ""},
    {"random.normal", "", "shape=[4099] dtype=bf16", "", ""},
    {"random.integers", "", "shape=[1031] limit=10 seed=9", "", ""},
    {"graph.constant", "", "type=f16[2,3] values=[1,-0.5,1e9,0,65519,65520]", "", ""},
    {"graph.constant", "", "type=i8[4] values=[1,-2.5,300,-300]", "", ""},

    // Losses, gradients, metrics.
    {"train.loss.mse losses.mae losses.huber train.loss.mse_grad", "f[N,D] f[N,D]", "", "", ""},
    {"losses.huber", "f[N] f[N]", "delta=0.5", "", ""},
    {"losses.binary_cross_entropy losses.kl_divergence", "f01[N,D] f01[N,D]", "", "", ""},
    {"train.loss.cross_entropy train.loss.cross_entropy_grad", "f[N,D] fp[N,D]", "", "", ""},
    {"train.loss.cross_entropy train.loss.cross_entropy_grad", "f[N,D] i64<D[N]", "",
     "N=1 D=1; N=3 D=5; N=17 D=31; N=2 D=4099; N=0 D=3; N=2 D=0", ""},
    {"train.loss.cross_entropy train.loss.cross_entropy_grad", "f[D] fp[D]", "", "", ""},
    {"train.loss.cross_entropy train.loss.cross_entropy_grad", "f[N,D] i32=9[N]", "", "N=2 D=9",
     ""},
    {"bench.accuracy", "f[N,D] i64<D[N]", "", "N=1 D=1; N=3 D=5; N=67 D=31; N=0 D=3", ""},
    {"bench.accuracy", "f[N,D] i32<D[N] f64=4[2]", "", "N=3 D=5", ""},
    {"bench.perplexity", "fp[N,D] i64<D[N]", "", "N=1 D=1; N=3 D=5; N=67 D=31; N=0 D=3", ""},
    {"bench.perplexity", "fp[N,D] i64=9[N]", "", "N=3 D=9", ""},
    {"bench.f1", "f01[N] fb[N]", "", "N=1; N=7; N=0; N=257", ""},

    // Optimisers: the first step, and a later one.
    {"train.optimizer.adam train.optimizer.adamw train.optimizer.adamax train.optimizer.lamb "
     "train.optimizer.lion train.optimizer.sgd train.optimizer.rmsprop train.optimizer.adagrad "
     "train.optimizer.adadelta",
     "f[N,D] f[N,D]", "lr=0.1 wd=0.05", "", ""},
    {"train.optimizer.lars", "f[N,D] f[N,D]", "lr=0.1 wd=0.05", "", ""},
    {"train.optimizer.adam train.optimizer.adamw train.optimizer.adamax train.optimizer.lamb "
     "train.optimizer.adadelta",
     "f[N] f[N] s[N] s+[N] i64=4[]", "lr=0.1 wd=0.05", "", ""},
    {"train.optimizer.adadelta", "f[N] f[N] s+[N] s+[N] i64=4[]", "", "", ""},
    {"train.optimizer.lion", "f[N] f[N] s[N] i64=4[]", "", "", ""},
    {"train.optimizer.sgd", "f[N] f[N] s[N] i64=4[]", "nesterov=true momentum=0.5", "", ""},
    {"train.optimizer.lars", "f[N] f[N] s[N] i64=4[]", "lr=0.1", "", ""},
    {"train.optimizer.rmsprop", "f[N] f[N] s+[N] - s[N] i64=4[]", "momentum=0.9", "", ""},
    {"train.optimizer.rmsprop", "f[N] f[N]", "centered=true", "", ""},
    {"train.optimizer.adagrad", "f[N] f[N] s+[N] i64=4[]", "lr_decay=0.5", "", ""},
    {"train.optimizer.hebbian", "f[M,N] f[N] f[M]", "", "M=3 N=5; M=1 N=1; M=0 N=3; M=33 N=129",
     ""},
    {"train.optimizer.hebbian", "f[M,N] f[N] f[M]", "rule=oja max_norm=1", "M=3 N=5; M=33 N=129",
     ""},
    {"train.optimizer.hebbian", "f[M,N] f[N] f[M] f[M]", "rule=bcm", "M=3 N=5", ""},
    {"train.optimizer.lbfgs", "f[N] f[N]", "", kLineSizes, ""},
    {"train.optimizer.lbfgs", "f[N] f[N] s[N] s[N] s[4,N] s[4,N] i64=3[2]", "hist_size=4 lr=0.5",
     "N=3; N=67", ""},
    {"sampling.greedy_sample", "f[D]", "", "D=1; D=7; D=0; D=4099", ""},
    {"sampling.top_k_sample", "f[D]", "top_k=3 seed=5", "D=1; D=7; D=0; D=1031", ""},
    {"sampling.top_k_sample", "f[D]", "top_k=2 temperature=0", "D=7", ""},
    {"sampling.top_p_sample", "f[D]", "top_p=0.6 seed=5 temperature=0.8", "D=1; D=7; D=0; D=1031",
     ""},

    // Bits and quantised integers.
    {"pospop.count_string pospop.count8", "u64[8] u8[N]", "", kLineSizes, ""},
    {"pospop.count16", "u64[16] u16[N]", "", kLineSizes, ""},
    {"pospop.count32", "u64[32] u32[N]", "", kLineSizes, ""},
    {"pospop.count64", "u64[64] u64[N]", "", kLineSizes, ""},
    {"quant.quant", "f[N,D]", "scale=0.05 zero_point=3", "", "N"},
    {"dequant.dequant", "i8[N,D]", "scale=0.5 zero_point=-3 dtype=f32", "", "N"},
    {"dequant.dequant", "i8[N,D]", "scale=0.3", "N=3 D=7", "N"},
    {"dequant.dequant4", "u8[N,D]", "scale=0.5 zero_point=8 dtype=f16", "", "N"},

    // Vectors, inference, coding, processes.
    {"vsa.bundle", "f[N] f[N] f[N]", "", "", ""},
    {"vsa.bundle", "f[N] f[N]", "normalize=false form=table", "", ""},
    {"vsa.permute vsa.inverse_permute", "f[N,D]", "k=5", "", "N"},
    {"vsa.permute", "f[D]", "k=-2", "", ""},
    {"active_inference.belief_update", "f[2*N] f[N]", "lr=0.1", "", ""},
    {"active_inference.belief_update", "fp[N] fp[N]", "form=table", "", ""},
    {"active_inference.expected_free_energy", "fp[N,D] fp[N,D]", "", "", "N"},
    {"active_inference.expected_free_energy", "fp[N] fp[N] fp[D]", "form=table", "", ""},
    {"active_inference.free_energy", "f[2*N]", "", "", ""},
    {"active_inference.free_energy", "fp[N] fp[N] fp[N]", "form=table", "", ""},
    {"active_inference.precision_weight", "f[N,D] f[N,D]", "", "", "N"},
    {"active_inference.precision_weight", "f[N] f[N]", "form=table", "", ""},
    {"predictive_coding.prediction", "f[N] f[M,N]", "",
     "M=3 N=5; M=1 N=1; M=0 N=3; M=3 N=0; M=33 N=300", ""},
    {"predictive_coding.prediction_error", "f[N,D] f[N,D] f[N,D]", "", "", "N"},
    {"predictive_coding.prediction_error", "f[N] f[N]", "form=table", "", ""},
    {"predictive_coding.update_representation", "f[N] f[M] f[M,N] f[N]", "lr=0.1",
     "M=3 N=5; M=1 N=1; M=0 N=3; M=300 N=33", ""},
    {"predictive_coding.update_weights", "f[M,N] f[N] f[M]", "lr=0.1",
     "M=3 N=5; M=1 N=1; M=0 N=3; M=33 N=129", ""},
    {"markov_blanket.flow_active markov_blanket.flow_internal", "f[N] f[M,N] f[M]", "",
     "M=3 N=5; M=1 N=1; M=33 N=300", ""},
    {"markov_blanket.flow_active markov_blanket.flow_internal", "f01[N,N] i64<4[N]", "form=table",
     kSquareSizes, ""},
    {"markov_blanket.mutual_information", "f[N,A] f[N,B]", "", kSampleSizes, ""},
    {"markov_blanket.mutual_information", "f01[A,B]", "form=table",
     "A=1 B=1; A=3 B=5; A=17 B=13; A=0 B=3", ""},
    {"markov_blanket.partition", "f[N] i64=1[4,N]", "", "N=3", ""},
    {"markov_blanket.partition", "i64<2[N,N] i64<2[N]", "form=table", kSquareSizes, ""},
    {"hawkes.intensity", "fup[N,D] f+[N] f+[N] f+[N]", "", "", "N"},
    {"hawkes.intensity", "fup[N] fup[D] f+[] f+[] f+[]", "form=table", "", ""},
    {"hawkes.kernel_matrix", "fup[N]", "alpha=0.7 beta=1.3", "N=1; N=2; N=7; N=0; N=67", ""},
    {"hawkes.kernel_matrix", "fup[N]", "alpha=0.7 beta=1.3 triangle=lower", "N=7", ""},
    {"hawkes.log_likelihood", "f+[N] f+[1]", "", "", ""},
    {"hawkes.log_likelihood", "fup[N] f+[] f+[] f+[] f+[]", "form=table", "N=1; N=7; N=0; N=67",
     ""},
    {"hawkes.simulate", "f+[N] fb[N] f+[N]", "max_steps=16 horizon=4 seed=3", "N=1; N=5; N=0", ""},

    // Causal estimates.
    {"causal.cholesky", "fspd[N,N]", "", kSquareSizes, ""},
    {"causal.cholesky", "f[N,N]", "", "N=0; N=3", ""},
    {"causal.backdoor_adjustment", "f[N] f[N,A] f[N,B]", "", kSampleSizes, ""},
    {"causal.backdoor_adjustment", "f01[A,B] fp[B]", "form=table",
     "A=1 B=1; A=3 B=5; A=17 B=13; A=2 B=0", "A"},
    {"causal.cate", "f[N,A] fb[N] f[N]", "", "N=12 A=1; N=67 A=2", ""},
    {"causal.cate", "f[N,D] f[N,D]", "form=table", "", "N"},
    {"causal.counterfactual", "f[N] fb[2,N] fdag[N,N]", "", kSquareSizes, ""},
    {"causal.counterfactual", "f[N] f[N] f[N] f[N]", "form=table", "", "N"},
    {"causal.dag_markov_factorization", "f[N,A] i64dag[A,A]", "", "N=12 A=1; N=29 A=3; N=67 A=5",
     ""},
    {"causal.dag_markov_factorization", "f01[N]", "form=table", "N=1; N=7; N=0; N=67", ""},
    {"causal.do_calculus", "fspd[N,N] i64<2[N] f[N]", "", kSquareSizes, ""},
    {"causal.do_calculus", "f[N,N] i64<2[N]", "form=table", kSquareSizes, ""},
    {"causal.frontdoor_adjustment", "f[N] f[N] f[N]", "bins=2", "N=12; N=67", ""},
    {"causal.frontdoor_adjustment", "fp[A] f01[B,A] fp[B]", "form=table",
     "A=1 B=1; A=3 B=5; A=17 B=13", ""},
    {"causal.iv_estimate", "f[N,B] f[N,A] f[N]", "", "N=12 A=1 B=1; N=67 A=2 B=3", ""},
    {"causal.iv_estimate", "f[N] f[N] f[N]", "form=table", "N=1; N=7; N=67", ""},

    // Fields and spectra.
    {"physics.grad1d physics.divergence1d physics.laplacian physics.laplacian4 "
     "physics.bohmian_velocity",
     "f[N]", "dx=0.5", kLineSizes, ""},
    {"physics.laplacian physics.laplacian4", "f[N,M]", "dx=0.5",
     "N=3 M=5; N=1 M=1; N=33 M=65; N=0 M=3", ""},
    {"physics.laplacian physics.laplacian4", "f[N,M,3]", "dx=2", "N=3 M=5; N=7 M=33", ""},
    {"physics.quantum_potential", "f+[N]", "dx=0.5", kLineSizes, ""},
    {"physics.madelung_continuity", "f+[N] f[N]", "dx=0.5", kLineSizes, ""},
    {"physics.fft1d physics.ifft1d", "c[N]", "",
     "N=1; N=2; N=3; N=7; N=8; N=13; N=0; N=257; N=1024", ""},
};

}  // namespace

// Rows in order; an operation may be in several.
std::span<const CaseRow> case_rows() {
  return kRows;
}

}  // namespace quern
