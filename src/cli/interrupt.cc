// The signal handler; its flag is the one mutable global of the program, as signals need one.
#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace quern::cli {
namespace {

// All that a signal handler may touch.
volatile std::sig_atomic_t g_interrupted = 0;

extern "C" void on_interrupt(int signal) {
  g_interrupted = 1;
  // A second Ctrl-C ends the program, should the first be stuck.
  std::signal(signal, SIG_DFL);
}

// A signal that comes just before read() waits does not end it. So another one follows each second
// until the guard ends; alarm() is among the few calls that a handler may make.
extern "C" void on_alarm(int /*signal*/) {
  ::alarm(1);
}

extern "C" void on_interrupt_of_read(int signal) {
  on_interrupt(signal);
  ::alarm(1);
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

// Without SA_RESTART a waiting read() returns EINTR, which is what ends it.
InterruptGuard::InterruptGuard(bool ends_reads) : ends_reads_(ends_reads) {
  g_interrupted = 0;
  if (ends_reads_) handle(SIGALRM, on_alarm, 0);
  handle(SIGINT, ends_reads_ ? on_interrupt_of_read : on_interrupt, ends_reads_ ? 0 : SA_RESTART);
}

// Ctrl-C ends the program again, whatever the handler was before the guard.
InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  if (!ends_reads_) return;
  ::alarm(0);
  std::signal(SIGALRM, SIG_DFL);
}

// Once set, it stays until the guard ends.
bool InterruptGuard::was_interrupted() const {
  return g_interrupted != 0;
}

}  // namespace quern::cli
