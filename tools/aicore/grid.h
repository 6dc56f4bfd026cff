// A launch: all blocks of a grid, on the host's threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "group.h"
#include "timing/operation.h"

namespace flagc::aicore {

struct Launch {
  Kernel kernel;
  Sizes sizes;
  std::vector<std::uint64_t> arguments;  // one word each, as the wrapper of the kernel reads them
  std::vector<Region> regions;
  std::int64_t blocks = 0;
  int threads = 1;
  bool checks = true;
  bool together = false;  // blocks wait for each other: all run at once, in turns on one host thread
  bool trace = false;
};

struct Outcome {
  std::optional<Fault> fault;  // of the lowest block among those that ran
  std::uint64_t instructions = 0;
  Speculation speculation;
  std::vector<TraceRecord> trace;
};

Outcome run(const Launch& launch);

struct Recorded {
  std::optional<Fault> fault;
  timing::Launch launch;
};

// Runs the blocks one after the other and returns what the timing model needs of them; `dataless` as in
// timing::Recorder.
Recorded record(const Launch& launch, bool dataless);

}  // namespace flagc::aicore
