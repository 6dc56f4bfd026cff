#include "simulation.h"

#include <queue>
#include <stdexcept>
#include <tuple>

#include "access_cost.h"
#include "agent.h"
#include "shared_memory.h"

namespace flagc::aicore::timing {

namespace {

constexpr int kCrossFlagCount = 16;

struct CrossFlags {
  // Of each flag: set for AIV i, and by it for the AIC or for the other AIV.
  std::array<std::array<FlagTimes, 2>, kCrossFlagCount> to_vector, to_cube, among;
};

struct Event {
  double time;
  int agent;  // or -1 - slot: the slot is free
  // Slots before agents, the first ones first.
  bool operator>(const Event& other) const {
    const auto rank = [](int agent) { return agent < 0 ? -1 - agent : (1 << 20) + agent; };
    return std::make_tuple(time, rank(agent)) > std::make_tuple(other.time, rank(other.agent));
  }
};

class Replay {
 public:
  Replay(const Launch& launch, const Costs& costs, const Options& options, int shift)
      : launch_(launch), costs_(costs), options_(options),
        l2_(launch.region_bytes, costs.l2_bytes, shift), bandwidth_(costs.l2_rate, costs.hbm_rate),
        per_slot_(launch.classes.empty() ? 1 : static_cast<int>(launch.classes.front().programs.size())),
        agents_(static_cast<std::size_t>(launch.slots * per_slot_)),
        cross_(static_cast<std::size_t>(launch.slots)), arrived_(agents_.size()), position_(static_cast<std::size_t>(launch.slots)),
        unfinished_(static_cast<std::size_t>(launch.slots)) {
    for (std::size_t index = 0; index < agents_.size(); ++index) {
      agents_[index].slot = static_cast<int>(index) / per_slot_;
      agents_[index].index = static_cast<int>(index) % per_slot_;
      agents_[index].cube = launch.cube && agents_[index].index == 0;
    }
  }

  Result run();

 private:
  bool persistent() const { return !launch_.assignment.empty(); }
  void next_block(int slot, double time);
  void begin(Agent& agent, const Block& block, const Program& program, double time);
  // Runs until the next read of global memory, a cross-core flag that is not set, or the end.
  void advance(Agent& agent);
  bool step(Agent& agent, const Operation& op);
  void finish_block(Agent& agent);

  double issue(Agent& agent, const Operation& op);
  void occupy(Agent& agent, const Operation& op, double start, double free, double done);
  void local(Agent& agent, const Operation& op);
  void read(Agent& agent, const Operation& op);
  // Dirty bytes that left L2 for an access, for each of its bytes.
  double driven_out(double bytes);
  void write(Agent& agent, const Operation& op);
  void cross_set(Agent& agent, const Operation& op);
  void grid_set(const Agent& agent, std::size_t flag, double time);
  void wake(int first, int count, double time);
  std::size_t vector_index(const Agent& agent) const {
    return static_cast<std::size_t>(agent.index - (launch_.cube ? 1 : 0));
  }
  bool cross_wait(Agent& agent, const Operation& op);
  void barrier(Agent& agent, const Operation& op);
  std::int64_t place(const Agent& agent, const Operation& op) const {
    return agent.block->bases[op.region] + op.address;
  }

  const Launch& launch_;
  const Costs& costs_;
  const Options& options_;
  L2 l2_;
  Bandwidth bandwidth_;
  int per_slot_;
  std::vector<Agent> agents_;
  std::vector<CrossFlags> cross_;
  // Of each agent: flags that it has set and not all others of its kind.
  std::vector<std::array<FlagTimes, kCrossFlagCount>> arrived_;
  std::vector<std::size_t> position_;
  std::vector<int> unfinished_;
  std::size_t dispatched_ = 0;
  double written_debt_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Result result_;
};

void Replay::begin(Agent& agent, const Block& block, const Program& program, double time) {
  agent.program = &program;
  agent.next = 0;
  agent.block = &block;
  agent.finished = false;
  agent.waiting = false;
  if (persistent() && agent.use.end > 0) return;
  if (agent.use.end == 0) agent.use.started = time;
  agent.clock = std::max(agent.clock, time);
  for (PipeState& pipe : agent.pipes) {
    if (time > pipe.free) {
      pipe.free = time;
      pipe.cause = kForBlock;
    }
    pipe.done = std::max(pipe.done, time);
  }
}

void Replay::next_block(int slot, double time) {
  const auto at = static_cast<std::size_t>(slot);
  const Block* block = nullptr;
  if (persistent()) {
    const auto& list = launch_.assignment[at];
    if (position_[at] < list.size()) block = &launch_.blocks[list[position_[at]++]];
  } else if (dispatched_ < launch_.blocks.size()) {
    block = &launch_.blocks[dispatched_++];
  }
  if (block == nullptr) return;
  const BlockClass& shape = launch_.classes[block->block_class];
  unfinished_[at] = per_slot_;
  if (!persistent()) {
    for (auto* flags : {&cross_[at].to_vector, &cross_[at].to_cube, &cross_[at].among}) {
      for (auto& pair : *flags) {
        for (FlagTimes& times : pair) times.clear();
      }
    }
  }
  for (int index = 0; index < per_slot_; ++index) {
    Agent& agent = agents_[static_cast<std::size_t>(slot * per_slot_ + index)];
    begin(agent, *block, shape.programs[static_cast<std::size_t>(index)], time);
  }
  for (int index = 0; index < per_slot_; ++index) {
    advance(agents_[static_cast<std::size_t>(slot * per_slot_ + index)]);
  }
}

void Replay::finish_block(Agent& agent) {
  agent.finished = true;
  agent.use.end = agent.all_done();
  const auto at = static_cast<std::size_t>(agent.slot);
  if (--unfinished_[at] > 0) return;
  double end = 0;
  for (int index = 0; index < per_slot_; ++index) {
    end = std::max(end, agents_[static_cast<std::size_t>(agent.slot * per_slot_ + index)].use.end);
  }
  events_.push({persistent() ? agent.clock : end + costs_.block_start, -1 - agent.slot});
}

void Replay::advance(Agent& agent) {
  while (agent.next < agent.program->size()) {
    const Operation& op = (*agent.program)[agent.next];
    if (op.kind == Kind::kRead) {
      const double start = std::max(issue(agent, op), agent.pipes[op.pipe].free);
      events_.push({start, agent.slot * per_slot_ + agent.index});
      return;
    }
    if (!step(agent, op)) return;
    ++agent.next;
    ++result_.operations;
  }
  finish_block(agent);
}

bool Replay::step(Agent& agent, const Operation& op) {
  PipeState& pipe = agent.pipes[op.pipe];
  switch (op.kind) {
    case Kind::kSet:
      agent.clock += costs_.issue;
      agent.flag(op).push((op.pipe == kPipeS ? agent.clock : std::max(pipe.done, agent.clock)) +
                          costs_.flag_latency);
      return true;
    case Kind::kWait: {
      agent.clock += costs_.issue;
      FlagTimes& times = agent.awaited(op);
      if (times.empty()) throw std::runtime_error("the stream waits for a flag that it does not set");
      const double time = times.pop();
      if (op.pipe == kPipeS) {
        agent.clock = std::max(agent.clock, time);
      } else {
        if (time > pipe.free) {
          pipe.free = time;
          pipe.cause = op.other;
        }
        pipe.free += costs_.wait;
      }
      return true;
    }
    case Kind::kBarrier: barrier(agent, op); return true;
    case Kind::kCrossSet: cross_set(agent, op); return true;
    case Kind::kCrossWait: return cross_wait(agent, op);
    case Kind::kScalar:
      agent.use.pipes[kPipeS].busy += op.work;
      agent.clock += op.work;
      return true;
    case Kind::kWrite: write(agent, op); return true;
    default: local(agent, op); return true;
  }
}

void Replay::barrier(Agent& agent, const Operation& op) {
  if (op.pipe == kPipeAll) {
    const double time = agent.all_done();
    agent.clock = time;
    for (PipeState& pipe : agent.pipes) {
      if (time <= pipe.free) continue;
      pipe.free = time;
      pipe.cause = kForBarrier;
    }
    return;
  }
  PipeState& pipe = agent.pipes[op.pipe];
  if (pipe.done > pipe.free) {
    pipe.free = pipe.done;
    pipe.cause = kForBarrier;
  }
}

double Replay::issue(Agent& agent, const Operation& op) {
  agent.clock += costs_.issue;
  agent.use.pipes[kPipeS].busy += costs_.issue;
  PipeState& pipe = agent.pipes[op.pipe];
  const auto depth = static_cast<std::uint32_t>(costs_.queue);
  if (pipe.issued >= depth) {
    agent.clock = std::max(agent.clock, pipe.starts[(pipe.issued - depth) % pipe.starts.size()]);
  }
  return agent.clock;
}

void Replay::occupy(Agent& agent, const Operation& op, double start, double free, double done) {
  PipeState& pipe = agent.pipes[op.pipe];
  PipeUse& use = agent.use.pipes[op.pipe];
  if (start > pipe.from) {
    const double held = std::clamp(pipe.free - pipe.from, 0.0, start - pipe.from);
    use.idle[static_cast<std::size_t>(pipe.cause)] += held;
    use.idle[kForIssue] += start - pipe.from - held;
  }
  use.busy += std::max(0.0, done - std::max(start, pipe.done));
  use.occupied += free - start;
  ++use.instructions;
  pipe.starts[pipe.issued++ % pipe.starts.size()] = start;
  pipe.begun = start;
  pipe.free = pipe.from = free;
  pipe.cause = op.pipe;
  pipe.done = std::max(pipe.done, done);
  if (options_.trace) {
    result_.trace.push_back({agent.slot, static_cast<std::int32_t>(agent.block - launch_.blocks.data()),
                             static_cast<std::uint8_t>(agent.index), op.pipe, op.name, start, done});
  }
}

void Replay::local(Agent& agent, const Operation& op) {
  PipeState& pipe = agent.pipes[op.pipe];
  double start = std::max(issue(agent, op), pipe.free);
  switch (op.kind) {
    case Kind::kMad: {
      PipeState& fix = agent.pipes[kPipeFix];
      const bool unit = op.flags & kUnitFlag;
      if (unit) start = std::max(start, fix.begun);
      double free = start + costs_.m_head + op.work;
      // The blocks of L0C become free as FIX goes through them, the last one at its end.
      if (unit) free = std::max(free, fix.free);
      result_.traffic.mad_steps += op.work;
      occupy(agent, op, start, free, free + costs_.m_tail);
      return;
    }
    case Kind::kToL0: {
      double work = static_cast<double>(op.work) / op.rate;
      const PipeState& mte2 = agent.pipes[kPipeMte2];
      const double together = std::clamp(mte2.free - std::max(start, mte2.begun), 0.0, work);
      work += costs_.mte1_conflict * together;
      agent.together += together;
      const double free = start + costs_.mte1_head + work;
      result_.traffic.l1_to_l0 += op.work;
      occupy(agent, op, start, free, free + costs_.mte1_tail);
      return;
    }
    case Kind::kVector: {
      const double slope = costs_.vector_slope[op.name], floor = costs_.vector_floor[op.name];
      const double free = start + std::max(floor, (slope + op.rate) * op.work);
      occupy(agent, op, start, free, free + costs_.vector_tail[op.name]);
      return;
    }
    default: {
      const double free = start + costs_.l1_head + op.work / costs_.fill_rate;
      occupy(agent, op, start, free, free);
    }
  }
}

double Replay::driven_out(double bytes) {
  const double back = l2_.take_written_back();
  result_.traffic.hbm_written += back;
  written_debt_ += back * costs_.hbm_write;
  // Sampling finds evictions in lumps: at most the access's own bytes are charged to it.
  const double charged = std::min(written_debt_, bytes);
  written_debt_ -= charged;
  return charged / bytes;
}

void Replay::read(Agent& agent, const Operation& op) {
  PipeState& pipe = agent.pipes[op.pipe];
  const double start = std::max(agent.clock, pipe.free);
  const bool to_ub = op.flags & kToUb;
  const std::int64_t address = place(agent, op);
  const double bytes = static_cast<double>(op.rows) * op.row_bytes;
  const int core = agent.slot * per_slot_ + agent.index;
  const Found found = l2_.read(op.region, address, op, core, start, costs_.same_window);
  const double latency = costs_.hit_latency + found.missed * costs_.miss_latency;
  const double begin = start + (to_ub ? costs_.ub_head : costs_.l1_head);
  double own = read_cycles(costs_, op, address, found.sharers, found.missed);
  if (!to_ub) {
    own *= 1 + costs_.mte2_conflict * agent.overlap;
    if (agent.last_read > 0) {
      agent.overlap += 0.1 * (std::min(1.0, agent.together / agent.last_read) - agent.overlap);
    }
    agent.together = 0;
  }
  // Up to a window of bytes may be outstanding; it comes back at window / latency.
  const double window = to_ub ? costs_.ub_window : costs_.l1_window;
  agent.credit = std::min(window, agent.credit + (begin - agent.credit_at) * window / latency);
  agent.credit_at = begin;
  if (bytes > agent.credit) {
    own = std::max(own, (bytes - agent.credit) * latency / window);
  }
  const double rate = bytes / std::max(own, 1.0);
  const double spread = op.rows > 1 && op.pitch != op.row_bytes ? costs_.hbm_apart : 1;
  const double free = bandwidth_.transfer(begin, bytes, found.missed * spread + driven_out(bytes),
                                          rate,
                                          1 + costs_.same_l2 * found.sharers);
  agent.last_read = free - start;
  agent.credit = std::clamp(agent.credit - bytes + (free - begin) * window / latency, 0.0, window);
  agent.credit_at = free;
  result_.traffic.l2_read += bytes;
  result_.traffic.hbm_read += bytes * found.missed;
  result_.traffic.sharers += bytes * found.sharers;
  if (to_ub) result_.traffic.ub_read += bytes;
  occupy(agent, op, start, free, free + latency);
}

void Replay::write(Agent& agent, const Operation& op) {
  PipeState& pipe = agent.pipes[op.pipe];
  double start = std::max(issue(agent, op), pipe.free);
  const bool fix = op.pipe == kPipeFix;
  const bool unit = op.flags & kUnitFlag;
  PipeState& m = agent.pipes[kPipeM];
  double counted = start;
  if (unit) {
    // Follows the last MAD through L0C block by block, and cannot end before it.
    counted = start = std::max(start, m.begun);
  }
  const std::int64_t address = place(agent, op);
  const double bytes = static_cast<double>(op.rows) * op.row_bytes;
  l2_.write(op.region, address, op, agent.slot * per_slot_ + agent.index, start, costs_.same_window);
  const double begin = start + (fix ? 0 : costs_.mte3_head);
  const double own = fix ? fixpipe_cycles(costs_, op) : store_cycles(costs_, op);
  double free = bandwidth_.transfer(begin, bytes, driven_out(bytes), bytes / std::max(own, 1.0));
  if (unit) free = std::max(free, m.done);
  result_.traffic.l2_written += bytes;
  occupy(agent, op, counted, free, free + (fix ? costs_.fix_tail : costs_.mte3_tail));
}

void Replay::cross_set(Agent& agent, const Operation& op) {
  agent.clock += costs_.issue;
  const double time = std::max(agent.pipes[op.pipe].done, agent.clock) + costs_.flag_latency;
  CrossFlags& cross = cross_[static_cast<std::size_t>(agent.slot)];
  const auto flag = static_cast<std::size_t>(op.event % kCrossFlagCount);
  if (op.rate == 0) return grid_set(agent, flag, time);
  if (agent.cube) {
    for (FlagTimes& times : cross.to_vector[flag]) times.push(time);
  } else if (op.rate == 1) {
    // Both AIVs make the flag, and both get it.
    auto& pair = cross.among[flag];
    pair[static_cast<std::size_t>(agent.index - 1)].push(time);
    if (!pair[0].empty() && !pair[1].empty()) {
      const double both = std::max(pair[0].pop(), pair[1].pop());
      for (FlagTimes& times : cross.to_vector[flag]) times.push(both);
    }
  } else {
    cross.to_cube[flag][static_cast<std::size_t>(agent.index - 1)].push(time);
  }
  wake(agent.slot * per_slot_, per_slot_, time);
}

// Whoever stood at a flag looks again.
void Replay::wake(int first, int count, double time) {
  for (int index = first; index < first + count; ++index) {
    Agent& other = agents_[static_cast<std::size_t>(index)];
    if (!other.waiting) continue;
    other.waiting = false;
    events_.push({time, index});
  }
}

// A flag of all blocks is made when all cores of a kind have set it, and then each of them gets it.
void Replay::grid_set(const Agent& agent, std::size_t flag, double time) {
  const auto blocks = launch_.blocks.size();
  if (persistent() || blocks > static_cast<std::size_t>(launch_.slots)) {
    throw std::runtime_error("blocks wait for each other that do not run at once");
  }
  const auto count = blocks * static_cast<std::size_t>(per_slot_);
  const auto place = static_cast<std::size_t>(agent.slot * per_slot_ + agent.index);
  arrived_[place][flag].push(time);
  for (std::size_t index = 0; index < count; ++index) {
    if (agents_[index].cube == agent.cube && arrived_[index][flag].empty()) return;
  }
  double latest = 0;
  for (std::size_t index = 0; index < count; ++index) {
    if (agents_[index].cube == agent.cube) latest = std::max(latest, arrived_[index][flag].pop());
  }
  for (std::size_t index = 0; index < count; ++index) {
    const Agent& other = agents_[index];
    if (other.cube != agent.cube) continue;
    CrossFlags& cross = cross_[static_cast<std::size_t>(other.slot)];
    if (other.cube) {
      for (FlagTimes& times : cross.to_cube[flag]) times.push(latest);
    } else {
      cross.to_vector[flag][vector_index(other)].push(latest);
    }
  }
  wake(0, static_cast<int>(count), latest);
}

bool Replay::cross_wait(Agent& agent, const Operation& op) {
  CrossFlags& cross = cross_[static_cast<std::size_t>(agent.slot)];
  const auto flag = static_cast<std::size_t>(op.event % kCrossFlagCount);
  double time = 0;
  if (agent.cube) {
    auto& pair = cross.to_cube[flag];
    if (pair[0].empty() || (per_slot_ > 2 && pair[1].empty())) {
      agent.waiting = true;
      return false;
    }
    time = pair[0].pop();
    if (per_slot_ > 2) time = std::max(time, pair[1].pop());
  } else {
    FlagTimes& times = cross.to_vector[flag][vector_index(agent)];
    if (times.empty()) {
      agent.waiting = true;
      return false;
    }
    time = times.pop();
  }
  agent.clock += costs_.issue;
  if (time > agent.clock) {
    agent.clock = time;
    for (PipeState& pipe : agent.pipes) {
      if (pipe.free >= time) continue;
      pipe.free = time;
      pipe.cause = kForCrossCore;
    }
  }
  return true;
}

Result Replay::run() {
  for (int slot = 0; slot < launch_.slots; ++slot) events_.push({0, -1 - slot});
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    if (event.agent < 0) {
      next_block(-1 - event.agent, event.time);
      continue;
    }
    Agent& agent = agents_[static_cast<std::size_t>(event.agent)];
    if (const Operation& op = (*agent.program)[agent.next]; op.kind == Kind::kRead) {
      read(agent, op);
      ++agent.next;
      ++result_.operations;
    }
    advance(agent);
  }
  double sum = 0;
  int used = 0;
  result_.agents_in_slot = per_slot_;
  for (Agent& agent : agents_) {
    if (!agent.finished) throw std::runtime_error("cores of the stream wait for each other");
    result_.agents.push_back(agent.use);
    if (agent.use.end == 0) continue;
    result_.core_cycles = std::max(result_.core_cycles, agent.use.end);
    sum += agent.use.end - agent.use.started;
    ++used;
  }
  result_.mean_core_cycles = used > 0 ? sum / used : 0;
  const double launched = std::max(1, used / per_slot_);
  result_.cycles = result_.core_cycles + costs_.launch + costs_.launch_core * launched;
  return std::move(result_);
}

// Sampling keeps the number of visits to L2 blocks near this; small launches are followed in full.
constexpr double kVisits = 3e6;

int sampling_shift(const Launch& launch) {
  double visits = 0;
  std::vector<double> of_class;
  for (const BlockClass& shape : launch.classes) {
    double sum = 0;
    for (const Program& program : shape.programs) {
      for (const Operation& op : program) {
        if (op.kind == Kind::kRead || op.kind == Kind::kWrite) {
          sum += op.rows * (op.row_bytes / 512.0 + 0.5);
        }
      }
    }
    of_class.push_back(sum);
  }
  for (const Block& block : launch.blocks) visits += of_class[block.block_class];
  int shift = 0;
  while (visits > kVisits && shift < 6) {
    visits /= 2;
    ++shift;
  }
  return shift;
}

}  // namespace

Result simulate(const Launch& launch, const Costs& costs, const Options& options) {
  const int shift = options.sampling_shift >= 0 ? options.sampling_shift : sampling_shift(launch);
  return Replay(launch, costs, options, shift).run();
}

}  // namespace flagc::aicore::timing
