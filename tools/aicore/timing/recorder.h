// Turns the instructions that a launch executes into a launch for the timing model: what a pipe has to
// do, flags, and addresses within tensors. Blocks with equal streams become one class.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../instruction.h"
#include "operation.h"

namespace flagc::aicore::timing {

class Recorder {
 public:
  // `dataless`: instructions of other pipes than S are noted and not executed. A kernel whose scalar
  // code then reads what they would have computed ends with a fault of kind "needs-data".
  Recorder(const std::vector<Region>& regions, bool mix, bool cube, bool dataless);

  // Before the handler of an instruction; true when the handler is not to run.
  bool note(const Core& core, const Instruction& row, const std::uint64_t* operands, int count);
  void end_block();
  Launch take();

 private:
  struct Extent {
    std::uint64_t begin, end;
  };
  Program& program(const Core& core);
  void place(Operation& op, std::uint64_t address);
  void add(const Core& core, const Operation& op);
  void synchronisation(const Core& core, const Instruction& row, const std::uint64_t* x, int count);

  bool mix_, dataless_;
  std::vector<Extent> extents_;
  Launch launch_;
  std::vector<Program> programs_;
  std::vector<std::uint32_t> scalar_;  // cycles of S since the program's last operation
  std::vector<std::int64_t> bases_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

}  // namespace flagc::aicore::timing
