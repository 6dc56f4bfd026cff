// The cores that run one logical block: an AIC, an AIV, or an AIC and two AIV sub-blocks; or those of
// several blocks, when these wait for each other.
//
// The agents of a mix kernel, and all that wait for other blocks, are fibers of one host thread. An
// agent runs until it waits for a cross-core flag that is not set; then the next one that can go on
// does. So a run is deterministic, and when nobody can go on, that is a deadlock of the kernel.
#pragma once

#include <ucontext.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core.h"

namespace flagc::aicore {

using Entry = void (*)(const void* arguments);

struct Kernel {
  Entry aic = nullptr;
  Entry aiv = nullptr;
};

class Fiber;

class Group : public CrossCore {
 public:
  // `blocks`: how many run together, and may wait for each other; 0 for one that is alone.
  Group(const Kernel& kernel, const Sizes& sizes, std::int64_t blocks = 0);
  ~Group() override;

  // Runs its blocks, from `block` on; the first fault ends it.
  std::optional<Fault> run(std::int64_t block, const void* arguments, const GlobalMemory& gm,
                           bool checks, std::int64_t block_count, std::vector<TraceRecord>* trace);
  // Notes what the blocks execute, for the timing model.
  void record(timing::Recorder* recorder);
  std::uint64_t instruction_count() const;
  // Of the last block's cores together.
  Speculation speculation() const;

  void set(Core& core, SyncMode mode, int flag) override;
  void wait(Core& core, int flag) override;

 private:
  struct Agent {
    std::unique_ptr<Core> core;
    Entry entry = nullptr;
    std::unique_ptr<Fiber> fiber;
    std::int64_t place = 0;  // of its block in this group
    int waits_for = -1;
    bool done = false;
    // Of each flag: how often it may wait for it; how often it has set it, in each mode, beyond what
    // all others that make the flag with it have.
    std::array<int, kCrossFlags> ready{};
    std::array<std::array<int, kCrossFlags>, kSyncModes> arrived{};
  };
  bool aic(const Agent& agent) const { return agent.core->kind == CoreKind::kAic; }
  bool sets_with(const Agent& agent, const Agent& other, SyncMode mode) const;
  bool gets(const Agent& from, const Agent& other, SyncMode mode) const;
  std::string name(const Agent& agent) const;
  std::string missing(const Agent& agent) const;
  static void start(unsigned high, unsigned low);
  void run_agent(Agent& agent);
  bool take(Agent& agent);
  std::optional<Fault> run_alone(const void* arguments);
  std::optional<Fault> run_together();
  Fault deadlock() const;
  std::optional<Fault> left_over() const;

  std::vector<Agent> agents_;
  const void* arguments_ = nullptr;
  Agent* running_ = nullptr;
  ucontext_t scheduler_{};
  std::int64_t blocks_;
};

}  // namespace flagc::aicore
