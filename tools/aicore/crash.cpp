#include "crash.h"

#include <signal.h>

#include <array>
#include <mutex>
#include <sstream>

namespace flagc::aicore {

namespace {

constexpr std::array<int, 4> kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr std::size_t kStack = 64 << 10;  // more than MINSIGSTKSZ with AVX-512

std::mutex mutex;
int guards = 0;
std::array<struct sigaction, kSignals.size()> previous;

void handle(int signal, siginfo_t* info, void*) {
  Core* core = Core::current;
  // A signal that somebody sent (si_code <= 0) says nothing about the code that it interrupts.
  if (core != nullptr && core->compiled && info->si_code > 0) {
    // Compiled code has no destructors and holds no locks, so it may be left anywhere.
    core->compiled = false;
    core->signal = signal;
    core->signal_address = reinterpret_cast<std::uint64_t>(info->si_addr);
    std::longjmp(core->exit, kCrashed);
  }
  // Not ours: the instruction faults again, and its signal goes to whom it went before.
  for (std::size_t index = 0; index < kSignals.size(); ++index) {
    if (kSignals[index] == signal) sigaction(signal, &previous[index], nullptr);
  }
  if (info->si_code <= 0) raise(signal);
}

}  // namespace

CrashGuard::CrashGuard() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (guards++ > 0) return;
  struct sigaction action{};
  action.sa_sigaction = handle;
  // SA_NODEFER: the handler is left by a jump, which would leave the signal blocked.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  for (std::size_t index = 0; index < kSignals.size(); ++index) sigaction(kSignals[index], &action, &previous[index]);
}

CrashGuard::~CrashGuard() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (--guards > 0) return;
  for (std::size_t index = 0; index < kSignals.size(); ++index) sigaction(kSignals[index], &previous[index], nullptr);
}

struct SignalStack::Previous {
  stack_t stack{};
};

SignalStack::SignalStack() : memory_(new char[kStack]), previous_(std::make_unique<Previous>()) {
  stack_t stack{};
  stack.ss_sp = memory_.get();
  stack.ss_size = kStack;
  sigaltstack(&stack, &previous_->stack);
}

SignalStack::~SignalStack() { sigaltstack(&previous_->stack, nullptr); }

Fault crash_fault(const Core& core) {
  std::ostringstream text;
  text << "compiled scalar code ";
  if (core.signal == SIGFPE) {
    text << "makes a division that the host cannot";
  } else if (core.signal == SIGILL) {
    text << "gives up, or has undefined behaviour";
  } else {
    text << "touches address 0x" << std::hex << core.signal_address << ", which is no memory of the host's";
  }
  text << "; this is the last AI Core instruction before it";
  return Fault{"crash", text.str(), "", core.signal_address, 0};
}

}  // namespace flagc::aicore
