// What goes wrong in a kernel on the emulated AI Core, as a value that reaches Python.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace flagc::aicore {

struct Instruction;

const char* pipe_name(int pipe);

// Thrown by instruction handlers, caught at the border to compiled code (instruction.h), which has
// no unwind tables. `instruction`, `pipe`, `block` and `sub_block` are filled in there.
struct Fault {
  Fault(std::string kind_, std::string message_, std::string memory_ = "", std::uint64_t address_ = 0,
        std::uint64_t bytes_ = 0)
      : kind(std::move(kind_)), message(std::move(message_)), memory(std::move(memory_)),
        address(address_), bytes(bytes_) {}

  std::string kind;  // out-of-bounds, unwritten, misaligned, wait-without-set, ...
  std::string message;
  std::string memory;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;

  std::string instruction;
  std::string pipe;
  std::string core;
  std::int64_t block = -1;
  int sub_block = 0;
  std::uint64_t index = 0;           // of the instruction in this core's program order
  std::int64_t line = 0;  // of the kernel, 0 when not known
  std::uint64_t return_address = 0;  // in the compiled kernel
};

}  // namespace flagc::aicore
