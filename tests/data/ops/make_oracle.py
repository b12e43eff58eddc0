"""Makes oracle.json: small cases of operations with values from PyTorch, NumPy and SciPy.

Nothing here reads Quern; where no library has an operation, the value comes from its definition,
written another way than the kernel (matrix products for loops, closed forms for recursions).
Run with PyTorch, NumPy and SciPy at hand; the file is committed.
"""
import json
import math

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.special
import scipy.stats
import torch
import torch.nn.functional as F

rng = np.random.default_rng(20261129)
cases = []


def t(x):
    return torch.tensor(np.asarray(x))


def array(x):
    x = np.asarray(x)
    if isinstance(x, np.ndarray) and x.dtype == np.bool_:
        x = x.astype(np.int64)
    names = {"float64": "f64", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8",
             "uint16": "u16", "uint32": "u32", "uint64": "u64", "complex128": "complex128"}
    values = x.ravel()
    if x.dtype == np.complex128:
        values = np.stack([values.real, values.imag], -1).ravel()
    text = []
    for v in values.tolist():
        if isinstance(v, float) and not math.isfinite(v):
            text.append("nan" if math.isnan(v) else ("inf" if v > 0 else "-inf"))
        else:
            text.append(v)
    return {"dtype": names[str(x.dtype)], "shape": list(x.shape), "values": text}


def case(op, inputs, outputs, source, rtol=1e-12, **attributes):
    """inputs: by port, in order (None: absent); outputs: in order (None: not compared)."""
    out = [None if o is None else array(o.detach().numpy() if isinstance(o, torch.Tensor) else o)
           for o in outputs]
    cases.append({"op": op, "attributes": attributes, "source": source, "rtol": rtol,
                  "inputs": [None if i is None else array(i) for i in inputs], "outputs": out})


def normal(*shape):
    return np.round(rng.normal(size=shape), 3)


def positive(*shape):
    return np.round(0.1 + rng.random(shape), 3)


def rows(*shape):
    p = positive(*shape)
    return p / p.sum(-1, keepdims=True)


# Activations and functions -------------------------------------------------------------------
x = np.concatenate([normal(14), [0.0, 20.0, -20.0, np.nan]])
for op, f in {
        "relu": F.relu, "gelu": F.gelu, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
        "swish": F.silu, "selu": F.selu, "elu": F.elu, "celu": F.celu, "softplus":
        lambda v: torch.log1p(torch.exp(-v.abs())) + v.clamp(min=0), "log_sigmoid": F.logsigmoid,
        "mish": F.mish, "softsign": F.softsign, "hard_sigmoid": F.hardsigmoid,
        "hard_swish": F.hardswish, "hard_tanh": F.hardtanh, "tanh_shrink": F.tanhshrink,
        "quick_gelu": lambda v: v * torch.sigmoid(1.702 * v),
        "gelu_tanh": lambda v: F.gelu(v, approximate="tanh"), "expm1": torch.expm1}.items():
    case(f"activation.{op}", [x], [f(t(x))], "torch", rtol=1e-11)
case("activation.log1p", [np.abs(x)], [np.log1p(np.abs(x))], "numpy")
case("activation.gelu", [x], [F.gelu(t(x), approximate="tanh")], "torch", 1e-11, approximate="tanh")
case("activation.leaky_relu", [x], [F.leaky_relu(t(x))], "torch")
case("activation.prelu", [x], [F.prelu(t(x), torch.tensor([0.25], dtype=torch.float64))], "torch", slope=0.25)
case("activation.elu_alpha", [x], [F.elu(t(x), 0.7)], "torch", 1e-11, alpha=0.7)
case("activation.celu_alpha", [x], [F.celu(t(x), 1.5)], "torch", 1e-11, alpha=1.5)
case("activation.threshold", [x[:-1]], [F.threshold(t(x[:-1]), 0.3, 0)], "torch", theta=0.3)
case("activation.hard_tanh_range", [x], [F.hardtanh(t(x), -2, 1)], "torch", min=-2.0, max=1.0)
case("activation.hard_shrink", [x], [F.hardshrink(t(x), 0.5)], "torch", **{"lambda": 0.5})
case("activation.soft_shrink", [x], [F.softshrink(t(x), 0.5)], "torch", **{"lambda": 0.5})
case("activation.snake", [x], [x + np.sin(1.5 * x) ** 2 / 1.5], "numpy", 1e-11, alpha=1.5)
case("activation.snake_parametric", [x], [x + np.sin(1.5 * x) ** 2 / 0.5], "numpy", 1e-11, alpha=1.5, beta=0.5)
case("activation.prelu_v", [x, positive(18)], [None], "numpy")
cases[-1]["outputs"] = [array(np.where(np.isnan(x), np.nan, np.where(x > 0, x, x * np.asarray(cases[-1]["inputs"][1]["values"]))))]
case("activation.rrelu", [x], [F.rrelu(t(x), 0.125, 1 / 3, training=False)], "torch")
for op, f in {"math.exp": np.exp, "math.sin": np.sin, "math.cos": np.cos, "math.sign": np.sign,
              "elementwise.abs": np.abs, "elementwise.neg": np.negative}.items():
    case(op, [x], [f(x)], "numpy")
case("math.erf", [x], [scipy.special.erf(x)], "scipy.special.erf")
case("math.log", [np.abs(x)], [np.log(np.abs(x))], "numpy")
case("elementwise.sqrt", [np.abs(x)], [np.sqrt(np.abs(x))], "numpy")
case("math.scale", [x], [x * 1.7], "numpy", factor=1.7)
gate, up = normal(3, 4), normal(3, 4)
packed = np.concatenate([gate, up], -1)
g, u = t(gate), t(up)
for op, y in {"glu": F.glu(t(packed)), "geglu": g * F.gelu(u),
              "geglu_tanh": g * F.gelu(u, approximate="tanh"), "swiglu": F.silu(g) * u,
              "reglu": g * F.relu(u), "siglu": torch.sigmoid(g) * u, "linglu": g * u}.items():
    case(f"activation.{op}", [packed], [y], "torch", 1e-11)
    case(f"activation.{op}_tensors", [gate, up], [y], "torch", 1e-11)

# Elementwise, reductions, products -----------------------------------------------------------
a, b = normal(3, 4), normal(3, 4)
for op, f in {"math.add": np.add, "math.mul": np.multiply, "elementwise.sub": np.subtract,
              "elementwise.div": np.divide, "elementwise.max": np.maximum,
              "elementwise.min": np.minimum}.items():
    case(op, [a, b], [f(a, b)], "numpy")
case("math.add", [a, b[0]], [a + b[0]], "numpy")
case("elementwise.axpy", [a, b], [0.7 * a + b], "numpy", alpha=0.7)
case("math.outer", [a[0], b[1]], [np.outer(a[0], b[1])], "numpy")
case("math.inv_sqrt_dim_scale", [a], [a / np.sqrt(4)], "numpy")
case("dot.dot", [a[0], b[0]], [np.dot(a[0], b[0])], "numpy")
case("math.matmul", [a, b.T.copy()], [a @ b.T], "numpy")
cube = normal(2, 3, 5)
for op, f in {"sum": np.sum, "prod": np.prod, "reduce_max": np.max, "reduce_min": np.min, "mean": np.mean}.items():
    case(f"reduction.{op}", [cube], [f(cube)], "numpy")
    case(f"reduction.{op}", [cube], [f(cube, axis=(0, 2), keepdims=True)], "numpy", axes=[0, 2], keep_dims=True)
case("reduction.l1_norm", [cube], [np.linalg.norm(cube.ravel(), 1)], "numpy.linalg")
case("reduction.l1_norm", [cube], [np.abs(cube).sum(1)], "numpy", axes=[1])
case("reduction.argmax", [cube], [cube.argmax(-1).astype(np.int32)], "numpy")
case("reduction.argmin", [cube], [cube.argmin(-1).astype(np.int32)], "numpy")
top = torch.topk(t(cube), 3)
case("sort.top_k", [cube], [top.values, top.indices.numpy().astype(np.int32)], "torch.topk", k=3)
case("math.softmax", [cube], [scipy.special.softmax(cube, -1)], "scipy.special")
case("activation.log_softmax", [cube], [scipy.special.log_softmax(cube, -1)], "scipy.special")
case("math.logsumexp", [cube], [scipy.special.logsumexp(cube, -1)], "scipy.special")
w, bias = normal(6, 4), normal(6)
case("projection.linear", [a, w, bias], [F.linear(t(a), t(w), t(bias))], "torch")
case("projection.fused_qkv", [a, w, bias], [F.linear(t(a), t(w), t(bias))], "torch", d_in=4, d_q=3, d_k=2, d_v=1)
case("Fused", [a, w.T.copy(), bias], [F.gelu(F.linear(t(a), t(w), t(bias)))], "torch", 1e-11, activation="gelu")
table, ids = normal(5, 3), np.array([[0, 4], [2, 2]])
case("embedding.token", [ids, table], [F.embedding(t(ids), t(table))], "torch")
bag = np.array([1, 4, 0, 2, 2])
offsets = np.array([0, 2, 2])
case("embedding.bag", [bag, offsets, table], [F.embedding_bag(t(bag), t(table), t(offsets), mode="sum")], "torch")
experts, chosen = normal(3, 2, 4), np.array([[0, 2], [1, 1], [2, 0]], dtype=np.int32)
case("experts.linear", [a, experts, chosen], [np.einsum("tk,tunk->tun", a, experts[chosen])], "numpy.einsum")
share = rows(3, 2)
case("experts.combine", [normal(3, 2, 4), share], [None], "numpy.einsum")
cases[-1]["outputs"] = [array(np.einsum("tu,tun->tn", share, np.asarray(cases[-1]["inputs"][0]["values"]).reshape(3, 2, 4)))]

# Norms ---------------------------------------------------------------------------------------
nx, nw, nb = normal(2, 6, 5), normal(6), normal(6)
lw, lb = normal(5), normal(5)
case("math.layernorm", [nx, lw, lb], [F.layer_norm(t(nx), (5,), t(lw), t(lb))], "torch", 1e-11)
case("math.rmsnorm", [nx, lw], [F.rms_norm(t(nx), (5,), t(lw), 1e-6)], "torch", 1e-11)
case("math.groupnorm", [nx, nw, nb], [F.group_norm(t(nx), 3, t(nw), t(nb))], "torch", 1e-11, groups=3)
case("normalization.instance_norm", [nx, nw, nb], [F.instance_norm(t(nx), weight=t(nw), bias=t(nb))], "torch", 1e-11)
mean, var = normal(6), positive(6)
case("normalization.batch_norm_eval", [nx, mean, var, nw, nb], [F.batch_norm(t(nx), t(mean), t(var), t(nw), t(nb))], "torch", 1e-11)

# Attention and positions ---------------------------------------------------------------------
q, k, v = normal(1, 4, 3, 4), normal(1, 2, 5, 4), normal(1, 2, 5, 6)
k4, v4 = np.repeat(k, 2, 1), np.repeat(v, 2, 1)
mask = np.where(rng.random((3, 5)) < 0.3, -np.inf, 0.0)
mask[:, 0] = 0
aligned = torch.ones(3, 5, dtype=torch.bool).tril(2)
sdpa = F.scaled_dot_product_attention
case("attention.sdpa", [q, k4, v4, mask], [sdpa(t(q), t(k4), t(v4), attn_mask=t(mask))], "torch", 1e-11)
case("attention.sdpa", [q, k4, v4], [sdpa(t(q), t(k4), t(v4), attn_mask=aligned)], "torch", 1e-11, causal=True)
case("attention.flash_attention", [q, k4, v4], [sdpa(t(q), t(k4), t(v4))], "torch", 1e-11)
case("attention.gqa", [q, k, v], [sdpa(t(q), t(k4), t(v4), attn_mask=aligned)], "torch", 1e-11, causal=True)
case("attention.mqa", [q, k[:, :1].copy(), v[:, :1].copy()], [sdpa(t(q), t(np.repeat(k[:, :1], 4, 1)), t(np.repeat(v[:, :1], 4, 1)))], "torch", 1e-11)
window = aligned & ~torch.ones(3, 5, dtype=torch.bool).tril(0)
case("attention.sliding_window", [q, k4, v4], [sdpa(t(q), t(k4), t(v4), attn_mask=window)], "torch", 1e-11, window=2)
heads = lambda r, h: t(r).reshape(len(r), h, -1).transpose(0, 1)[None]
mq, mk = normal(4, 8), normal(4, 4)
distance = np.arange(4)[None, :] - np.arange(4)[:, None]
alibi = np.where(distance > 0, -np.inf, 0.5 * distance)
out = sdpa(heads(mq, 2), heads(mk, 1).repeat(1, 2, 1, 1), heads(mk, 1).repeat(1, 2, 1, 1), attn_mask=t(alibi))
case("attention.multi_head_attention", [mq, mk, mk], [out[0].transpose(0, 1).reshape(4, 8)], "torch", 1e-11,
     num_heads=2, head_dim=4, kv_head_count=1, causal=True, alibi_slope=0.5)
rx = normal(1, 2, 3, 6)
angle = np.outer(np.arange(3) + 5, 100.0 ** (-2 * np.arange(3) / 6))
turned = (rx[..., 0::2] + 1j * rx[..., 1::2]) * np.exp(1j * angle)
case("positional.rope", [rx], [np.stack([turned.real, turned.imag], -1).reshape(rx.shape)], "numpy complex product", 1e-11,
     base=100.0, start_position=5)
halves = (rx[..., :3] + 1j * rx[..., 3:]) * np.exp(1j * angle)
case("positional.rope", [rx], [np.concatenate([halves.real, halves.imag], -1)], "numpy complex product", 1e-11,
     base=100.0, start_position=5, style="half")
pairs, theta = normal(3, 4), normal(3, 2)
z = (pairs[:, 0::2] + 1j * pairs[:, 1::2]) * np.exp(1j * theta)
case("rope.rope_pairs", [pairs, np.cos(theta), np.sin(theta)], [np.stack([z.real, z.imag], -1).reshape(3, 4)], "numpy complex product", 1e-11, half_dim=2)
scores = normal(1, 4, 2, 3)
slopes = np.array([2.0 ** (-8 * (h + 1) / 4) for h in range(4)])[:, None, None]
steps = np.arange(3)[None, :] - np.arange(2)[:, None]
case("positional.alibi", [scores], [scores + slopes * steps], "numpy", num_heads=4)
case("positional.alibi", [scores], [scores - slopes * np.abs(steps)], "numpy", num_heads=4, causal=False)
case("masking.apply", [scores, mask[:2, :3]], [scores + mask[:2, :3]], "numpy")
case("masking.causal", [None], [np.triu(np.full((3, 3), -np.inf), 1)], "numpy", seq_len=3)

# Convolution and pooling ---------------------------------------------------------------------
c1, cw = normal(2, 4, 7), normal(6, 2, 3)
case("convolution.conv1d", [c1, cw, bias], [F.conv1d(t(c1), t(cw), t(bias), 2, 1, 2, 2)], "torch", 1e-11,
     kernel_size=3, stride=2, padding=1, dilation=2, groups=2)
c2, cw2 = normal(1, 3, 5, 6), normal(2, 3, 3, 2)
case("convolution.conv2d", [c2, cw2], [F.conv2d(t(c2), t(cw2), stride=(2, 1), padding=(1, 0))], "torch", 1e-11,
     kernel_h=3, kernel_w=2, stride_h=2, pad_h=1)
c3, cw3 = normal(1, 2, 3, 4, 3), normal(3, 2, 2, 2, 2)
case("convolution.conv3d", [c3, cw3], [F.conv3d(t(c3), t(cw3))], "torch", 1e-11, kernel_d=2, kernel_h=2, kernel_w=2)
ct, ctw = normal(1, 2, 3, 4), normal(2, 3, 3, 2)
case("convolution.conv_transpose2d", [ct, ctw], [F.conv_transpose2d(t(ct), t(ctw), stride=2, padding=1, output_padding=1)], "torch", 1e-11,
     kernel_h=3, kernel_w=2, stride_h=2, stride_w=2, pad_h=1, pad_w=1, out_pad_h=1, out_pad_w=1)
image = normal(1, 2, 5, 6)
case("pooling.max_pool2d", [image], [F.max_pool2d(t(image), (3, 2), (2, 1), (1, 1), ceil_mode=True)], "torch",
     kernel_h=3, kernel_w=2, stride_h=2, stride_w=1, pad_h=1, pad_w=1, ceil=True)
case("pooling.avg_pool2d", [image], [F.avg_pool2d(t(image), (3, 2), (2, 1), (1, 1), count_include_pad=False)], "torch",
     kernel_h=3, kernel_w=2, stride_h=2, stride_w=1, pad_h=1, pad_w=1)
case("pooling.adaptive_avg_pool2d", [image], [F.adaptive_avg_pool2d(t(image), (3, 4))], "torch", out_h=3, out_w=4)
case("pooling.adaptive_max_pool2d", [image], [F.adaptive_max_pool2d(t(image), (3, 4))], "torch", out_h=3, out_w=4)
case("shape.upsample_nearest2d", [image], [F.interpolate(t(image), (10, 18), mode="nearest")], "torch", out_h=10, out_w=18)

# Moving elements -----------------------------------------------------------------------------
case("shape.reshape", [cube], [cube.reshape(5, 6)], "numpy", shape=[5, -1])
case("shape.transpose", [cube], [np.swapaxes(cube, 0, 2)], "numpy", dim0=0, dim1=-1)
case("shape.permute", [cube], [np.transpose(cube, (2, 0, 1))], "numpy", order=[2, 0, 1])
case("shape.concat", [a, b], [np.concatenate([a, b], 1)], "numpy", dim=1)
case("shape.split", [a], [np.stack(np.split(a, 2, 1))], "numpy", split_size=2, dim=1)
case("shape.slice", [a], [a[:, 1:3]], "numpy", dim=1, start=1, end=3)
case("shape.view_as_heads", [normal(2, 3, 6)], [None], "numpy", num_heads=2)
hx = np.asarray(cases[-1]["inputs"][0]["values"]).reshape(2, 3, 6)
cases[-1]["outputs"] = [array(hx.reshape(2, 3, 2, 3).transpose(0, 2, 1, 3))]
case("shape.merge_heads", [hx.reshape(2, 3, 2, 3).transpose(0, 2, 1, 3).copy()], [hx], "numpy")
case("shape.last_token", [hx], [hx[:, -1]], "numpy")
case("shape.broadcast", [a[:, None]], [np.broadcast_to(a[:, None], (2, 3, 5, 4))], "numpy", shape=[2, 3, 5, 4])
case("shape.gather_rows", [a, np.array([2, 0, 2], dtype=np.int32)], [a[[2, 0, 2]]], "numpy")
case("shape.select_rows", [a, b, np.array([0, 1, 0], dtype=np.int32)], [np.where(np.array([[0], [1], [0]]) == 1, b, a)], "numpy")
case("math.cast", [np.array([1.9, -1.9, 300.5, np.nan, -np.inf])], [np.array([1, -1, 127, 0, -128], dtype=np.int8)], "by the rule: toward zero, clamped, NaN 0", to="i8")
case("model.graft", [a, b, a], [a + b], "numpy", mode="read_write")
case("model.freeze", [a], [a], "numpy")
case("math.dropout", [a], [a], "torch.nn.functional.dropout out of training", training=False)

# Losses, gradients, metrics ------------------------------------------------------------------
pred, target = normal(3, 4), normal(3, 4)
case("train.loss.mse", [pred, target], [F.mse_loss(t(pred), t(target))], "torch")
case("losses.mae", [pred, target], [F.l1_loss(t(pred), t(target))], "torch")
case("losses.huber", [pred, target], [F.huber_loss(t(pred), t(target), delta=0.5)], "torch", delta=0.5)
prob, label = rng.random((3, 4)).round(3), (rng.random((3, 4)) < 0.5).astype(float)
case("losses.binary_cross_entropy", [prob, label], [F.binary_cross_entropy(t(prob), t(label))], "torch", 1e-11)
pd, td = rows(3, 4), rows(3, 4)
case("losses.kl_divergence", [td, pd], [F.kl_div(t(pd).log(), t(td), reduction="mean")], "torch", 1e-11)
labels = np.array([2, 0, 3])
for op, grad in {"train.loss.cross_entropy": False, "train.loss.cross_entropy_grad": True}.items():
    for targets in (labels, td):
        logits = t(pred).requires_grad_()
        loss = F.cross_entropy(logits, t(targets))
        loss.backward()
        case(op, [pred, targets], [logits.grad if grad else loss], "torch autograd", 1e-11)
p = t(pred).requires_grad_()
F.mse_loss(p, t(target)).backward()
case("train.loss.mse_grad", [pred, target], [p.grad], "torch autograd")
case("bench.accuracy", [pred, labels], [np.mean(pred.argmax(1) == labels), None], "numpy")
case("bench.perplexity", [pd, labels], [np.exp(-np.log(pd[range(3), labels] + 1e-9).mean()), None], "numpy", 1e-11)
yes, no = prob.ravel() >= 0.5, label.ravel() >= 0.5
precision, recall = (yes & no).sum() / yes.sum(), (yes & no).sum() / no.sum()
case("bench.f1", [prob.ravel(), label.ravel()], [scipy.stats.hmean([precision, recall]), None], "harmonic mean of precision and recall")

# Optimisers: the parameters after a first step, from torch.optim where it has them -------------
op0, og0 = normal(5), normal(5)


def torch_step(make):
    w0 = t(op0).clone().requires_grad_()
    w0.grad = t(og0)
    make([w0]).step()
    return w0


optimisers = {
    "sgd": (lambda p: torch.optim.SGD(p, 0.1, momentum=0.5, weight_decay=0.05, nesterov=True), dict(lr=0.1, momentum=0.5, wd=0.05, nesterov=True)),
    "adam": (lambda p: torch.optim.Adam(p, 0.01, weight_decay=0.05), dict(lr=0.01, wd=0.05)),
    "adamw": (lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.05), dict(lr=0.01, wd=0.05)),
    "adamax": (lambda p: torch.optim.Adamax(p, 0.01, weight_decay=0.05), dict(lr=0.01, wd=0.05)),
    "rmsprop": (lambda p: torch.optim.RMSprop(p, 0.01, momentum=0.9, centered=True), dict(lr=0.01, momentum=0.9, centered=True)),
    "adagrad": (lambda p: torch.optim.Adagrad(p, 0.1, lr_decay=0.5, weight_decay=0.05), dict(lr=0.1, lr_decay=0.5, wd=0.05)),
    "adadelta": (lambda p: torch.optim.Adadelta(p, 1.0, weight_decay=0.05), dict(wd=0.05)),
}
for name, (make, attributes) in optimisers.items():
    states = {"rmsprop": 3, "sgd": 1, "adagrad": 1}.get(name, 2)
    case(f"train.optimizer.{name}", [op0, og0], [torch_step(make)] + [None] * states + [np.array(1)], "torch.optim", 1e-10, **attributes)
# Lion (Chen 2023), LARS (You 2017), LAMB (You 2019): first steps from their papers' update rules.
case("train.optimizer.lion", [op0, og0], [op0 - 0.01 * (np.sign(og0) + 0.05 * op0), 0.01 * og0, np.array(1)], "paper", lr=0.01, wd=0.05)
pn, gn = np.linalg.norm(op0), np.linalg.norm(og0)
case("train.optimizer.lars", [op0, og0], [op0 - 0.1 * 0.02 * pn / (gn + 0.05 * pn + 1e-8) * (og0 + 0.05 * op0), None, np.array(1)], "paper", 1e-11, lr=0.1, eta=0.02, wd=0.05)
direction = og0 / (np.abs(og0) + 1e-8) + 0.05 * op0
case("train.optimizer.lamb", [op0, og0], [op0 - 0.01 * pn / np.linalg.norm(direction) * direction, None, None, np.array(1)], "paper", 1e-10, lr=0.01, wd=0.05)
hw, pre, post = normal(3, 4), normal(4), normal(3)
case("train.optimizer.hebbian", [hw, pre, post], [hw * (1 - 1e-4) + 0.1 * np.outer(post, pre)], "numpy", lr=0.1)
case("train.optimizer.hebbian", [hw, pre, post], [hw + 0.1 * (np.outer(post, pre) - (post ** 2)[:, None] * hw)], "Oja's rule", lr=0.1, rule="oja")
# L-BFGS with one pair: H = V^T (gamma I) V + rho s s^T, V = I - rho y s^T, as a dense matrix.
prev, pg = normal(4), normal(4)
cur = prev - 0.3 * pg
cg = pg * np.array([0.5, 0.7, 0.2, 0.9])
s, y = cur - prev, cg - pg
rho = 1 / (y @ s)
vmat = np.eye(4) - rho * np.outer(y, s)
hess = vmat.T @ (np.eye(4) * (s @ y) / (y @ y)) @ vmat + rho * np.outer(s, s)
case("train.optimizer.lbfgs", [cur, cg, prev, pg, np.zeros((2, 4)), np.zeros((2, 4)), np.array([1, 0])],
     [cur - 0.5 * hess @ cg, None, None, None, None, np.array([2, 1])], "dense inverse Hessian", 1e-10, lr=0.5, hist_size=2)

# Vectors, inference, coding, blankets --------------------------------------------------------
case("vsa.bundle", [a[0], b[0], a[1]], [(a[0] + b[0] + a[1]) / np.linalg.norm(a[0] + b[0] + a[1])], "numpy")
case("vsa.permute", [a], [np.roll(a, -3, -1)], "numpy.roll", k=3)
case("vsa.inverse_permute", [a], [np.roll(a, 3, -1)], "numpy.roll", k=3)
qp, pp, op_ = rows(4), rows(4), rows(4)
case("active_inference.belief_update", [qp, pp], [qp * pp / (qp @ pp)], "Bayes' rule", form="table")
case("active_inference.belief_update", [np.array([1.0, -0.5, 0.2, 0.4]), np.array([0.3, 0.1])],
     [np.array([1 - 0.1 * 1.3, -0.5 - 0.1 * -0.4, 0.2 - 0.1 * (math.exp(0.2) - 1), 0.4 - 0.1 * (math.exp(0.4) - 1)])], "by hand", lr=0.1)
case("active_inference.expected_free_energy", [rows(3, 4), None], [None], "scipy.stats.entropy", 1e-9)
cases[-1]["outputs"] = [array(scipy.stats.entropy(np.asarray(cases[-1]["inputs"][0]["values"]).reshape(3, 4), axis=1))]
case("active_inference.expected_free_energy", [qp, pp, op_], [scipy.stats.entropy(qp, pp) + scipy.stats.entropy(op_)], "scipy.stats.entropy", 1e-11, form="table")
mu, lv = normal(3), normal(3)
kl = torch.distributions.kl_divergence(torch.distributions.Normal(t(mu), t(lv).mul(0.5).exp()), torch.distributions.Normal(torch.zeros(3).double(), torch.ones(3).double())).sum()
case("active_inference.free_energy", [np.concatenate([mu, lv])], [kl], "torch.distributions", 1e-11)
case("active_inference.free_energy", [qp, pp, op_], [-(qp * np.log(pp)).sum() + scipy.stats.entropy(qp, op_)], "scipy.stats.entropy", 1e-11, form="table")
case("active_inference.precision_weight", [mu, lv], [mu * np.exp(lv)], "numpy")
case("active_inference.precision_weight", [mu, lv], [mu * lv], "numpy", form="table")
case("predictive_coding.prediction", [pre, hw], [hw @ pre], "numpy")
case("predictive_coding.prediction_error", [mu, lv, positive(3)], [None], "numpy")
cases[-1]["outputs"] = [array((mu - lv) * np.asarray(cases[-1]["inputs"][2]["values"]))]
case("predictive_coding.update_representation", [pre, post, hw, mu[[0, 1, 2, 0]]], [pre + 0.1 * (hw.T @ post - mu[[0, 1, 2, 0]])], "numpy", lr=0.1)
case("predictive_coding.update_weights", [hw, pre, post], [hw + 0.1 * np.outer(post, pre)], "numpy", lr=0.1)
mi, who = positive(4, 4), np.array([0, 2, 0, 2])
case("markov_blanket.flow_active", [mi, who], [np.where(who == 2, mi @ (who == 0), 0)], "numpy", form="table")
case("markov_blanket.flow_internal", [mi, who], [np.where(who == 0, mi @ (who == 0), 0)], "numpy", form="table")
case("markov_blanket.flow_active", [pre, hw, post], [hw @ pre + post], "numpy")
case("markov_blanket.flow_internal", [pre, hw, post], [hw @ pre + post], "numpy")
sx, sy = normal(20, 2), normal(20, 2)
sy[:, 0] += sx[:, 1]
det = lambda m: np.linalg.slogdet(np.cov(m.T))[1]
case("markov_blanket.mutual_information", [sx, sy], [0.5 * (det(sx) + det(sy) - det(np.hstack([sx, sy])))], "numpy.linalg.slogdet", 1e-9)
joint = rows(12).reshape(3, 4)
case("markov_blanket.mutual_information", [joint], [scipy.stats.entropy(joint.ravel(), np.outer(joint.sum(1), joint.sum(0)).ravel())], "scipy.stats.entropy", 1e-9, form="table")
case("markov_blanket.partition", [a[0], np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])], [a[0][[1, 0, 3, 2]]], "numpy")
case("markov_blanket.partition", [np.array([[0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]), np.array([1, 0, 0, 0])], [np.array([0, 2, 1, 3])], "by hand", form="table")

# Hawkes processes: kernels as matrices ---------------------------------------------------------
times = np.cumsum(positive(6))
alpha, beta, mu0, horizon = 0.6, 1.4, 0.3, float(times[-1] + 1)
lag = times[:, None] - times[None, :]
kernel = np.where(lag > 0, alpha * np.exp(-beta * np.abs(lag)), 0)
intensity = mu0 + kernel.sum(1)
case("hawkes.intensity", [times[None], np.array([alpha]), np.array([beta]), np.array([mu0])], [intensity[None]], "numpy", 1e-11)
query = np.array([0.0, times[2], horizon])
decay = np.where(query[:, None] > times, np.exp(-beta * np.abs(query[:, None] - times)), 0)
case("hawkes.intensity", [query, times, np.array(alpha), np.array(beta), np.array(mu0)], [mu0 + alpha * decay.sum(1)], "numpy", 1e-11, form="table")
case("hawkes.kernel_matrix", [times], [kernel], "numpy", 1e-11, alpha=alpha, beta=beta, form="table")
case("hawkes.kernel_matrix", [times], [kernel.T], "numpy", 1e-11, alpha=alpha, beta=beta)
# The compensator by numerical integration of the intensity between events.
grid = np.concatenate([[0], times, [horizon]])
integral = sum(scipy.integrate.quad(lambda u: mu0 + alpha * np.exp(-beta * (u - times[times <= lo])).sum(), lo, hi, epsabs=1e-13, epsrel=1e-13)[0]
               for lo, hi in zip(grid[:-1], grid[1:]))
case("hawkes.log_likelihood", [times, np.array(alpha), np.array(beta), np.array(mu0), np.array(horizon)], [np.log(intensity).sum() - integral], "scipy.integrate.quad", 1e-10, form="table")
case("hawkes.log_likelihood", [intensity, np.array([integral])], [np.log(intensity).sum() - integral], "numpy")

# Causal estimates ------------------------------------------------------------------------------
spd = normal(4, 4)
spd = spd @ spd.T + np.eye(4)
case("causal.cholesky", [spd], [np.linalg.cholesky(spd)], "numpy.linalg", 1e-10)
n = 30
zc, xc = normal(n, 2), normal(n, 2)
xc += zc
yc = xc @ [0.7, -1.2] + zc @ [0.4, 0.1] + 0.1 * normal(n) + 0.5
design = np.hstack([np.ones((n, 1)), xc, zc])
case("causal.backdoor_adjustment", [yc, xc, zc], [np.linalg.lstsq(design, yc, rcond=None)[0][1:3]], "numpy.linalg.lstsq", 1e-8)
case("causal.backdoor_adjustment", [rows(3, 4), pp], [None], "numpy", form="table")
cases[-1]["outputs"] = [array(np.asarray(cases[-1]["inputs"][0]["values"]).reshape(3, 4) @ pp)]
first = np.hstack([np.ones((n, 1)), zc])
fitted = np.hstack([np.ones((n, 1)), first @ np.linalg.lstsq(first, xc, rcond=None)[0]])
case("causal.iv_estimate", [zc, xc, yc], [np.linalg.lstsq(fitted, yc, rcond=None)[0][1:]], "numpy.linalg.lstsq", 1e-8)
case("causal.iv_estimate", [zc[:, 0].copy(), xc[:, 0].copy(), yc], [np.cov(zc[:, 0], yc)[0, 1] / np.cov(zc[:, 0], xc[:, 0])[0, 1]], "numpy.cov", 1e-10, form="table")
treated = np.tile([0.0, 1.0], n // 2)
arm = lambda on: np.linalg.lstsq(np.hstack([np.ones((n // 2, 1)), xc[treated == on]]), yc[treated == on], rcond=None)[0]
case("causal.cate", [xc, treated, yc], [np.hstack([np.ones((n, 1)), xc]) @ (arm(1) - arm(0))], "numpy.linalg.lstsq", 1e-8)
case("causal.cate", [mu, lv], [mu - lv], "numpy", form="table")
model = np.triu(normal(3, 3), 1)
obs, fixed = normal(3), np.array([[0.0, 1, 0], [0, 2.5, 0]])
noise = obs - model.T @ obs
cut = model * np.array([1, 0, 1])[None, :]
case("causal.counterfactual", [obs, fixed, model], [np.linalg.solve(np.eye(3) - cut.T, np.array([noise[0], 2.5, noise[2]]))], "numpy.linalg.solve", 1e-10)
case("causal.counterfactual", [mu, lv, mu * 2, lv + 1], [mu + lv * (lv + 1 - mu * 2)], "numpy", form="table")
dx = normal(25, 3)
dx[:, 2] += dx[:, 0] - 0.5 * dx[:, 1]
adjacency = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
logp = 0
for i in range(3):
    d = np.hstack([np.ones((25, 1)), dx[:, adjacency[:, i] == 1]])
    residual = dx[:, i] - d @ np.linalg.lstsq(d, dx[:, i], rcond=None)[0]
    logp += scipy.stats.norm.logpdf(residual, scale=residual.std()).sum()
case("causal.dag_markov_factorization", [dx, adjacency], [logp], "numpy.linalg.lstsq, scipy.stats.norm", 1e-9)
case("causal.dag_markov_factorization", [qp], [qp.prod()], "numpy", form="table")
hit, given = np.array([0, 1, 0, 1]), np.array([0, 1.5, 0, -0.5])
free = hit == 0
gain = spd[np.ix_(free, ~free)] @ np.linalg.inv(spd[np.ix_(~free, ~free)])
cmean, ccov = given.copy(), np.zeros((4, 4))
cmean[free] = gain @ given[~free]
ccov[np.ix_(free, free)] = spd[np.ix_(free, free)] - gain @ spd[np.ix_(~free, free)]
case("causal.do_calculus", [spd, hit, given], [np.concatenate([cmean, ccov.ravel()])], "numpy.linalg.inv", 1e-9)
case("causal.do_calculus", [spd, hit], [np.where(hit == 1, 0, spd)], "numpy", form="table")
pm, py, px = rows(3), rows(2, 3), rows(2)
case("causal.frontdoor_adjustment", [pm, py, px], [np.einsum("m,xm,x->", pm, py, px)], "numpy.einsum", form="table")
fx, fy = normal(40), normal(40)
fm = fx + 0.5 * normal(40)
bins = 2
rank = lambda c: scipy.stats.rankdata(c, method="ordinal").astype(int) - 1
bx, bm = rank(fx) * bins // 40, rank(fm) * bins // 40
effect = [sum((bm[bx == b] == m).mean() * sum((bx == c).mean() * fy[(bx == c) & (bm == m)].mean() for c in range(bins)) for m in range(bins)) for b in range(bins)]
case("causal.frontdoor_adjustment", [fy, fx, fm], [np.array(effect)], "numpy, scipy.stats.rankdata", 1e-10, bins=2)

# Fields, spectra, bits, quantised integers -----------------------------------------------------
field, h = normal(8), 0.5
shift = lambda f, s, axis=0: np.roll(f, -s, axis)
case("physics.grad1d", [field], [(shift(field, 1) - shift(field, -1)) / (2 * h)], "numpy.roll", 1e-11, dx=h)
case("physics.divergence1d", [field], [scipy.linalg.circulant(np.array([0, -1, 0, 0, 0, 0, 0, 1.0])) @ field / (2 * h)], "scipy.linalg.circulant", 1e-11, dx=h)
plane = normal(4, 5)
case("physics.laplacian", [plane], [sum(shift(plane, 1, i) + shift(plane, -1, i) - 2 * plane for i in (0, 1)) / h ** 2], "numpy.roll", 1e-11, dx=h)
five = {-2: -1, -1: 16, 0: -30, 1: 16, 2: -1}
case("physics.laplacian4", [field], [sum(w * shift(field, o) for o, w in five.items()) / (12 * h * h)], "numpy.roll", 1e-11, dx=h)
density = positive(7)
root = np.sqrt(density)
inside = np.zeros(7)
inside[1:-1] = -0.5 * np.diff(root, 2) / h ** 2 / root[1:-1]
case("physics.quantum_potential", [density], [inside], "numpy.diff", 1e-10, dx=h)
ends = lambda f: np.concatenate([[0], np.gradient(f, h)[1:-1], [0]])
case("physics.bohmian_velocity", [field], [ends(field) / 2], "numpy.gradient", 1e-11, dx=h, mass=2.0)
case("physics.madelung_continuity", [density, field[:7]], [ends(density * field[:7])], "numpy.gradient", 1e-11, dx=h)
for n in (8, 6):
    signal = normal(n) + 1j * normal(n)
    case("physics.fft1d", [signal], [np.fft.fft(signal)], "numpy.fft", 1e-11)
    case("physics.ifft1d", [signal], [np.fft.ifft(signal)], "numpy.fft", 1e-11)
for bits, dtype in {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}.items():
    data = rng.integers(0, 2 ** bits, 9, dtype=dtype)
    counts = np.arange(bits, dtype=np.uint64)
    little = np.unpackbits(data.view(np.uint8).reshape(9, -1), axis=1, bitorder="little")
    case(f"pospop.count{bits}", [counts, data], [counts + little.sum(0).astype(np.uint64)], "numpy.unpackbits")
    if bits == 8:
        case("pospop.count_string", [counts, data], [counts + little.sum(0).astype(np.uint64)], "numpy.unpackbits")
qx = np.array([0.24, 0.25, 0.26, -0.25, -0.75, 100.0, -100.0, 0.0])
case("quant.quant", [qx], [np.clip(np.sign(qx) * np.floor(np.abs(qx / 0.5) + 0.5) + 3, -128, 127).astype(np.int8)], "half away from zero", scale=0.5, zero_point=3)
codes = np.array([-128, -1, 0, 7, 127], dtype=np.int8)
case("dequant.dequant", [codes], [(codes.astype(float) - 3) * 0.5], "numpy", scale=0.5, zero_point=3)
packed4 = np.array([0x10, 0xF2, 0x8A], dtype=np.uint8)
nibbles = np.stack([packed4 & 15, packed4 >> 4], -1).ravel().astype(float)
case("dequant.dequant4", [packed4], [(nibbles - 8) * 0.5], "numpy", scale=0.5, zero_point=8)
dyn = normal(2, 32)
amax = np.abs(dyn).astype(np.float32).max(1)
case("quant.dynamic", [dyn], [np.rint(dyn.astype(np.float32) * (np.float32(127) / amax)[:, None]).astype(np.int8), (amax / np.float32(127)).astype(float)[:, None]], "numpy", 0)
cases[-1]["outputs"][1]["dtype"] = "f32"
logits = normal(6)
case("sampling.greedy_sample", [logits], [np.array([logits.argmax()], dtype=np.int32)], "numpy")
kept = torch.topk(t(logits), 3)
case("sampling.top_k_sample", [logits], [None, kept.indices.numpy().astype(np.int32), F.softmax(kept.values, 0)], "torch.topk", 1e-11, top_k=3, seed=1)
order = np.argsort(-logits)
probability = scipy.special.softmax(logits)[order]
size = int(np.searchsorted(np.cumsum(probability), 0.6) + 1)
ids_p = np.concatenate([order[:size], np.full(6 - size, -1)]).astype(np.int32)
probs_p = np.concatenate([probability[:size] / probability[:size].sum(), np.zeros(6 - size)])
case("sampling.top_p_sample", [logits], [None, ids_p, probs_p], "scipy.special.softmax", 1e-11, top_p=0.6, seed=1)

# Functions, comparisons and bits ---------------------------------------------------------------
unit = np.concatenate([np.clip(normal(9) / 3, -1, 1), [0.0, 1.0, -1.0, np.nan]])
wide = np.concatenate([normal(9) * 5, [0.0, np.inf, -np.inf, np.nan]])
for op, f, values in [("acos", np.arccos, unit), ("asin", np.arcsin, unit), ("atan", np.arctan, wide),
                      ("acosh", np.arccosh, np.abs(wide) + 1), ("asinh", np.arcsinh, wide),
                      ("atanh", np.arctanh, unit[:9]), ("cosh", np.cosh, wide), ("sinh", np.sinh, wide),
                      ("tan", np.tan, wide[:10]), ("ceil", np.ceil, wide), ("floor", np.floor, wide),
                      ("round", np.rint, np.concatenate([wide, [0.5, 1.5, -2.5]]))]:
    case(f"math.{op}", [values], [f(values)], "numpy", 1e-11)
base, power = np.concatenate([positive(8) * 3, [0.0, 2.0, 1.0]]), np.concatenate([normal(8), [0.5, 0.0, np.nan]])
case("math.pow", [base, power], [np.power(base, power)], "numpy", 1e-11)
a, b = np.concatenate([normal(6), [0.0, 1.0, np.nan]]), np.concatenate([normal(6), [0.0, 2.0, 1.0]])
a[2] = b[2]
for op, f in {"equal": np.equal, "less": np.less, "less_or_equal": np.less_equal}.items():
    case(f"compare.{op}", [a, b], [f(a, b).astype(np.uint8)], "numpy", 0)
mask = rng.integers(0, 2, 9).astype(np.uint8)
case("compare.where", [mask, a, b], [np.where(mask != 0, a, b)], "numpy", 0)
i = rng.integers(-50, 50, 12).astype(np.int32)
j = rng.integers(1, 9, 12).astype(np.int32) * rng.choice([-1, 1], 12).astype(np.int32)
case("elementwise.quotient", [i, j], [np.trunc(i / j).astype(np.int32)], "numpy.trunc", 0)
case("elementwise.remainder", [i, j], [np.fmod(i, j)], "numpy.fmod", 0)
case("elementwise.remainder", [i, j], [np.mod(i, j)], "numpy.mod", 0, sign="divisor")
case("elementwise.remainder", [a[:6], b[:6]], [np.fmod(a[:6], b[:6])], "numpy.fmod", 1e-12)
for op, f in {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}.items():
    case(f"bits.{op}", [i, j], [f(i, j)], "numpy", 0)
shift = rng.integers(0, 31, 12).astype(np.int32)
case("bits.shift_left", [i, shift], [np.left_shift(i, shift)], "numpy", 0)
case("bits.shift_right", [i, shift], [np.right_shift(i, shift)], "numpy", 0)

# Fused nodes -----------------------------------------------------------------------------------
fx, fy, fz = normal(3, 5), normal(3, 5), normal(5)
case("fused.elementwise", [fx, fy, fz], [F.relu(t(fx) * t(fy) + t(fz))], "torch", 1e-12,
     program="math.mul(x0, x1); math.add(v0, x2); activation.relu(v1)")
fw, fb, fr = normal(4, 5), normal(4), normal(3, 4)
case("fused.linear", [fx, fw, fb, None, fr], [F.silu(F.linear(t(fx), t(fw), t(fb))) + t(fr)], "torch", 1e-11,
     program="activation.swish(x0); math.add(v0, x1)")
fu = normal(4, 5)
case("fused.gated_linear", [fx, fw, fu], [F.silu(t(fx) @ t(fw).T) * (t(fx) @ t(fu).T)], "torch", 1e-11,
     program="activation.swiglu_tensors(x0, x1)")
fm = normal(5, 4)
case("fused.matmul", [fx, fm, fb], [F.relu(t(fx) @ t(fm) + t(fb))], "torch", 1e-11,
     program="math.add(x0, x1); activation.relu(v0)")
fk, fv = normal(5, 6), normal(6, 2)
case("fused.attention", [fx, fk, fv], [torch.softmax(t(fx) @ t(fk) * 0.5, -1) @ t(fv)], "torch", 1e-11,
     program="math.scale(x0) {factor = 0.5}")
fq = normal(2, 32).astype(np.float32)
scaled = (fq * np.float32(2)).astype(np.float32)
largest = np.abs(scaled).max(1)
case("fused.quantize", [fq.astype(float)], [np.rint(scaled * (np.float32(127) / largest)[:, None]).astype(np.int8), (largest / np.float32(127)).astype(float)[:, None]], "numpy", 0,
     program="math.scale(x0) {factor = 2}")
cases[-1]["outputs"][1]["dtype"] = "f32"

with open("oracle.json", "w", encoding="ascii") as file:
    file.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
print(len(cases), "cases of", len({c["op"] for c in cases}), "operations")
