#include "group.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <sstream>
#include <utility>

#include "crash.h"
#include "fields.h"

namespace flagc::aicore {

// A core's counter of a flag has four bits (pto-isa).
constexpr int kMostWaiting = 15;

// A context with a stack of its own.
class Fiber {
 public:
  Fiber() {
    // The first page stays closed: a stack that overflows crashes and writes over nothing.
    mapped_ = mmap(nullptr, kStack + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED) throw std::bad_alloc();
    if (mprotect(stack(), kStack, PROT_READ | PROT_WRITE) != 0) {
      munmap(mapped_, kStack + kPage);
      throw std::bad_alloc();
    }
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() { munmap(mapped_, kStack + kPage); }
  void* stack() const { return static_cast<char*>(mapped_) + kPage; }

  static constexpr std::size_t kStack = 1 << 20, kPage = 4096;
  ucontext_t context{};

 private:
  void* mapped_;
};

Group::Group(const Kernel& kernel, const Sizes& sizes, std::int64_t blocks) : blocks_(std::max<std::int64_t>(1, blocks)) {
  const bool mix = kernel.aic != nullptr && kernel.aiv != nullptr;
  const auto add = [&](CoreKind kind, Entry entry, std::int64_t place, int sub_block) {
    Agent agent;
    agent.core = std::make_unique<Core>(kind, sizes);
    agent.entry = entry;
    agent.place = place;
    agent.core->sub_block = sub_block;
    agent.core->sub_block_count = mix ? 2 : 1;
    if (mix || blocks > 0) {
      agent.core->cross = this;
      agent.fiber = std::make_unique<Fiber>();
    }
    agents_.push_back(std::move(agent));
  };
  for (std::int64_t place = 0; place < blocks_; ++place) {
    if (kernel.aic != nullptr) add(CoreKind::kAic, kernel.aic, place, 0);
    for (int index = 0; kernel.aiv != nullptr && index < (mix ? 2 : 1); ++index) {
      add(CoreKind::kAiv, kernel.aiv, place, index);
    }
  }
}

Group::~Group() { Core::current = nullptr; }

std::optional<Fault> Group::run(std::int64_t block, const void* arguments, const GlobalMemory& gm,
                                bool checks, std::int64_t block_count,
                                std::vector<TraceRecord>* trace) {
  arguments_ = arguments;
  for (Agent& agent : agents_) {
    agent.core->begin_block(block + agent.place, agent.core->sub_block, checks);
    agent.core->gm = &gm;
    agent.core->trace = trace;
    agent.core->block_count = block_count;
    agent.waits_for = -1;
    agent.done = false;
    agent.ready = {};
    agent.arrived = {};
  }
  std::optional<Fault> fault = agents_.front().fiber ? run_together() : run_alone(arguments);
  if (fault || !checks) return fault;
  for (const Agent& agent : agents_) {
    if (auto left = agent.core->end_block()) return left;
  }
  return left_over();
}

void Group::record(timing::Recorder* recorder) {
  for (Agent& agent : agents_) agent.core->recorder = recorder;
}

std::uint64_t Group::instruction_count() const {
  std::uint64_t sum = 0;
  for (const Agent& agent : agents_) sum += agent.core->instruction_count;
  return sum;
}

Speculation Group::speculation() const {
  Speculation sum;
  for (const Agent& agent : agents_) sum.add(agent.core->speculation);
  return sum;
}

void Group::run_agent(Agent& agent) {
  Core::current = agent.core.get();
  const int left = setjmp(agent.core->exit);
  if (left == 0) {
    agent.core->compiled = true;
    agent.entry(arguments_);
  }
  agent.core->compiled = false;
  if (left == kCrashed) {
    agent.core->fault = crash_fault(*agent.core);
    agent.core->locate_fault();
  }
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

bool Group::sets_with(const Agent& agent, const Agent& other, SyncMode mode) const {
  if (mode == SyncMode::kEverybody) return true;
  if (mode != SyncMode::kGrid && agent.place != other.place) return false;
  return agent.core->kind == other.core->kind;
}

bool Group::gets(const Agent& from, const Agent& other, SyncMode mode) const {
  if (mode == SyncMode::kBlock) return from.place == other.place && aic(from) != aic(other);
  return sets_with(from, other, mode);
}

// A flag is made when all cores that set it together have; then each of those that get it may wait once.
void Group::set(Core&, SyncMode mode, int flag) {
  if (flag < 0 || flag >= kCrossFlags) throw Fault{"bad-flag", "no such cross-core flag"};
  const auto index = static_cast<std::size_t>(flag), row = static_cast<std::size_t>(mode);
  Agent& self = *running_;
  if (mode == SyncMode::kSubBlocks && aic(self)) refuse_field("mode", 1, "only AIVs set flags for each other");
  ++self.arrived[row][index];
  for (const Agent& other : agents_) {
    if (sets_with(self, other, mode) && other.arrived[row][index] == 0) return;
  }
  for (Agent& other : agents_) {
    if (sets_with(self, other, mode)) --other.arrived[row][index];
    if (!gets(self, other, mode)) continue;
    if (++other.ready[index] > kMostWaiting) {
      throw Fault{"flag-overflow", "a cross-core flag was set 16 times without a wait"};
    }
  }
}

bool Group::take(Agent& agent) {
  int& count = agent.ready[static_cast<std::size_t>(agent.waits_for)];
  if (count == 0) return false;
  --count;
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

std::string Group::name(const Agent& agent) const {
  std::ostringstream text;
  if (blocks_ > 1) text << "block " << agent.core->block << ' ';
  text << (aic(agent) ? "AIC" : "AIV");
  if (!aic(agent)) text << ' ' << agent.core->sub_block;
  return text.str();
}

// Who has set the flag that `agent` waits for, and who would have to.
std::string Group::missing(const Agent& agent) const {
  const auto flag = static_cast<std::size_t>(agent.waits_for);
  for (std::size_t row = 0; row < kSyncModes; ++row) {
    const auto mode = static_cast<SyncMode>(row);
    for (const Agent& setter : agents_) {
      if (setter.arrived[row][flag] == 0 || !gets(setter, agent, mode)) continue;
      for (const Agent& other : agents_) {
        if (!sets_with(setter, other, mode) || other.arrived[row][flag] > 0) continue;
        return " (" + name(setter) + " has set it, " + name(other) + " has not)";
      }
    }
  }
  return agents_.size() == 3 ? (aic(agent) ? " of both AIVs" : " of the AIC") : "";
}

Fault Group::deadlock() const {
  constexpr int kShown = 8;
  std::ostringstream text;
  text << "deadlock:";
  const Agent* first = nullptr;
  int waiting = 0;
  for (const Agent& agent : agents_) {
    const bool shown = blocks_ == 1 || (!agent.done && waiting < kShown);
    if (shown) text << (&agent == &agents_.front() || (blocks_ > 1 && waiting == 0) ? " " : "; ") << name(agent);
    if (agent.done) {
      if (shown) text << " has ended";
      continue;
    }
    if (first == nullptr) first = &agent;
    ++waiting;
    if (shown) text << " waits for cross-core flag " << agent.waits_for << missing(agent);
  }
  if (blocks_ > 1 && waiting > kShown) text << "; and " << waiting - kShown << " more";
  Fault fault{"deadlock", text.str()};
  fault.block = first->core->block;
  fault.sub_block = first->core->sub_block;
  fault.core = aic(*first) ? "AIC" : "AIV";
  fault.instruction = "SYNC.BLOCK.WAIT";
  fault.pipe = "S";
  fault.return_address = first->core->return_address;
  return fault;
}

std::optional<Fault> Group::left_over() const {
  for (const Agent& agent : agents_) {
    for (std::size_t flag = 0; flag < kCrossFlags; ++flag) {
      bool set = false;
      for (const auto& row : agent.arrived) set = set || row[flag] > 0;
      if (agent.ready[flag] == 0 && !set) continue;
      std::ostringstream text;
      text << "cross-core flag " << flag << (set ? " from " : " to ") << name(agent)
           << " was set more often than it was waited for";
      Fault fault{"flag-left-over", text.str()};
      fault.block = agent.core->block;
      return fault;
    }
  }
  return std::nullopt;
}

}  // namespace flagc::aicore
