// One core (AIC, or one AIV sub-block): its memories, registers, flags and the fault that ended it.
#pragma once

#include <array>
#include <csetjmp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory.h"

namespace flagc::aicore {

namespace timing {
class Recorder;
}

enum class Pipe { kS = 0, kV = 1, kM = 2, kMte1 = 3, kMte2 = 4, kMte3 = 5, kAll = 6, kFix = 10 };
constexpr int kPipes = 11;
constexpr int kEvents = 8;
constexpr int kCrossFlags = 16;

enum class CoreKind { kAic, kAiv };

// Sizes of on-chip memories in bytes, from the target's facts.
struct Sizes {
  std::size_t l1 = 512 << 10, l0a = 64 << 10, l0b = 64 << 10, l0c = 128 << 10;
  std::size_t ub = 192 << 10, bt = 1 << 10, fb = 7 << 10;
};

struct TraceRecord {
  const Instruction* instruction;
  std::int64_t block;
  int sub_block;
  bool cube;
  int operand_count;
  std::array<std::uint64_t, 6> operands;
  std::uint64_t bytes_read, bytes_written, macs;
};

// Whose set makes a cross-core flag, and who gets it: AscendC's modes 0, 1 and 2, and one of ours.
enum class SyncMode {
  kGrid = 0,      // all cores of one kind, of all blocks
  kSubBlocks = 1, // the AIVs of a block
  kBlock = 2,     // the AIC of a block to its AIVs, or all of these to the AIC
  kEverybody = 3, // all cores of all blocks
};
constexpr int kSyncModes = 4;

// Scalar loads outside the tensors: how many, and the first one's line and text.
struct Speculation {
  std::uint64_t count = 0;
  std::int64_t line = 0;
  std::string text;

  void add(const Speculation& later) {
    if (count == 0) *this = later;
    else count += later.count;
  }
};

// The cores that share cross-core flags, and how one of them waits. Implemented by group.h.
class CrossCore {
 public:
  virtual ~CrossCore() = default;
  virtual void set(class Core& core, SyncMode mode, int flag) = 0;
  virtual void wait(class Core& core, int flag) = 0;
};

class Core {
 public:
  Core(CoreKind kind, const Sizes& sizes);

  void begin_block(std::int64_t block, int sub_block, bool checks);
  // Flags that were set and never waited for are a fault of the kernel.
  std::optional<Fault> end_block() const;

  void set_flag(std::uint64_t source, std::uint64_t target, std::uint64_t event);
  void wait_flag(std::uint64_t source, std::uint64_t target, std::uint64_t event);

  // Called around each instruction by the exported functions.
  void begin(const Instruction& instruction);
  [[noreturn]] void fail();
  // Say of `fault` where it happened.
  void locate_fault();

  Memory& memory(Space space);
  // A scalar load outside the tensors: what it loads from instead.
  std::uint64_t speculate(std::uint64_t address, std::uint64_t bytes);
  // Bytes that the current instruction moved; resets the counters.
  std::pair<std::uint64_t, std::uint64_t> take_bytes();

  const CoreKind kind;
  Memory l1, l0a, l0b, l0c, ub, bt, fb;
  const GlobalMemory* gm = nullptr;
  CrossCore* cross = nullptr;
  std::int64_t block = 0, block_count = 1;
  int sub_block = 0, sub_block_count = 1;
  bool checks = true;

  // Registers.
  std::uint64_t control = 0;
  std::array<std::uint64_t, 2> mask{};  // low, high
  std::uint64_t fmatrix_a = 0, fmatrix_b = 0, nd_parameters = 0, pad_value = 0, padding = 0;
  std::uint64_t compare_mask = 0, compare_mask_high = 0;
  std::uint64_t compare_mask_undefined = 0;  // bits of compare_mask
  std::uint64_t accumulator = 0, max_min = 0, kept_count = 0;
  bool accumulator_undefined = false, max_min_undefined = false;
  // Of the scalar that the next instruction spreads over a vector; that instruction sets it back to 0.
  std::uint64_t scalar_undefined = 0;
  std::array<std::array<std::uint64_t, 8>, 8> transpose_addresses{};

  Speculation speculation;
  PipeClocks clocks;
  std::int64_t line = 0;  // of the kernel, as compiled code last said
  std::uint64_t macs = 0;
  std::uint64_t instruction_count = 0;
  const Instruction* instruction = nullptr;
  std::uint64_t return_address = 0;
  std::vector<TraceRecord>* trace = nullptr;
  timing::Recorder* recorder = nullptr;

  std::optional<Fault> fault;
  std::jmp_buf exit;
  // Whether this thread is in compiled code and not in the engine; a signal then ends the block (crash.h).
  volatile bool compiled = false;
  int signal = 0;
  std::uint64_t signal_address = 0;

  static thread_local Core* current;

 private:
  std::array<std::uint8_t, kPipes * kPipes * kEvents> flags_{};
  std::uint8_t& flag(std::uint64_t source, std::uint64_t target, std::uint64_t event);
};

}  // namespace flagc::aicore
