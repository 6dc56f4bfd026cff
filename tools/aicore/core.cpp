#include "core.h"

#include <sstream>

#include "crash.h"
#include "instruction.h"

namespace flagc::aicore {

thread_local Core* Core::current = nullptr;

const char* pipe_name(int pipe) {
  static const char* const names[kPipes] = {"S",    "V",   "M", "MTE1", "MTE2", "MTE3",
                                            "ALL", "?", "?", "?",    "FIX"};
  return pipe >= 0 && pipe < kPipes ? names[pipe] : "?";
}

// Alignments: asc-devkit, "NPU architecture 2201", hardware constraints.
Core::Core(CoreKind kind_, const Sizes& sizes)
    : kind(kind_),
      l1("L1", kind_ == CoreKind::kAic ? sizes.l1 : 64, 32),
      l0a("L0A", kind_ == CoreKind::kAic ? sizes.l0a : 64, 512),
      l0b("L0B", kind_ == CoreKind::kAic ? sizes.l0b : 64, 512),
      l0c("L0C", kind_ == CoreKind::kAic ? sizes.l0c : 64, 64),
      ub("UB", kind_ == CoreKind::kAiv ? sizes.ub : 64, 32),
      bt("BT", kind_ == CoreKind::kAic ? sizes.bt : 64, 64),
      fb("FB", kind_ == CoreKind::kAic ? sizes.fb : 64, 64) {}

void Core::begin_block(std::int64_t block_, int sub_block_, bool checks_) {
  block = block_;
  sub_block = sub_block_;
  checks = checks_;
  control = 0;
  mask = {~0ULL, ~0ULL};
  flags_.fill(0);
  fault.reset();
  instruction = nullptr;
  instruction_count = 0;
  speculation = {};
  compare_mask_undefined = 0;
  accumulator_undefined = max_min_undefined = false;
  scalar_undefined = 0;
  line = 0;
  clocks.forget_flags();
  clocks.meet();
  for (Memory* memory : {&l1, &l0a, &l0b, &l0c, &bt, &fb, &ub}) {
    memory->watch(checks ? &clocks : nullptr);
  }
  if (kind == CoreKind::kAic) {
    for (Memory* memory : {&l1, &l0a, &l0b, &l0c, &bt, &fb}) memory->reset(checks);
  } else {
    ub.reset(checks);
  }
}

std::optional<Fault> Core::end_block() const {
  for (int source = 0; source < kPipes; ++source) {
    for (int target = 0; target < kPipes; ++target) {
      for (int event = 0; event < kEvents; ++event) {
        const int count = flags_[static_cast<std::size_t>((source * kPipes + target) * kEvents + event)];
        if (count == 0) continue;
        std::ostringstream text;
        text << "flag " << event << " from " << pipe_name(source) << " to " << pipe_name(target)
             << " was set " << count << " time(s) more than it was waited for";
        Fault found{"flag-left-over", text.str()};
        found.block = block;
        found.sub_block = sub_block;
        found.core = kind == CoreKind::kAic ? "AIC" : "AIV";
        return found;
      }
    }
  }
  return std::nullopt;
}

std::uint8_t& Core::flag(std::uint64_t source, std::uint64_t target, std::uint64_t event) {
  if (source >= kPipes || target >= kPipes || event >= kEvents) {
    std::ostringstream text;
    text << "no flag " << event << " from pipe " << source << " to pipe " << target;
    throw Fault{"bad-flag", text.str()};
  }
  return flags_[(source * kPipes + target) * kEvents + event];
}

void Core::set_flag(std::uint64_t source, std::uint64_t target, std::uint64_t event) {
  std::uint8_t& count = flag(source, target, event);
  if (count == 255) throw Fault{"flag-overflow", "a flag was set 256 times without a wait"};
  ++count;
  if (checks) clocks.set(source, (source * kPipes + target) * kEvents + event);
}

void Core::wait_flag(std::uint64_t source, std::uint64_t target, std::uint64_t event) {
  std::uint8_t& count = flag(source, target, event);
  if (count == 0) {
    std::ostringstream text;
    text << pipe_name(static_cast<int>(target)) << " waits for flag " << event << " from "
         << pipe_name(static_cast<int>(source)) << ", which nothing before it sets";
    throw Fault{"wait-without-set", text.str()};
  }
  --count;
  if (checks) clocks.wait(target, (source * kPipes + target) * kEvents + event);
}

void Core::begin(const Instruction& next) {
  compiled = false;
  instruction = &next;
  if (checks) clocks.issue(static_cast<int>(next.pipe));
  ++instruction_count;
}

void Core::fail() {
  locate_fault();
  std::longjmp(exit, kFaulted);
}

void Core::locate_fault() {
  if (instruction != nullptr) {
    fault->instruction = instruction->name;
    fault->pipe = pipe_name(static_cast<int>(instruction->pipe));
  }
  fault->core = kind == CoreKind::kAic ? "AIC" : "AIV";
  fault->block = block;
  fault->sub_block = sub_block;
  fault->line = line;
  if (fault->kind == "poison" && speculation.count == 0) {
    fault->message += "; it comes from a division by zero, from bytes that nobody wrote or from the library's reading an absent descriptor";
  }
  if ((fault->kind == "poison" || fault->kind == "out-of-bounds") && speculation.count != 0) {
    std::ostringstream text;
    text << "; line " << speculation.line << " " << speculation.text << ", which gives undefined values";
    fault->message += text.str();
  }
  fault->index = instruction_count;
  fault->return_address = return_address;
}

std::uint64_t Core::speculate(std::uint64_t address, std::uint64_t bytes) {
  alignas(8) static const std::array<std::uint16_t, 4> cell{kPoison, kPoison, kPoison, kPoison};
  if (speculation.count++ == 0) {
    std::ostringstream text;
    text << "reads " << bytes << " bytes outside the tensors of this launch" << gm->place(address);
    speculation.line = line;
    speculation.text = text.str();
  }
  return reinterpret_cast<std::uint64_t>(cell.data());
}

Memory& Core::memory(Space space) {
  switch (space) {
    case Space::kL1: return l1;
    case Space::kL0A: return l0a;
    case Space::kL0B: return l0b;
    case Space::kL0C: return l0c;
    case Space::kUb: return ub;
    case Space::kFb: return fb;
    case Space::kBt: return bt;
    default: throw Fault{"bad-space", "no such on-chip memory"};
  }
}

std::pair<std::uint64_t, std::uint64_t> Core::take_bytes() {
  std::uint64_t read = 0, written = 0;
  for (Memory* memory : {&l1, &l0a, &l0b, &l0c, &ub, &bt, &fb}) {
    read += memory->bytes_read;
    written += memory->bytes_written;
    memory->bytes_read = memory->bytes_written = 0;
  }
  return {read, written};
}

}  // namespace flagc::aicore
