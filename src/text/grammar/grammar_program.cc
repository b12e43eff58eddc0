// Code for each rule, then for the bodies of repetitions, which are rules of their own where they
// are long: so that nested repetitions add up and do not multiply.
#include "text/grammar/grammar_program.h"

#include <bitset>
#include <map>
#include <utility>

#include "base/fail.h"
#include "text/grammar/utf8_ranges.h"

namespace quern {
namespace {

using Kind = GrammarExpr::Kind;
using Op = GrammarInstruction::Op;

// Longest body, in parts, that a repetition copies.
constexpr size_t kMaxCopiedParts = 2;

// From the tree to instructions. One grammar each.
class Compiler {
 public:
  // Borrows the AST, which was checked.
  explicit Compiler(const GrammarAst& ast) : ast_(ast), rule_starts_(ast.rules().size(), 0) {}

  // Errors: kResourceExhausted for more than kMaxGrammarInstructions.
  Result<GrammarProgram> run() {
    // Instruction 0: the bottom frame returns to it, so that the root's return accepts.
    emit({Op::kAccept});
    for (size_t i = 0; i < ast_.rules().size(); ++i) {
      rule_starts_[i] = here();
      add_rule(ast_.rules()[i].body);
    }
    // Compiling one body may ask for more.
    for (size_t i = 0; i < bodies_.size() && !is_too_large(); ++i) {
      body_starts_.push_back(here());
      add_rule(bodies_[i]);
    }
    if (is_too_large()) {
      return fail::exhausted(
          "The grammar needs over {} instructions: its repetitions are too many.",
          kMaxGrammarInstructions);
    }
    // Calls hold the number of their rule until every rule has an address.
    for (const GrammarPc call : rule_calls_) code(call).first = rule_starts_[code(call).first];
    for (const GrammarPc call : body_calls_) code(call).first = body_starts_[code(call).first];
    program_.start = rule_starts_[ast_.root()];
    find_byte_classes();
    return std::move(program_);
  }

 private:
  // Where the next instruction goes.
  GrammarPc here() const { return static_cast<GrammarPc>(program_.code.size()); }
  GrammarInstruction& code(GrammarPc pc) { return program_.code[pc]; }
  // Repetitions copy their bodies, so a small grammar can be a large program.
  bool is_too_large() const { return program_.code.size() > kMaxGrammarInstructions; }
  GrammarPc emit(GrammarInstruction instruction) {
    program_.code.push_back(instruction);
    return here() - 1;
  }

  // A rule's body and its return.
  void add_rule(ExprId body) {
    add(body);
    emit({Op::kReturn});
  }

  // Instructions of an expression; what follows it comes next.
  void add(ExprId id) {
    if (is_too_large()) return;
    const GrammarExpr& expr = ast_.expr(id);
    switch (expr.kind) {
      case Kind::kText:
        for (const char c : expr.text) emit({Op::kByte, static_cast<uint8_t>(c)});
        return;
      case Kind::kClass:
        return add_class(expr.set);
      case Kind::kSequence:
        for (const ExprId item : expr.items) add(item);
        return;
      case Kind::kChoice:
        return add_choice(expr);
      case Kind::kRepeat:
        return add_repeat(expr);
      case Kind::kRule:
        rule_calls_.push_back(emit({Op::kCall, 0, expr.rule}));
        return;
    }
  }

  // One thread for each alternative.
  void add_choice(const GrammarExpr& expr) {
    if (expr.items.empty()) {
      emit({Op::kFail});
      return;
    }
    std::vector<GrammarPc> jumps;
    for (size_t i = 0; i + 1 < expr.items.size(); ++i) {
      const GrammarPc split = emit({Op::kSplit});
      //   split -> a, jump end; split -> b, jump end; c; end:
      code(split).first = here();
      add(expr.items[i]);
      jumps.push_back(emit({Op::kJump}));
      code(split).count = here();
    }
    add(expr.items.back());
    for (const GrammarPc jump : jumps) code(jump).first = here();
  }

  // x{2,4} is x x (x (x)?)?, where every way out goes to the same end.
  void add_repeat(const GrammarExpr& expr) {
    const ExprId item = expr.items[0];
    for (uint32_t i = 0; i < expr.min && !is_too_large(); ++i) add_body(item);
    std::vector<GrammarPc> splits;
    //   x*     L: split -> x, jump L; end:
    //   x{0,2} split -> x, split -> x; end:      both splits leave to the end
    const uint32_t rest = expr.max == kUnbounded ? 1 : expr.max - expr.min;
    for (uint32_t i = 0; i < rest && !is_too_large(); ++i) {
      const GrammarPc split = emit({Op::kSplit});
      code(split).first = here();
      splits.push_back(split);
      add_body(item);
      if (expr.max == kUnbounded) emit({Op::kJump, 0, split});
    }
    for (const GrammarPc split : splits) code(split).count = here();
  }

  // Bodies that are cheaper to repeat than to call.
  bool is_short(ExprId id) const {
    const GrammarExpr& expr = ast_.expr(id);
    if (expr.kind == Kind::kRule) return true;
    if (expr.kind == Kind::kText) return expr.text.size() <= kMaxCopiedParts;
    return expr.kind == Kind::kClass && expr.set.back().last < 0x80;
  }

  // Short bodies in place, long ones as a rule of their own.
  void add_body(ExprId id) {
    if (is_short(id)) return add(id);
    const auto [found, is_new] = body_numbers_.emplace(id, bodies_.size());
    if (is_new) bodies_.push_back(id);
    body_calls_.push_back(emit({Op::kCall, 0, static_cast<uint32_t>(found->second)}));
  }

  // First the node of the first byte, then those of the bytes after it; equal ends are shared.
  void add_class(const CodeSet& set) {
    const GrammarPc head = emit({Op::kEdges});
    std::vector<std::pair<GrammarPc, std::vector<GrammarEdge>>> nodes = {{head, {}}};
    std::map<uint64_t, GrammarPc> ends;  // by the byte ranges from there on
    constexpr GrammarPc kEnd = ~GrammarPc{0};
    const auto node_of_rest = [&](const ByteSequence& sequence) {
      GrammarPc target = kEnd;
      uint64_t key = 0;
      for (size_t i = sequence.size - 1; i > 0; --i) {
        const ByteRange range = sequence.ranges[i];
        // Three ranges at the most follow a first byte: 48 bits, so that equal keys are equal ends.
        key = (key << 16) | (uint64_t{range.first} << 8) | range.last;
        const auto [found, is_new] = ends.emplace(key, 0);
        if (is_new) {
          found->second = emit({Op::kEdges});
          nodes.push_back({found->second, {{range.first, range.last, target}}});
        }
        target = found->second;
      }
      return target;
    };
    for (const ByteSequence& sequence : utf8_sequences(set)) {
      const GrammarPc target = node_of_rest(sequence);
      nodes[0].second.push_back({sequence.ranges[0].first, sequence.ranges[0].last, target});
    }
    for (const auto& [pc, edges] : nodes) {
      code(pc).first = static_cast<uint32_t>(program_.edges.size());
      code(pc).count = static_cast<uint32_t>(edges.size());
      for (GrammarEdge edge : edges) {
        if (edge.target == kEnd) edge.target = here();
        program_.edges.push_back(edge);
      }
    }
  }

  // Bytes that no edge tells apart are one class: tables of steps get small.
  void find_byte_classes() {
    std::bitset<257> begins;  // where a class begins
    begins.set(0);
    const auto cut = [&](uint32_t first, uint32_t last) {
      begins.set(first);
      begins.set(last + 1);
    };
    for (const GrammarEdge& edge : program_.edges) cut(edge.first, edge.last);
    for (const GrammarInstruction& i : program_.code) {
      if (i.op == Op::kByte) cut(i.byte, i.byte);
    }
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (begins.test(byte)) program_.byte_of_class.push_back(static_cast<uint8_t>(byte));
      program_.class_of_byte[byte] = static_cast<uint8_t>(program_.byte_of_class.size() - 1);
    }
  }

  const GrammarAst& ast_;
  GrammarProgram program_;
  std::vector<GrammarPc> rule_starts_;
  std::vector<GrammarPc> rule_calls_;
  std::vector<ExprId> bodies_;
  std::map<ExprId, size_t> body_numbers_;
  std::vector<GrammarPc> body_starts_;
  std::vector<GrammarPc> body_calls_;
};

}  // namespace

// Needs a checked tree.
Result<GrammarProgram> compile_grammar(const GrammarAst& ast) {
  return Compiler(ast).run();
}

}  // namespace quern
