// The signal handler; its flag is the one mutable global of the program, as signals need one.
#include "cli/interrupt.h"

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

}  // namespace

// Without SA_RESTART a waiting read() returns EINTR, which is what ends it.
InterruptGuard::InterruptGuard(bool ends_reads) {
  g_interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = ends_reads ? 0 : SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
}

// Ctrl-C ends the program again, whatever the handler was before the guard.
InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
}

// Once set, it stays until the guard ends.
bool InterruptGuard::was_interrupted() const {
  return g_interrupted != 0;
}

}  // namespace quern::cli
