// Signals of compiled code (an address that is no memory, a division that traps) as faults of the kernel.
#pragma once

#include <memory>

#include "core.h"

namespace flagc::aicore {

// While one exists, SIGSEGV, SIGBUS, SIGFPE and SIGILL of code in `Core::compiled` jump to the core's
// `exit` with the value kCrashed. All other such signals go to whom they went before. For the whole
// process; may be nested and used by several threads.
class CrashGuard {
 public:
  CrashGuard();
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;
};

// A stack for the handler, for the thread that makes this: the block's own may be what has overflowed.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<char[]> memory_;
  struct Previous;
  std::unique_ptr<Previous> previous_;
};

constexpr int kFaulted = 1, kCrashed = 2;  // what `exit` returns

// What the signal that ended a core's block was.
Fault crash_fault(const Core& core);

}  // namespace flagc::aicore
