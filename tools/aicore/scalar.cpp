// What compiled code says about its own scalar accesses (scalar_checks.py puts the calls in).
//
// Undefined bits of scalar values are computed by the compiled code itself, next to the values; here
// they come from and go to memory, and end where a value is used.
#include "instruction.h"

namespace flagc::aicore {

namespace {

struct Tag {};

constexpr std::uint64_t kWidest = 8;  // bytes of a value whose undefined bits are followed

// Where to load from, and the undefined bits of what is there.
struct Loaded {
  std::uint64_t address, undefined;
};

std::size_t natural_alignment(std::uint64_t bytes) {
  return bytes <= kWidest && (bytes & (bytes - 1)) == 0 ? static_cast<std::size_t>(bytes) : 1;
}

[[noreturn]] void undefined_workspace(std::uint64_t address, std::uint64_t bytes) {
  throw Fault{"poison", "uses an undefined value in the workspace", "GM", address, bytes};
}

// The vendor's lowering of discrete masks loads also where the mask is false, so a load outside the
// tensors is no fault yet: it loads an undefined value from elsewhere.
Loaded load_global(Core& core, std::uint64_t address, std::uint64_t bytes) {
  if (core.gm->contains(address, bytes)) {
    Loaded found{address, 0};
    const std::uint8_t* bits = core.gm->undefined(address, bytes);
    if (bits == nullptr) return found;
    if (bytes > kWidest) undefined_workspace(address, bytes);
    std::memcpy(&found.undefined, bits, bytes);
    return found;
  }
  if (bytes > kWidest) core.gm->read(address, bytes);
  return {core.speculate(address, bytes), ~0ULL};
}

Loaded load(Core& core, std::uint64_t address, std::uint64_t bytes, std::uint64_t space) {
  if (space == static_cast<std::uint64_t>(Space::kGm)) return load_global(core, address, bytes);
  const Memory& memory = core.memory(static_cast<Space>(space));
  if (bytes > kWidest) return {reinterpret_cast<std::uint64_t>(memory.read(address, bytes, 1)), 0};
  // The library builds bit masks by reading a byte, setting a bit and writing it back, so the first
  // read of each byte finds what nobody wrote.
  const View view = bytes == 1 ? memory.peek(address, 1) : memory.view(address, bytes, bytes, natural_alignment(bytes));
  Loaded result{reinterpret_cast<std::uint64_t>(view.data), 0};
  if (view.undefined != nullptr) std::memcpy(&result.undefined, view.undefined, bytes);
  return result;
}

// These return where to store to, or where to copy from or to.
std::uint64_t store(Core& core, std::uint64_t address, std::uint64_t bytes, std::uint64_t space,
                    std::uint64_t undefined) {
  if (space == static_cast<std::uint64_t>(Space::kGm)) {
    core.gm->write(address, bytes);
    if (undefined != 0 && !core.gm->scratch(address, bytes)) {
      throw Fault{"poison", "stores an undefined value to a tensor", "GM", address, bytes};
    }
    if (undefined != 0) core.gm->mark(address, bytes, reinterpret_cast<const std::uint8_t*>(&undefined));
    return address;
  }
  Memory& memory = core.memory(static_cast<Space>(space));
  const auto place = reinterpret_cast<std::uint64_t>(memory.write(address, bytes, natural_alignment(bytes)));
  if (undefined == 0) return place;
  std::uint8_t bits[kWidest];
  std::memcpy(bits, &undefined, sizeof bits);
  memory.mark(address, bytes, bits);
  return place;
}

std::uint64_t read_bytes(Core& core, std::uint64_t address, std::uint64_t bytes, std::uint64_t space) {
  const bool global = space == static_cast<std::uint64_t>(Space::kGm);
  if (global && core.gm->undefined(address, bytes) != nullptr) undefined_workspace(address, bytes);
  const std::uint8_t* place =
      global ? core.gm->read(address, bytes) : core.memory(static_cast<Space>(space)).read(address, bytes, 1);
  return reinterpret_cast<std::uint64_t>(place);
}
std::uint64_t write_bytes(Core& core, std::uint64_t address, std::uint64_t bytes, std::uint64_t space) {
  const bool global = space == static_cast<std::uint64_t>(Space::kGm);
  std::uint8_t* place =
      global ? core.gm->write(address, bytes) : core.memory(static_cast<Space>(space)).write(address, bytes, 1);
  return reinterpret_cast<std::uint64_t>(place);
}

// Where the host has an on-chip memory, for code that is not checked.
std::uint64_t base(Core& core, std::uint64_t space) { return core.memory(static_cast<Space>(space)).base(); }

// `what`: one of these, or the function of the instruction that takes the value.
enum Use : std::uint64_t { kAddress, kBranch, kStack, kCall };

void use(Core&, std::uint64_t undefined, std::uint64_t what) {
  if (undefined == 0) return;
  std::string text = "an undefined value is ";
  if (what == kAddress) {
    text += "an address";
  } else if (what == kBranch) {
    text += "the condition of a branch";
  } else if (what == kStack) {
    text += "stored to the stack";
  } else if (what == kCall) {
    text += "an operand of code that does not follow undefined values";
  } else {
    for (const Instruction* row : Table::get().rows()) {
      if (reinterpret_cast<std::uint64_t>(row->function) == what) text += std::string("an operand of ") + row->name;
    }
  }
  throw Fault{"poison", text};
}

void operand(Core& core, std::uint64_t undefined) { core.scalar_undefined = undefined; }

// LLVM leaves out whatever follows undefined behaviour of the library's code.
void unreachable(Core&) {
  throw Fault{"trap", "the device library's code for these operands has undefined behaviour here"};
}

std::uint64_t accumulator_undefined(Core& core) { return core.accumulator_undefined ? ~0ULL : 0; }
std::uint64_t max_min_undefined(Core& core) { return core.max_min_undefined ? ~0ULL : 0; }

const Instruction rows[] = {
    FLAGC_INSTRUCTION("SCALAR.LOAD", kS, "of ours: a load of the scalar unit", load),
    FLAGC_INSTRUCTION("SCALAR.STORE", kS, "of ours: a store of the scalar unit", store),
    FLAGC_INSTRUCTION("SCALAR.READ.BYTES", kS, "of ours: the source of a copy", read_bytes),
    FLAGC_INSTRUCTION("SCALAR.WRITE.BYTES", kS, "of ours: the target of a copy or fill", write_bytes),
    FLAGC_INSTRUCTION("SCALAR.BASE", kS, "of ours: an on-chip memory's place on the host", base),
    FLAGC_INSTRUCTION("SCALAR.USE", kS, "of ours: a value that must be defined", use),
    FLAGC_INSTRUCTION("SCALAR.OPERAND", kS, "of ours: undefined bits of the next instruction's scalar", operand),
    FLAGC_INSTRUCTION("UNREACHABLE", kS, "of ours: where LLVM found undefined behaviour", unreachable),
    FLAGC_INSTRUCTION("UNDEFINED.ACC.VAL", kS, "of ours: undefined bits of GET.ACC.VAL", accumulator_undefined),
    FLAGC_INSTRUCTION("UNDEFINED.MAX.MIN.CNT", kS, "of ours: undefined bits of GET.MAX.MIN.CNT", max_min_undefined),
};

}  // namespace

void register_scalar(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
