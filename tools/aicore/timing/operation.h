// What the timing model knows of one instruction: its pipe, and what the pipe has to do.
//
// The layout is that of OPERATION in flagc/aicore/timing/operations.py, which builds streams without
// the emulator.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace flagc::aicore::timing {

enum class Kind : std::uint8_t {
  kSet = 0,        // pipe -> other, event
  kWait = 1,       // pipe waits for a flag of other
  kBarrier = 2,    // pipe, or all of them
  kCrossSet = 3,   // event is the cross-core flag; runs on pipe; rate: AscendC's mode
  kCrossWait = 4,
  kScalar = 5,     // work: cycles of the scalar unit
  kMad = 6,        // work: fractal steps, one a cycle
  kToL0 = 7,       // work: bytes; rate: bytes a cycle
  kRead = 8,       // global memory to L1 or UB
  kWrite = 9,      // UB, L0C or L1 to global memory; work: bytes of the source
  kVector = 10,    // work: repeats; rate: cycles that banks add to each
  kFill = 11,      // work: bytes written by MTE2 without reading
};

// Bits of Operation::flags.
constexpr std::uint8_t kNd2nz = 1;      // a read that rearranges rows into fractals
constexpr std::uint8_t kToUb = 2;       // a read into UB (otherwise L1)
constexpr std::uint8_t kBypass = 4;     // does not allocate in L2
constexpr std::uint8_t kUnitFlag = 8;   // M and FIX overlap by blocks of 512 bytes

struct Operation {
  Kind kind = Kind::kScalar;
  std::uint8_t pipe = 0, other = 0, event = 0;
  std::uint16_t name = 0;
  std::uint8_t region = 0, flags = 0;
  std::uint32_t rows = 0, row_bytes = 0;
  std::int64_t pitch = 0;    // bytes from row to row
  std::int64_t address = 0;  // bytes from the block's base in its region
  std::uint32_t work = 0, rate = 0;
};
static_assert(sizeof(Operation) == 40);

using Program = std::vector<Operation>;

// Blocks with the same streams: one program for each of the block's cores (AIC, then AIVs).
struct BlockClass {
  std::vector<Program> programs;
};

// One block: its class, and where its part of each region begins (bytes).
struct Block {
  std::uint32_t block_class = 0;
  std::vector<std::int64_t> bases;
};

struct Launch {
  std::vector<BlockClass> classes;
  std::vector<Block> blocks;
  // For each core slot the blocks it executes, in order. Empty: blocks go to the first free slot.
  std::vector<std::vector<std::uint32_t>> assignment;
  std::vector<std::int64_t> region_bytes;
  int slots = 1;             // AICs, or AIVs for a kernel without AIC
  bool cube = true;          // the first program of each class is an AIC's
};

}  // namespace flagc::aicore::timing
