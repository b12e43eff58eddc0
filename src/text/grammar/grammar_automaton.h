// The states that a text can bring a grammar to, found and remembered step by step.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quern/error.h"
#include "text/grammar/grammar.h"
#include "text/grammar/key_set.h"

namespace quern {

// A lazy deterministic automaton over bytes. A state is a set of threads, each an instruction that
// waits for a byte (or for the end of the text) with its stack of calls; equal stacks are one frame
// and equal sets one state. So a step that was taken before is one look-up, and characters may be
// cut anywhere between bytes. One thread only.
class GrammarAutomaton {
 public:
  using State = int32_t;
  static constexpr State kDead = 0;      // no text with this begin matches
  static constexpr State kTooLarge = 1;  // a limit was reached: nothing is known

  // Memory of one automaton: grammars can make states without end.
  struct Limits {
    size_t states = size_t{1} << 14;
    size_t threads = size_t{1} << 20;  // of all states
    size_t frames = size_t{1} << 20;
    size_t closure_steps = size_t{1} << 16;  // of one step
  };

  // Shares the grammar's program. One thread only.
  explicit GrammarAutomaton(const Grammar& grammar) : GrammarAutomaton(grammar, Limits()) {}
  GrammarAutomaton(const Grammar& grammar, const Limits& limits);

  // Of the empty text. Not to be used after keep_only().
  State start() const { return start_; }
  // Remembered steps cost one look-up.
  State step(State state, uint8_t byte) {
    const State next = next_[index(state, program_->class_of_byte[byte])];
    return next >= 0 ? next : find_step(state, program_->class_of_byte[byte]);
  }
  // Stops early at kDead and kTooLarge.
  State walk(State state, std::string_view bytes);

  // Whether the text may end here; whether it must.
  bool can_end(State state) const { return infos_[static_cast<size_t>(state)].can_end; }
  // Whether nothing can follow.
  bool must_end(State state) const { return infos_[static_cast<size_t>(state)].must_end; }

  // The live state that most bytes lead to, and these bytes; kDead and none where there is no live
  // one. Inside a string that is the state itself, or the one with one character more counted. The
  // reference holds until keep_only().
  struct MainStep {
    // The target of the bytes in the set; kDead where none leads on.
    State target = kDead;
    std::bitset<256> bytes;
  };
  // Made at the first call for a state.
  const MainStep& main_step(State state);

  // Known so far.
  size_t num_states() const { return infos_.size(); }
  // Whether half of a limit is used.
  bool is_filling() const;
  // Forgets all states but this one, which gets the number returned.
  State keep_only(State state);

 private:
  // A place in the program and what to return to.
  struct Thread {
    GrammarPc pc = 0;
    uint32_t frame = 0;
    auto operator<=>(const Thread&) const = default;
  };
  // Return addresses of rules, shared by all threads that came the same way.
  struct Frame {
    GrammarPc return_pc = 0;
    uint32_t parent = 0;
  };
  // Of a state: its threads, and whether the text may or must end.
  struct StateInfo {
    size_t first = 0;  // in threads_
    uint32_t count = 0;
    bool can_end = false;
    bool must_end = false;
  };

  // Of a step in the table.
  size_t index(State state, uint8_t byte_class) const {
    return static_cast<size_t>(state) * program_->byte_of_class.size() + byte_class;
  }
  // See .cc; each works on found_, the threads of the state that is being made.
  void clear();
  //   state = {threads}   thread = (pc, frame)   frame = (return pc, parent frame) ... bottom
  //   step: threads that read the byte move on; follow() runs each to the next byte; equal sets of
  //   threads are one state
  State find_step(State state, uint8_t byte_class);
  void begin_closure();
  void follow(Thread thread);
  void visit(Thread thread);
  uint32_t push_frame(GrammarPc return_pc, uint32_t parent);
  State intern();
  State add_state(std::vector<Thread> threads);

  std::shared_ptr<const GrammarProgram> program_;
  Limits limits_;
  State start_ = kDead;
  std::vector<State> next_;  // [state, byte class]; -1: not known yet
  // By state.
  std::vector<StateInfo> infos_;
  std::unordered_map<State, MainStep> main_steps_;
  std::vector<Thread> threads_;
  std::vector<Frame> frames_;  // 0: the bottom
  // Frames by their contents, so that equal ones are one.
  std::unordered_map<uint64_t, uint32_t> frame_index_;
  std::unordered_multimap<uint64_t, State> state_index_;  // by hash of the threads
  // Of the step in progress.
  std::vector<Thread> open_;
  // Kept between steps, so that they allocate nothing.
  std::vector<Thread> found_;
  KeySet visited_;  // threads
  // Work on the current state; limits bound loops that read nothing.
  size_t num_steps_ = 0;
  bool is_over_limit_ = false;
};

// A text that grows, held to a grammar. One thread only.
class GrammarMatcher {
 public:
  // Shares the grammar's program. One text each.
  explicit GrammarMatcher(const Grammar& grammar)
      : automaton_(grammar), state_(automaton_.start()) {}

  // False when no text with this begin matches; then it stays so.
  // Errors: kResourceExhausted when the grammar is too ambiguous for the limits.
  Result<bool> push(std::string_view bytes);
  // Whether the text so far is whole, and whether nothing can follow.
  bool can_end() const { return automaton_.can_end(state_); }
  bool must_end() const { return automaton_.must_end(state_); }

 private:
  // Where it stands.
  GrammarAutomaton automaton_;
  GrammarAutomaton::State state_;
};

}  // namespace quern
