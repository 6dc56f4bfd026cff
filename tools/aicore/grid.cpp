#include "grid.h"

#include "timing/recorder.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "crash.h"

namespace flagc::aicore {

Outcome run(const Launch& launch) {
  const GlobalMemory gm(launch.regions, launch.checks);
  const CrashGuard crash_guard;
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Outcome outcome;

  const auto work = [&] {
    const SignalStack signal_stack;
    Group group(launch.kernel, launch.sizes, launch.together ? launch.blocks : 0);
    std::vector<TraceRecord> trace;
    std::uint64_t instructions = 0;
    Speculation speculation;
    std::optional<Fault> fault;
    while (!failed) {
      const std::int64_t block = next++;
      if (block >= (launch.together ? 1 : launch.blocks)) break;
      fault = group.run(block, launch.arguments.data(), gm, launch.checks, launch.blocks,
                        launch.trace ? &trace : nullptr);
      instructions += group.instruction_count();
      speculation.add(group.speculation());
      if (fault) {
        failed = true;
        break;
      }
    }
    const std::lock_guard<std::mutex> lock(mutex);
    outcome.instructions += instructions;
    outcome.speculation.add(speculation);
    outcome.trace.insert(outcome.trace.end(), trace.begin(), trace.end());
    if (fault && (!outcome.fault || fault->block < outcome.fault->block)) outcome.fault = fault;
  };

  const auto wanted = std::max<std::int64_t>(1, std::min<std::int64_t>(launch.together ? 1 : launch.threads, launch.blocks));
  std::vector<std::thread> helpers;
  for (std::int64_t index = 1; index < wanted; ++index) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  std::stable_sort(outcome.trace.begin(), outcome.trace.end(),
                   [](const TraceRecord& left, const TraceRecord& right) { return left.block < right.block; });
  return outcome;
}

Recorded record(const Launch& launch, bool dataless) {
  const CrashGuard crash_guard;
  const SignalStack signal_stack;
  const GlobalMemory gm(launch.regions, false);
  const bool cube = launch.kernel.aic != nullptr, mix = cube && launch.kernel.aiv != nullptr;
  timing::Recorder recorder(launch.regions, mix, cube, dataless);
  Group group(launch.kernel, launch.sizes);
  group.record(&recorder);
  Recorded result;
  for (std::int64_t block = 0; block < launch.blocks; ++block) {
    result.fault = group.run(block, launch.arguments.data(), gm, false, launch.blocks, nullptr);
    if (result.fault) return result;
    recorder.end_block();
  }
  result.launch = recorder.take();
  return result;
}

}  // namespace flagc::aicore
