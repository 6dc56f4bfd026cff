// The cores that run one logical block: an AIC, an AIV, or an AIC and two AIV sub-blocks.
//
// The agents of a mix kernel are fibers of one host thread. An agent runs until it waits for a
// cross-core flag that is not set; then the next one that can go on does. So a run is
// deterministic, and when nobody can go on, that is a deadlock of the kernel.
#pragma once

#include <ucontext.h>

#include <array>
#include <memory>
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
  Group(const Kernel& kernel, const Sizes& sizes);
  ~Group() override;

  // Runs one block; the first fault ends it.
  std::optional<Fault> run(std::int64_t block, const void* arguments, const GlobalMemory& gm,
                           bool checks, std::int64_t block_count, std::vector<TraceRecord>* trace);
  std::uint64_t instruction_count() const;

  void set(Core& core, int flag) override;
  void wait(Core& core, int flag) override;

 private:
  struct Agent {
    std::unique_ptr<Core> core;
    Entry entry = nullptr;
    std::unique_ptr<Fiber> fiber;
    int waits_for = -1;
    bool done = false;
  };
  static void start(unsigned high, unsigned low);
  void run_agent(Agent& agent);
  bool ready(const Agent& agent) const;
  bool take(const Agent& agent);
  std::optional<Fault> run_alone(const void* arguments);
  std::optional<Fault> run_together();
  Fault deadlock() const;
  std::optional<Fault> left_over() const;

  std::vector<Agent> agents_;
  const void* arguments_ = nullptr;
  Agent* running_ = nullptr;
  ucontext_t scheduler_{};
  // Of each flag: set by the AIC and not yet waited for by AIV i; set by AIV i, not yet by the AIC.
  std::array<std::array<int, 2>, kCrossFlags> to_vector_{}, to_cube_{};
};

}  // namespace flagc::aicore
