// Every operation in the table of the backend, on random inputs, against the reference backend.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>

#include "backends/cpu/op_table.h"
#include "ir/tensor_type.h"
#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::expect_reference_bits;
using test::one_op_graph;
using test::random_tensor;

using Types = std::vector<std::string>;

// Inputs that operations may accept: each operation is run on those that its type rule takes.
// "idx" is i32 with small values.
// Ranks 1 to 5, floats of all widths, integers, blocks, ids. Extents differ within a signature
// where the operation allows it, so that a transposed loop shows.
const std::vector<Types> kSignatures = {
    {},
    {"f32[3, 8]"},
    {"f16[3, 8]"},
    {"f64[2, 3, 4]"},
    {"bf16[40]"},
    {"complex64[1024]"},
    {"i32[6]"},
    {"i32[3, 8]"},
    {"f32[1, 4, 5, 6]"},
    {"f32[2, 5, 64]"},
    {"f32[3, 8]", "f32[3, 8]"},
    {"f64[70]", "f64[70]"},
    {"f16[3, 80]", "f16[3, 80]"},
    {"i32[3, 8]", "i32[3, 8]"},
    {"f32[3, 8]", "f32[8]"},
    {"bf16[3, 8]", "bf16[8]"},
    {"f32[3, 8]", "f32[24]"},
    {"f32[3, 8]", "f32[8, 5]"},
    {"f32[3, 8]", "f32[8, 5]", "f32[5, 7]"},
    {"f32[4, 64]", "q8_0[6, 64]", "q8_0[6, 64]"},
    {"f32[5]", "f32[7]"},
    {"f32[4, 64]", "q8_0[6, 64]"},
    {"f32[4, 8]", "f16[6, 8]"},
    {"idx[4]", "f32[9, 16]"},
    {"idx[4]", "q4_0[9, 64]"},
    {"f32[9, 16]", "idx[4]"},
    {"f32[6, 4, 64]", "idx[6]"},
    {"f32[4, 8]", "f32[4, 8]", "f32[4, 8]"},
    {"f32[2, 4, 5, 8]", "f32[2, 2, 5, 8]", "f32[2, 2, 5, 8]"},
    {"f32[2, 2, 5, 8]", "f32[2, 1, 5, 8]", "f32[2, 1, 5, 8]"},
    {"f32[2, 2, 5, 8]", "f32[2, 2, 5, 8]", "f32[2, 2, 5, 8]"},
    {"f32[2, 6, 4]", "f32[6]", "f32[6]"},
    {"f32[2, 6, 4]", "f32[6]", "f32[6]", "f32[6]", "f32[6]"},
    {"f32[2, 4, 5, 5]"},
    {"f32[2, 5, 5]", "f32[5, 5]"},
    {"f32[4, 64]", "q8_0[3, 6, 64]", "idx[4, 2]"},
    {"f32[4, 2, 64]", "f32[4, 2]"},
    {"f32[4, 8]", "f32[4, 8]", "idx[4]"},
    {"f32[1, 4, 9]", "f32[6, 4, 2]"},
    {"f32[1, 4, 5, 6]", "f32[4, 4, 2, 2]"},
    {"f32[1, 2, 4, 4, 4]", "f32[3, 2, 2, 2, 2]"},

};

// Values for attributes without defaults, by name. Names with several useful values have them all.
// Values in general position (0.7, 1.3, 1.7): 0 and 1 would hide a factor that is missing.
const std::map<std::string, std::vector<AttributeValue>> kAttributes = {
    {"alpha", {0.7}},
    {"beta", {1.3}},
    {"dim", {int64_t{0}, int64_t{1}}},
    {"dim0", {int64_t{0}}},
    {"dim1", {int64_t{1}}},
    {"factor", {1.7}},
    {"groups", {int64_t{2}}},
    {"head_dim", {int64_t{2}}},
    {"k", {int64_t{2}}},
    {"kernel", {int64_t{2}}},
    {"kernel_d", {int64_t{2}}},
    {"kernel_h", {int64_t{2}}},
    {"kernel_size", {int64_t{2}}},
    {"kernel_w", {int64_t{2}}},
    {"lambda", {0.5}},
    {"max", {0.75}},
    {"min", {-0.5}},
    {"num_heads", {int64_t{4}}},
    {"program",
     {"math.exp(x0)", "math.add(x0, x0); activation.relu(v0)",
      "activation.swiglu_tensors(x0, x1)"}},
    {"order", {std::vector<int64_t>{1, 0}}},
    {"out_h", {int64_t{10}}},
    {"out_w", {int64_t{12}}},
    {"shape", {std::vector<int64_t>{3, 8}, std::vector<int64_t>{2, 3, 8}}},
    {"seq_len", {int64_t{5}}},
    {"slope", {0.3}},
    {"split_size", {int64_t{4}}},
    {"theta", {0.2}},
    {"to", {"f16", "i8", "f32"}},
    {"limit", {int64_t{10}}},
};

Tensor input_of(const std::string& text, std::mt19937& random) {
  if (!text.starts_with("idx")) {
    const auto type = parse_tensor_type(text);
    EXPECT_TRUE(type.has_value()) << text;
    return random_tensor(type->dtype, *type->resolve(SymbolValues{}), random);
  }
  const auto shape = parse_tensor_type("i32" + text.substr(3))->resolve(SymbolValues{});
  std::vector<int32_t> values(static_cast<size_t>(shape->num_elements()));
  // Below every extent that ids point into.
  for (int32_t& value : values) value = static_cast<int32_t>(random() % 3);
  return *Tensor::from<int32_t>(DType::kI32, *shape, values);
}

// All combinations of the values of required attributes.
std::vector<Attributes> attribute_sets(const OpDef& op) {
  std::vector<Attributes> sets = {Attributes()};
  for (const AttributeDef& def : op.attributes) {
    if (def.default_value) continue;
    const auto known = kAttributes.find(def.name);
    if (known == kAttributes.end()) return {};
    std::vector<Attributes> grown;
    for (const Attributes& set : sets) {
      for (const AttributeValue& value : known->second) {
        grown.push_back(set);
        grown.back().set(def.name, value);
      }
    }
    sets = std::move(grown);
  }
  return sets;
}

// Operations on a key-value state have tests of their own.
bool needs_state(const OpDef& op) {
  return op.find_attribute("state") != nullptr;
}

// An entry under an alias would never be found, as graphs are canonical.
TEST(OpTable, EveryEntryNamesAnOperation) {
  for (const cpu::OpEntry& entry : cpu::op_table()) {
    const OpDef* op = builtin_ops().find(entry.id);
    ASSERT_NE(op, nullptr) << entry.id;
    EXPECT_TRUE(op->alias_of.empty()) << entry.id << " is an alias of " << op->alias_of;
  }
}

// The net below the single tests: a new operation that lands in the table without a test of its own
// is run here, or named as never run.
TEST(OpTable, EveryOperationIsServedOnRandomInputsWithTheBitsOfTheReference) {
  std::set<std::string> missing, never_ran;
  for (const OpDef* op : builtin_ops().list()) {
    const cpu::OpEntry* entry = cpu::find_entry(*op);
    if (entry == nullptr) {
      missing.insert(op->id);
      continue;
    }
    if (entry->kind == Support::Kind::kGraphOnly || needs_state(*op)) continue;
    int runs = 0;
    std::mt19937 random(3);
    for (const Attributes& attributes : attribute_sets(*op)) {
      for (const Types& types : kSignatures) {
        std::vector<Tensor> inputs;
        for (const std::string& type : types) inputs.push_back(input_of(type, random));
        // The type rule decides which signatures fit: no list of pairs has to be kept.
        if (!one_op_graph(op->id, inputs, attributes)) continue;
        SCOPED_TRACE(fmt::format("{} of {}", op->id, fmt::join(types, ", ")));
        expect_reference_bits(op->id, inputs, attributes, {3});
        ++runs;
      }
    }
    // An operation without a kernel of its own runs the reference kernel, whose cases are the suite
    // op_cases; the signatures here must reach every kernel of this backend.
    const bool has_own_kernel = entry->kind == Support::Kind::kDirect;
    if (runs == 0 && has_own_kernel) never_ran.insert(op->id);
  }
  EXPECT_TRUE(never_ran.empty()) << "no inputs for "
                                 << fmt::format("{}", fmt::join(never_ran, ", "));
}

}  // namespace
}  // namespace quern
