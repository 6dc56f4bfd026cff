// Replays the streams of a launch on a model of the chip: pipes in order, flags, cores, shared memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "costs.h"
#include "operation.h"

namespace flagc::aicore::timing {

constexpr int kPipeCount = 11;  // numbered as flagc::aicore::Pipe
constexpr int kAgentsInSlot = 3;

// Why a pipe stood still: a flag of pipe 0..10, or one of these.
constexpr int kForIssue = 11, kForBarrier = 12, kForCrossCore = 13, kForBlock = 14, kCauses = 15;

struct PipeUse {
  double busy = 0;      // at least one instruction under way, until its result is there
  double occupied = 0;  // the next instruction cannot start
  std::uint64_t instructions = 0;
  std::array<double, kCauses> idle{};
};

struct AgentUse {
  std::array<PipeUse, kPipeCount> pipes;
  double end = 0;        // when its last result was there
  double started = 0;
};

struct Traffic {
  double l2_read = 0, l2_written = 0, hbm_read = 0, hbm_written = 0;
  double l1_to_l0 = 0, mad_steps = 0, ub_read = 0;
  double sharers = 0;  // bytes read times other cores at the same block
};

struct TimedInstruction {
  std::int32_t slot, block;
  std::uint8_t agent, pipe;
  std::uint16_t name;
  double start, end;
};

struct Result {
  double cycles = 0;        // the launch, with its overhead
  double core_cycles = 0;   // of the slowest core
  double mean_core_cycles = 0;
  std::vector<AgentUse> agents;  // slots x agents of a slot
  int agents_in_slot = 1;
  Traffic traffic;
  std::vector<TimedInstruction> trace;
  std::uint64_t operations = 0;
};

struct Options {
  int sampling_shift = -1;  // -1: by the size of the launch
  bool trace = false;
};

Result simulate(const Launch& launch, const Costs& costs, const Options& options);

}  // namespace flagc::aicore::timing
