// Ctrl-C while an answer is written.
#pragma once

namespace quern::cli {

// While one exists, the first Ctrl-C sets was_interrupted() and a second ends the program as
// usual. One at a time.
class InterruptGuard {
 public:
  // Takes Ctrl-C while it lives.
  // With `ends_reads`, a read that waits for input returns when the signal comes, or a second later
  // where it had not begun to wait. SIGALRM is taken, too.
  explicit InterruptGuard(bool ends_reads = false);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  // Since the guard was made.
  bool was_interrupted() const;

 private:
  bool ends_reads_;
};

}  // namespace quern::cli
