// Closures over splits, calls and returns; interning of frames and states.
// A state is a set of threads; each thread is a place in the program and a stack of returns, shared
// with others.
#include "text/grammar/grammar_automaton.h"

#include <algorithm>
#include <array>

#include "base/fail.h"
#include "base/hash.h"

namespace quern {
namespace {

using Op = GrammarInstruction::Op;
// The frame below all others: nothing returns from it.
constexpr uint32_t kBottom = 0;

// Two numbers as the key of a set.
uint64_t pair_key(uint32_t a, uint32_t b) {
  return (uint64_t{a} << 32) | b;
}

}  // namespace

// The first state is that of the empty text.
GrammarAutomaton::GrammarAutomaton(const Grammar& grammar, const Limits& limits)
    : program_(grammar.program()), limits_(limits) {
  clear();
  begin_closure();
  follow({program_->start, kBottom});
  start_ = intern();
}

// Forgets states and frames; ids begin anew.
void GrammarAutomaton::clear() {
  next_.clear();
  infos_.clear();
  threads_.clear();
  frames_.assign(1, {kAcceptPc, kBottom});
  frame_index_.clear();
  state_index_.clear();
  main_steps_.clear();
  // States 0 and 1 lead to themselves with every byte and have no threads.
  for (const State fixed : {kDead, kTooLarge}) {
    infos_.emplace_back();
    next_.resize(next_.size() + program_->byte_of_class.size(), fixed);
  }
}

// Byte by byte, until dead.
GrammarAutomaton::State GrammarAutomaton::walk(State state, std::string_view bytes) {
  for (const char c : bytes) {
    if (state <= kTooLarge) break;
    state = step(state, static_cast<uint8_t>(c));
  }
  return state;
}

// Before follow() adds the threads of the next state.
void GrammarAutomaton::begin_closure() {
  num_steps_ = 0;
  is_over_limit_ = false;
  found_.clear();
  visited_.clear();
}

// Adds the threads that wait for a byte, or for the end, from `thread` on.
void GrammarAutomaton::follow(Thread thread) {
  open_.assign(1, thread);
  while (!open_.empty() && !is_over_limit_) {
    const Thread next = open_.back();
    open_.pop_back();
    if (!visited_.insert(pair_key(next.pc, next.frame))) continue;
    is_over_limit_ = ++num_steps_ > limits_.closure_steps;
    visit(next);
  }
}

// Runs instructions that read no byte, until all threads wait for one or the text may end.
void GrammarAutomaton::visit(Thread thread) {
  const GrammarInstruction& i = program_->code[thread.pc];
  switch (i.op) {
    case Op::kAccept:
    case Op::kByte:
    case Op::kEdges:
      found_.push_back(thread);
      return;
    case Op::kSplit:
      // Pushed in reverse: the first branch is followed first, though the order changes no result.
      open_.push_back({i.count, thread.frame});
      open_.push_back({i.first, thread.frame});
      return;
    case Op::kJump:
      open_.push_back({i.first, thread.frame});
      return;
    case Op::kCall:
      open_.push_back({i.first, push_frame(thread.pc + 1, thread.frame)});
      return;
    case Op::kReturn: {
      const Frame& frame = frames_[thread.frame];
      open_.push_back({frame.return_pc, frame.parent});
      return;
    }
    case Op::kFail:
      return;
  }
}

// A call at the end of a rule needs no frame of its own, so right recursion needs no stack.
uint32_t GrammarAutomaton::push_frame(GrammarPc return_pc, uint32_t parent) {
  // A jump at the end of an alternative often leads to the return: looked through.
  while (program_->code[return_pc].op == Op::kJump) return_pc = program_->code[return_pc].first;
  if (program_->code[return_pc].op == Op::kReturn) return parent;
  const auto [found, is_new] =
      frame_index_.emplace(pair_key(return_pc, parent), static_cast<uint32_t>(frames_.size()));
  if (is_new) {
    frames_.push_back({return_pc, parent});
    is_over_limit_ = is_over_limit_ || frames_.size() > limits_.frames;
  }
  return found->second;
}

// Makes the next state and remembers it.
GrammarAutomaton::State GrammarAutomaton::find_step(State state, uint8_t byte_class) {
  const uint8_t byte = program_->byte_of_class[byte_class];
  begin_closure();
  const StateInfo info = infos_[static_cast<size_t>(state)];
  for (size_t t = info.first; t < info.first + info.count; ++t) {
    const Thread thread = threads_[t];
    const GrammarInstruction& i = program_->code[thread.pc];
    if (i.op == Op::kByte && i.byte == byte) follow({thread.pc + 1, thread.frame});
    if (i.op != Op::kEdges) continue;
    for (uint32_t e = i.first; e < i.first + i.count; ++e) {
      const GrammarEdge& edge = program_->edges[e];
      if (edge.first <= byte && byte <= edge.last) follow({edge.target, thread.frame});
    }
  }
  const State next = intern();
  // Too large may be right only now: after keep_only() the same step may have room.
  if (next != kTooLarge) next_[index(state, byte_class)] = next;
  return next;
}

// The state of these threads: an old one where there is one.
GrammarAutomaton::State GrammarAutomaton::intern() {
  if (is_over_limit_) return kTooLarge;
  if (found_.empty()) return kDead;
  std::sort(found_.begin(), found_.end());
  return add_state(found_);
}

// Errors are noted in is_over_limit_.
GrammarAutomaton::State GrammarAutomaton::add_state(std::vector<Thread> threads) {
  const uint64_t hash = Hasher().bytes(threads.data(), threads.size() * sizeof(Thread)).digest();
  const auto [begin, end] = state_index_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    const StateInfo& info = infos_[static_cast<size_t>(entry->second)];
    const auto* const known = threads_.data() + info.first;
    if (std::equal(threads.begin(), threads.end(), known, known + info.count)) return entry->second;
  }
  if (infos_.size() >= limits_.states || threads_.size() + threads.size() > limits_.threads) {
    return kTooLarge;
  }
  const auto state = static_cast<State>(infos_.size());
  // Threads are sorted by place, and kAcceptPc is the least.
  const bool can_end = threads.front().pc == kAcceptPc;
  infos_.push_back({threads_.size(), static_cast<uint32_t>(threads.size()), can_end,
                    can_end && threads.size() == 1});
  threads_.insert(threads_.end(), threads.begin(), threads.end());
  next_.resize(next_.size() + program_->byte_of_class.size(), -1);
  state_index_.emplace(hash, state);
  return state;
}

// Where most bytes of a state lead, for a walk over many tokens.
const GrammarAutomaton::MainStep& GrammarAutomaton::main_step(State state) {
  const auto [found, is_new] = main_steps_.try_emplace(state);
  if (!is_new) return found->second;
  std::array<State, 256> targets;
  std::unordered_map<State, int> counts;
  State main = kDead;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    targets[byte] = step(state, static_cast<uint8_t>(byte));
    if (targets[byte] <= kTooLarge) continue;
    // Counts of kDead stay 0, so the first live target takes its place.
    if (++counts[targets[byte]] > counts[main]) main = targets[byte];
  }
  MainStep& made = found->second;
  made.target = main;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    made.bytes[byte] = main != kDead && targets[byte] == main;
  }
  return made;
}

// Close to the limits: keep_only() makes room before an answer is refused.
bool GrammarAutomaton::is_filling() const {
  return infos_.size() > limits_.states / 2 || threads_.size() > limits_.threads / 2 ||
         frames_.size() > limits_.frames / 2;
}

// Forgets all but one state, which gets a new id.
GrammarAutomaton::State GrammarAutomaton::keep_only(State state) {
  if (state <= kTooLarge) return state;
  const StateInfo info = infos_[static_cast<size_t>(state)];
  const auto* const first = threads_.data() + info.first;
  std::vector<Thread> threads(first, first + info.count);
  const std::vector<Frame> old = std::move(frames_);
  visited_.clear();
  clear();
  // Stacks move from the bottom up, each frame once.
  std::unordered_map<uint32_t, uint32_t> moved = {{kBottom, kBottom}};
  std::vector<uint32_t> stack;
  for (Thread& thread : threads) {
    for (uint32_t f = thread.frame; moved.find(f) == moved.end(); f = old[f].parent) {
      stack.push_back(f);
    }
    for (; !stack.empty(); stack.pop_back()) {
      const Frame& frame = old[stack.back()];
      moved[stack.back()] = push_frame(frame.return_pc, moved.at(frame.parent));
    }
    thread.frame = moved.at(thread.frame);
  }
  std::sort(threads.begin(), threads.end());
  return add_state(std::move(threads));
}

// False once the text cannot match any more. Errors: kResourceExhausted.
Result<bool> GrammarMatcher::push(std::string_view bytes) {
  for (const char c : bytes) {
    if (automaton_.is_filling()) state_ = automaton_.keep_only(state_);
    state_ = automaton_.step(state_, static_cast<uint8_t>(c));
    if (state_ == GrammarAutomaton::kTooLarge) {
      return fail::exhausted(
          "The grammar is too ambiguous: the text reaches over the limit of states.");
    }
    if (state_ == GrammarAutomaton::kDead) return false;
  }
  return state_ != GrammarAutomaton::kDead;
}

}  // namespace quern
