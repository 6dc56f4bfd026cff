// The work of an instruction, from its name and operands.
#pragma once

#include <cstdint>

#include "../instruction.h"
#include "operation.h"

namespace flagc::aicore::timing {

// What the operands say about an instruction, filled into an Operation but for its place in global
// memory, which is `address` when `touches_global`.
struct Decoded {
  Operation op;
  bool known = false, touches_global = false;
  std::uint64_t address = 0;
};

Decoded decode(const Core& core, const Instruction& row, const std::uint64_t* operands, int count);

// The instruction's number in the emulator's table.
std::uint16_t number_of(const Instruction& row);

}  // namespace flagc::aicore::timing
