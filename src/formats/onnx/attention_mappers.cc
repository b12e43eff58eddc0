// ONNX products of matrices, attention and rotary positions.
// Attention is written out in products and a softmax; the passes join it again where a backend can.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/fail.h"
#include "formats/onnx/node_context.h"

namespace quern::onnx {
namespace {

// MatMul: NumPy's rules, vectors and batches included.
Result<void> matmul(NodeContext& c) {
  c.out(0, c.g().matmul(c.in(0), c.in(1)));
  return c.done();
}

// alpha A B + beta C.
Result<void> gemm(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId a = c.integer("transA", 0) != 0 ? g.permute(c.in(0), {1, 0}) : c.in(0);
  const ValueId b = c.integer("transB", 0) != 0 ? g.permute(c.in(1), {1, 0}) : c.in(1);
  ValueId y = g.scale(g.op("math.matmul", {a, b}), c.number("alpha", 1));
  if (c.has(2)) y = g.binary("math.add", y, g.scale(c.in(2), c.number("beta", 1)));
  c.out(0, y);
  return c.done();
}

// Einsum -----------------------------------------------------------------------------------------

// One operand's labels; the axes of "..." get labels of their own, '0' and on, aligned at the end.
Result<std::string> labels_of(std::string_view text, size_t rank) {
  std::string labels;
  const size_t dots = text.find("...");
  const size_t named = dots == std::string_view::npos ? text.size() : text.size() - 3;
  if (named > rank || (dots == std::string_view::npos && named != rank)) {
    return fail::invalid("Einsum names {} axes of a tensor of rank {}.", named, rank);
  }
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == dots) {
      // Counted down to '0', the last axis of "...": operands whose "..." have different ranks
      // align at their ends, as in NumPy.
      for (size_t k = rank - named; k > 0; --k) labels += static_cast<char>('0' + k - 1);
      i += 2;
      continue;
    }
    labels += text[i];
  }
  return labels;
}

// x with its axes in the order of `all`, extent 1 where it has none; repeated labels take the
// diagonal.
ValueId align(TensorAlgebra& g, ValueId x, std::string labels, const std::string& all) {
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t j = i + 1; j < labels.size(); ++j) {
      if (labels[i] != labels[j]) continue;
      const Dims dims = g.dims(x);
      if (dims.empty()) return x;
      const int64_t n = dims[i];
      if (!g.allows(n) || dims[j] != n) {
        g.refuse("Einsum repeats a label over axes that differ.");
        return kNoValue;
      }
      // Both axes to the front as one of n * n, of which every n + 1st is on the diagonal.
      ValueId front =
          g.move_axis(g.move_axis(x, static_cast<int64_t>(j), 0), static_cast<int64_t>(i) + 1, 1);
      Dims joined = g.dims(front);
      joined.erase(joined.begin());
      joined[0] = n * n;
      std::vector<int64_t> diagonal;
      for (int64_t k = 0; k < n; ++k) diagonal.push_back(k * (n + 1));
      x = g.move_axis(g.take(g.reshape(front, joined), 0, diagonal), 0, static_cast<int64_t>(i));
      // The axis j is gone: x and labels are one shorter, and i may repeat once more.
      labels.erase(j--, 1);
    }
  }
  Dims order, wide;
  const Dims dims = g.dims(x);
  for (const char label : all) {
    const size_t at = labels.find(label);
    wide.push_back(at == std::string::npos || at >= dims.size() ? 1 : dims[at]);
    if (at != std::string::npos) order.push_back(static_cast<int64_t>(at));
  }
  return g.reshape(g.permute(x, order), wide);
}

// The product of all operands over all labels, summed over those that the output has not.
Result<void> einsum(NodeContext& c) {
  TensorAlgebra& g = c.g();
  if (c.num_inputs() == 0) return fail::invalid("Einsum has no inputs.");
  std::string equation = c.text("equation", "");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  std::vector<std::string> operands;
  std::string_view rest = std::string_view(equation).substr(0, arrow);
  for (size_t i = 0; i < c.num_inputs(); ++i) {
    const size_t comma = rest.find(',');
    QUERN_ASSIGN_OR_RETURN(std::string labels,
                           labels_of(rest.substr(0, comma), g.dims(c.in(i)).size()));
    operands.push_back(std::move(labels));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  std::map<char, int> uses;
  size_t num_dots = 0;
  for (const std::string& labels : operands) {
    for (const char label : labels) {
      ++uses[label];
      if (label >= '0' && label <= '9')
        num_dots = std::max(num_dots, static_cast<size_t>(label - '0') + 1);
    }
  }
  std::string output;
  // std::map walks labels in the order of letters, as NumPy's implicit form wants it.
  if (arrow == std::string::npos) {  // labels used once, in order, after the axes of "..."
    for (size_t k = num_dots; k > 0; --k) output += static_cast<char>('0' + k - 1);
    for (const auto& [label, count] : uses) {
      if (count == 1 && !(label >= '0' && label <= '9')) output += label;
    }
  } else {
    const std::string_view text = std::string_view(equation).substr(arrow + 2);
    const size_t named =
        text.find("...") == std::string_view::npos ? text.size() : text.size() - 3 + num_dots;
    QUERN_ASSIGN_OR_RETURN(output, labels_of(text, named));
  }
  // Output labels first: the axes to sum are then the last ones.
  std::string all = output;
  for (const auto& [label, count] : uses) {
    if (all.find(label) == std::string::npos) all += label;
  }
  ValueId y = align(g, c.in(0), operands[0], all);
  for (size_t i = 1; i < operands.size(); ++i)
    y = g.binary("math.mul", y, align(g, c.in(i), operands[i], all));
  Dims summed(all.size() - output.size());
  std::iota(summed.begin(), summed.end(), static_cast<int64_t>(output.size()));
  c.out(0, g.cast(g.reduce("sum", y, summed, false), g.dtype(c.in(0))));
  return c.done();
}

// Attention
// ----------------------------------------------------------------------------------------

// [B, T, heads * D] as [B, heads, T, D]; four axes stay.
ValueId split_heads(TensorAlgebra& g, ValueId x, int64_t heads) {
  const Dims d = g.dims(x);
  if (d.size() != 3 || heads < 1) return x;
  //   [B, T, H * D] -> [B, T, H, D] -> [B, H, T, D]
  return g.permute(g.reshape(x, {d[0], d[1], heads, d[2] / heads}), {0, 2, 1, 3});
}

// Each key head repeated for the query heads that share it.
ValueId repeat_heads(TensorAlgebra& g, ValueId x, int64_t heads) {
  const Dims d = g.dims(x);
  if (d.size() != 4 || d[1] == heads) return x;
  if (d[1] < 1 || heads % d[1] != 0) {
    g.refuse(fmt::format("{} query heads do not share {} key heads.", heads, d[1]));
    return kNoValue;
  }
  if (!g.allows(heads)) return kNoValue;
  std::vector<int64_t> sources;
  // Group query attention: query heads h of one group share key head h / group size.
  for (int64_t h = 0; h < heads; ++h) sources.push_back(h / (heads / d[1]));
  return g.take(x, 1, sources);
}

// 0 where key j is visible to query i, else -infinity. Queries stand after `offset` earlier keys.
ValueId causal_mask(TensorAlgebra& g, DType dtype, int64_t queries, int64_t keys, int64_t offset) {
  if (!g.allows(count_of({queries, keys}))) return kNoValue;
  std::vector<double> mask;
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t j = 0; j < keys; ++j)
      // Query i is at position offset + i of the sequence and sees keys up to itself.
      mask.push_back(j <= i + offset ? 0 : -std::numeric_limits<double>::infinity());
  }
  return g.constant(dtype, {queries, keys}, std::move(mask));
}

// A mask as numbers to add; bools hide where they are 0. Missing keys at the end are hidden.
ValueId additive_mask(TensorAlgebra& g, ValueId mask, DType dtype, int64_t keys) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (g.dtype(mask) == DType::kU8) {
    const ValueId zero = g.constant(dtype, {}, {0}), hidden = g.constant(dtype, {}, {-infinity});
    mask = g.where(mask, zero, hidden);
  }
  mask = g.cast(mask, dtype);
  const Dims d = g.dims(mask);
  // An extent of 1 broadcasts over all keys.
  if (d.empty() || d.back() == keys || d.back() == 1) return mask;
  return g.pad(mask, static_cast<int64_t>(d.size()) - 1, 0, keys - d.back(), -infinity);
}

// Keys from nonpad_kv_seqlen[b] on are hidden in batch b.
Result<ValueId> length_mask(NodeContext& c, DType dtype, int64_t keys) {
  QUERN_ASSIGN_OR_RETURN(const auto lengths, c.ints(6));
  if (!c.g().allows(count_of({static_cast<int64_t>(lengths.size()), keys}))) return kNoValue;
  std::vector<double> mask;
  for (const int64_t length : lengths) {
    for (int64_t j = 0; j < keys; ++j)
      mask.push_back(j < length ? 0 : -std::numeric_limits<double>::infinity());
  }
  return c.g().constant(dtype, {static_cast<int64_t>(lengths.size()), 1, 1, keys}, std::move(mask));
}

// Softmax of scores; a row that is hidden as a whole gives zeros.
ValueId visible_softmax(TensorAlgebra& g, ValueId scores) {
  const Dims d = g.dims(scores);
  if (d.empty()) return scores;
  // A row of -infinity alone would give NaN in the softmax (-infinity minus itself).
  const ValueId best = g.reduce("reduce_max", scores, {static_cast<int64_t>(d.size()) - 1}, true);
  const ValueId is_hidden =
      g.with_scalar("compare.equal", best, -std::numeric_limits<double>::infinity());
  return g.where(is_hidden, g.scalar(scores, 0), g.op("math.softmax", {scores}));
}

// Attention-23 and later: queries, keys and values of 3 or 4 dims, with mask, causality, soft cap
// and cached keys.
Result<void> attention(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const bool is_rank_3 = g.dims(c.in(0)).size() == 3;
  const ValueId q = split_heads(g, c.in(0), c.integer("q_num_heads", 0));
  ValueId k = split_heads(g, c.in(1), c.integer("kv_num_heads", 0));
  ValueId v = split_heads(g, c.in(2), c.integer("kv_num_heads", 0));
  int64_t offset = 0;
  if (c.has(4)) {
    offset = g.dims(c.in(4)).size() == 4 ? g.dims(c.in(4))[2] : 0;
    const std::array keys = {c.in(4), k}, values = {c.in(5), v};
    k = g.concat(keys, 2);
    v = g.concat(values, 2);
  }
  c.out(1, g.op("shape.reshape", {k}, {{"shape", g.dims(k)}}));
  c.out(2, g.op("shape.reshape", {v}, {{"shape", g.dims(v)}}));
  const Dims dims = g.dims(q), key_dims = g.dims(k);
  if (dims.size() != 4 || key_dims.size() != 4)
    return fail::invalid("Attention needs tensors of rank 3 or 4.");
  k = repeat_heads(g, k, dims[1]);
  v = repeat_heads(g, v, dims[1]);
  const DType dtype = g.dtype(q);
  const double scale = c.number("scale", 1 / std::sqrt(static_cast<double>(dims[3])));
  // The root of the scale goes into each side, as the operator's description has it: less overflow
  // in narrow floats than one product by the scale.
  ValueId scores =
      g.matmul(g.scale(q, std::sqrt(scale)), g.permute(g.scale(k, std::sqrt(scale)), {0, 1, 3, 2}));
  // Which stage of the scores output 3 is: 0 the product, 1 capped, 2 masked, 3 after the softmax.
  const int64_t mode = c.integer("qk_matmul_output_mode", 0);
  const double cap = c.number("softcap", 0);
  if (mode == 0) c.out(3, scores);
  // The cap comes before the mask, so that what is hidden stays hidden.
  if (cap > 0) scores = g.scale(g.op("activation.tanh", {g.scale(scores, 1 / cap)}), cap);
  if (mode == 1) c.out(3, scores);
  if (c.integer("is_causal", 0) != 0)
    scores = g.binary("math.add", scores, causal_mask(g, dtype, dims[2], key_dims[2], offset));
  if (c.has(3))
    scores = g.binary("math.add", scores, additive_mask(g, c.in(3), dtype, key_dims[2]));
  if (c.has(6)) {
    QUERN_ASSIGN_OR_RETURN(const ValueId mask, length_mask(c, dtype, key_dims[2]));
    scores = g.binary("math.add", scores, mask);
  }
  if (mode == 2) c.out(3, scores);
  const ValueId weights = visible_softmax(g, scores);
  if (mode == 3) c.out(3, weights);
  ValueId y = g.matmul(weights, v);
  const Dims y_dims = g.dims(y);
  if (is_rank_3 && y_dims.size() == 4)
    y = g.reshape(g.permute(y, {0, 2, 1, 3}), {y_dims[0], y_dims[2], y_dims[1] * y_dims[3]});
  c.out(0, y);
  return c.done();
}

// Rotary positions
// -----------------------------------------------------------------------------------

// x [B, H, T, D] or [B, T, H * D]; cos and sin [positions, D / 2] by position, or [B, T, D / 2].
Result<void> rotary_embedding(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims given = g.dims(c.in(0));
  const bool is_rank_3 = given.size() == 3;
  const ValueId x = split_heads(g, c.in(0), c.integer("num_heads", 0));
  const Dims d = g.dims(x);
  if (d.size() != 4) return fail::invalid("RotaryEmbedding needs heads.");
  const auto table = [&](size_t i) {
    ValueId rows = c.in(i);
    if (c.has(3)) {
      const Dims ids = g.dims(c.in(3));
      rows = g.reshape(g.take_rows(rows, 0, g.reshape(c.in(3), {count_of(ids)})),
                       {d[0], d[2], g.dims(rows).empty() ? 0 : g.dims(rows).back()});
    }
    const Dims shape = g.dims(rows);
    if (shape.size() != 3) g.refuse("RotaryEmbedding needs tables [B, T, D / 2], or positions.");
    return shape.size() != 3 ? rows : g.reshape(rows, {shape[0], 1, shape[1], shape.back()});
  };
  const int64_t rotated =
      c.integer("rotary_embedding_dim", 0) == 0 ? d[3] : c.integer("rotary_embedding_dim", 0);
  if (rotated < 0 || rotated > d[3] || rotated % 2 != 0 || !g.allows(rotated)) {
    return fail::invalid("RotaryEmbedding turns {} of {} elements.", rotated, d[3]);
  }
  const int64_t half = rotated / 2;
  const ValueId cos = g.slice(table(1), 3, 0, half), sin = g.slice(table(2), 3, 0, half);
  std::vector<int64_t> first, second, back(static_cast<size_t>(rotated));
  const bool is_interleaved = c.integer("interleaved", 0) != 0;
  for (int64_t i = 0; i < half; ++i) {
    first.push_back(is_interleaved ? 2 * i : i);
    second.push_back(is_interleaved ? 2 * i + 1 : half + i);
    // The inverse permutation: element first[i] of the result is element i of the joined halves.
    back[static_cast<size_t>(first.back())] = i;
    back[static_cast<size_t>(second.back())] = half + i;
  }
  const ValueId a = g.take(x, 3, first), b = g.take(x, 3, second);
  const auto product = [&](ValueId p, ValueId t) { return g.binary("math.mul", p, t); };
  const std::array turned = {g.binary("elementwise.sub", product(a, cos), product(b, sin)),
                             g.binary("math.add", product(a, sin), product(b, cos))};
  std::vector<ValueId> parts{g.take(g.concat(turned, 3), 3, back)};
  if (rotated < d[3]) parts.push_back(g.slice(x, 3, rotated, d[3]));
  ValueId y = g.concat(parts, 3);
  if (is_rank_3) y = g.permute(y, {0, 2, 1, 3});
  c.out(0, g.reshape(y, given));
  return c.done();
}

constexpr std::array kMappers = {
    OpMapper{"Attention", attention},
    OpMapper{"Einsum", einsum},
    OpMapper{"Gemm", gemm},
    OpMapper{"MatMul", matmul},
    OpMapper{"RotaryEmbedding", rotary_embedding},
};

}  // namespace

std::span<const OpMapper> attention_mappers() {
  return kMappers;
}

}  // namespace quern::onnx
