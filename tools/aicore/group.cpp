#include "group.h"

#include <sys/mman.h>

#include <new>
#include <sstream>

namespace flagc::aicore {

// A context with a stack of its own.
class Fiber {
 public:
  Fiber() {
    stack_ = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack_ == MAP_FAILED) throw std::bad_alloc();
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() { munmap(stack_, kStack); }
  void* stack() const { return stack_; }

  static constexpr std::size_t kStack = 1 << 20;
  ucontext_t context{};

 private:
  void* stack_;
};

Group::Group(const Kernel& kernel, const Sizes& sizes) {
  const bool mix = kernel.aic != nullptr && kernel.aiv != nullptr;
  if (kernel.aic != nullptr) {
    agents_.push_back({std::make_unique<Core>(CoreKind::kAic, sizes), kernel.aic, nullptr, -1, false});
  }
  if (kernel.aiv != nullptr) {
    for (int index = 0; index < (mix ? 2 : 1); ++index) {
      agents_.push_back({std::make_unique<Core>(CoreKind::kAiv, sizes), kernel.aiv, nullptr, -1, false});
      agents_.back().core->sub_block = index;
    }
  }
  for (Agent& agent : agents_) {
    agent.core->sub_block_count = mix ? 2 : 1;
    if (!mix) continue;
    agent.core->cross = this;
    agent.fiber = std::make_unique<Fiber>();
  }
}

Group::~Group() = default;

std::optional<Fault> Group::run(std::int64_t block, const void* arguments, const GlobalMemory& gm,
                                bool checks, std::int64_t block_count,
                                std::vector<TraceRecord>* trace) {
  arguments_ = arguments;
  for (Agent& agent : agents_) {
    agent.core->begin_block(block, agent.core->sub_block, checks);
    agent.core->gm = &gm;
    agent.core->trace = trace;
    agent.core->block_count = block_count;
    agent.waits_for = -1;
    agent.done = false;
  }
  for (auto& flag : to_vector_) flag = {0, 0};
  for (auto& flag : to_cube_) flag = {0, 0};
  std::optional<Fault> fault = agents_.size() == 1 ? run_alone(arguments) : run_together();
  if (fault || !checks) return fault;
  for (const Agent& agent : agents_) {
    if (auto left = agent.core->end_block()) return left;
  }
  return left_over();
}

std::uint64_t Group::instruction_count() const {
  std::uint64_t sum = 0;
  for (const Agent& agent : agents_) sum += agent.core->instruction_count;
  return sum;
}

void Group::run_agent(Agent& agent) {
  Core::current = agent.core.get();
  if (setjmp(agent.core->exit) == 0) agent.entry(arguments_);
  agent.done = true;
}

std::optional<Fault> Group::run_alone(const void*) {
  run_agent(agents_.front());
  return agents_.front().core->fault;
}

void Group::start(unsigned high, unsigned low) {
  auto* group = reinterpret_cast<Group*>((static_cast<std::uint64_t>(high) << 32) | low);
  Agent* agent = group->running_;
  group->run_agent(*agent);
  swapcontext(&agent->fiber->context, &group->scheduler_);
}

std::optional<Fault> Group::run_together() {
  const auto self = reinterpret_cast<std::uint64_t>(this);
  for (Agent& agent : agents_) {
    ucontext_t& context = agent.fiber->context;
    getcontext(&context);
    context.uc_stack.ss_sp = agent.fiber->stack();
    context.uc_stack.ss_size = Fiber::kStack;
    context.uc_link = nullptr;
    makecontext(&context, reinterpret_cast<void (*)()>(&Group::start), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
  }
  for (;;) {
    bool progress = false, all_done = true;
    for (Agent& agent : agents_) {
      if (agent.done) continue;
      all_done = false;
      if (agent.waits_for >= 0 && !take(agent)) continue;
      agent.waits_for = -1;
      progress = true;
      running_ = &agent;
      Core::current = agent.core.get();
      swapcontext(&scheduler_, &agent.fiber->context);
      if (agent.done && agent.core->fault) return agent.core->fault;
    }
    if (all_done) return std::nullopt;
    if (!progress) return deadlock();
  }
}

void Group::set(Core& core, int flag) {
  if (flag < 0 || flag >= kCrossFlags) throw Fault{"bad-flag", "no such cross-core flag"};
  const auto index = static_cast<std::size_t>(flag);
  if (core.kind == CoreKind::kAic) {
    for (int& count : to_vector_[index]) ++count;
  } else {
    ++to_cube_[index][static_cast<std::size_t>(core.sub_block)];
  }
}

bool Group::ready(const Agent& agent) const {
  const auto index = static_cast<std::size_t>(agent.waits_for);
  if (agent.core->kind == CoreKind::kAic) return to_cube_[index][0] > 0 && to_cube_[index][1] > 0;
  return to_vector_[index][static_cast<std::size_t>(agent.core->sub_block)] > 0;
}

bool Group::take(const Agent& agent) {
  if (!ready(agent)) return false;
  const auto index = static_cast<std::size_t>(agent.waits_for);
  if (agent.core->kind == CoreKind::kAic) {
    for (int& count : to_cube_[index]) --count;
  } else {
    --to_vector_[index][static_cast<std::size_t>(agent.core->sub_block)];
  }
  return true;
}

void Group::wait(Core& core, int flag) {
  if (flag < 0 || flag >= kCrossFlags) throw Fault{"bad-flag", "no such cross-core flag"};
  Agent& agent = *running_;
  agent.waits_for = flag;
  if (take(agent)) {
    agent.waits_for = -1;
    return;
  }
  swapcontext(&agent.fiber->context, &scheduler_);
  Core::current = &core;
}

Fault Group::deadlock() const {
  std::ostringstream text;
  text << "deadlock:";
  const Agent* first = nullptr;
  for (const Agent& agent : agents_) {
    const bool cube = agent.core->kind == CoreKind::kAic;
    text << (first == nullptr && &agent == &agents_.front() ? " " : "; ") << (cube ? "AIC" : "AIV");
    if (!cube) text << ' ' << agent.core->sub_block;
    if (agent.done) {
      text << " has ended";
      continue;
    }
    if (first == nullptr) first = &agent;
    text << " waits for cross-core flag " << agent.waits_for << " of " << (cube ? "both AIVs" : "the AIC");
  }
  Fault fault{"deadlock", text.str()};
  fault.block = first->core->block;
  fault.sub_block = first->core->sub_block;
  fault.core = first->core->kind == CoreKind::kAic ? "AIC" : "AIV";
  fault.instruction = "SYNC.BLOCK.WAIT";
  fault.pipe = "S";
  fault.return_address = first->core->return_address;
  return fault;
}

std::optional<Fault> Group::left_over() const {
  for (std::size_t flag = 0; flag < kCrossFlags; ++flag) {
    for (std::size_t index = 0; index < 2; ++index) {
      if (to_vector_[flag][index] == 0 && to_cube_[flag][index] == 0) continue;
      std::ostringstream text;
      text << "cross-core flag " << flag << (to_vector_[flag][index] ? " to AIV " : " from AIV ")
           << index << " was set more often than it was waited for";
      Fault fault{"flag-left-over", text.str()};
      fault.block = agents_.front().core->block;
      return fault;
    }
  }
  return std::nullopt;
}

}  // namespace flagc::aicore
