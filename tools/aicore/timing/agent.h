// One core of a block in the replay: its pipes, queues and flags.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "costs.h"
#include "operation.h"
#include "simulation.h"

namespace flagc::aicore::timing {

// Times at which a flag was set and not yet waited for, oldest first. Rarely more than two.
class FlagTimes {
 public:
  void push(double time) {
    if (count_ < kInline && more_.empty()) {
      times_[count_++] = time;
    } else {
      more_.push_back(time);
    }
  }
  bool empty() const { return count_ == 0; }
  double pop() {
    const double time = times_[0];
    times_[0] = times_[1];
    --count_;
    if (!more_.empty()) {
      times_[count_++] = more_.front();
      more_.erase(more_.begin());
    }
    return time;
  }
  void clear() {
    count_ = 0;
    more_.clear();
  }

 private:
  static constexpr std::size_t kInline = 2;
  std::array<double, kInline> times_{};
  std::size_t count_ = 0;
  std::vector<double> more_;
};

struct PipeState {
  double free = 0;    // the next instruction may start
  double done = 0;    // the last result is there
  double begun = 0;   // start of the last instruction
  double from = 0;    // idle since
  int cause = kForBlock;
  // Starts of the last instructions, as a ring: the queue is full while the oldest has not started.
  std::array<double, 64> starts{};
  std::uint32_t issued = 0;
};

struct Agent {
  const Program* program = nullptr;
  std::size_t next = 0;
  const Block* block = nullptr;
  int slot = 0, index = 0;   // within the slot
  bool cube = true;
  double clock = 0;          // of S
  bool waiting = false;      // for a cross-core flag
  bool finished = true;
  std::array<PipeState, kPipeCount> pipes;
  std::array<FlagTimes, kPipeCount * kPipeCount * 8> flags;
  // Outstanding requests of MTE2: bytes that may still be asked for at once, at `credit_at`.
  double credit = 0, credit_at = 0;
  // MTE1 and MTE2 at L1 at once: cycles since MTE2's last instruction, that one's cycles, recent share.
  double together = 0, last_read = 0, overlap = 0;
  AgentUse use;

  FlagTimes& flag(const Operation& op) {
    return flags[(static_cast<std::size_t>(op.pipe) * kPipeCount + op.other) * 8 + (op.event & 7)];
  }
  FlagTimes& awaited(const Operation& op) {
    return flags[(static_cast<std::size_t>(op.other) * kPipeCount + op.pipe) * 8 + (op.event & 7)];
  }
  double all_done() const {
    double latest = clock;
    for (const PipeState& pipe : pipes) latest = std::max(latest, pipe.done);
    return latest;
  }
};

constexpr int kPipeS = 0, kPipeV = 1, kPipeM = 2, kPipeMte1 = 3, kPipeMte2 = 4, kPipeMte3 = 5,
              kPipeAll = 6, kPipeFix = 10;

}  // namespace flagc::aicore::timing
