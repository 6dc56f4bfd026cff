#include "decode.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "../number.h"
#include "../vector_access.h"

namespace flagc::aicore::timing {

namespace {

constexpr std::uint32_t kFractalBytes = 512;
constexpr int kHf32Bit = 46;

bool begins(std::string_view name, std::string_view with) { return name.substr(0, with.size()) == with; }
bool contains(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

std::uint32_t ceil(std::uint64_t value, std::uint64_t unit) {
  return static_cast<std::uint32_t>((value + unit - 1) / unit);
}

std::uint32_t element_bytes(std::string_view name) {
  if (contains(name, "f32") || contains(name, "s32") || contains(name, "u32") || contains(name, "b32")) return 4;
  return contains(name, "s8") || contains(name, "u8") || contains(name, "b8") ? 1 : 2;
}

void global(Decoded& result, std::uint64_t address, std::uint64_t rows, std::uint64_t row_bytes,
            std::uint64_t pitch) {
  result.known = result.touches_global = true;
  result.address = address;
  result.op.rows = static_cast<std::uint32_t>(rows);
  result.op.row_bytes = static_cast<std::uint32_t>(row_bytes);
  result.op.pitch = static_cast<std::int64_t>(pitch);
}

// Bursts of `unit` bytes with gaps of blocks of 32 (AscendC DataCopyParams).
void bursts(Decoded& result, std::uint64_t address, std::uint64_t word, int gap_low) {
  const std::uint64_t bytes = field(word, 16, 32) * 32;
  global(result, address, field(word, 4, 16), bytes, bytes + field(word, gap_low, gap_low + 16) * 32);
}

void into_l1(Decoded& result, std::string_view name, const std::uint64_t* x) {
  if (begins(name, "CREATE.CBUF")) {
    result.known = true;
    result.op.kind = Kind::kFill;
    result.op.work = static_cast<std::uint32_t>(field(x[1], 0, 15) * field(x[1], 16, 31) * 32);
    return;
  }
  result.op.kind = Kind::kRead;
  if (!contains(name, "ND2NZ")) {
    bursts(result, x[1], x[2], 32);
    return;
  }
  const std::uint64_t size = element_bytes(name), matrices = field(x[2], 4, 16);
  result.op.flags = kNd2nz;
  global(result, x[1], field(x[2], 16, 32) * matrices, field(x[2], 32, 48) * size, field(x[3], 0, 16) * size);
}

void into_l0(Decoded& result, std::string_view name, const std::uint64_t* x) {
  result.known = true;
  result.op.kind = Kind::kToL0;
  // Bytes a cycle: asc-devkit, cube instruction performance (2201); BT and FB 32.
  result.op.rate = contains(name, "L0A") ? 256 : contains(name, "L0B") ? 128 : 32;
  if (contains(name, "3DV2")) {
    const std::uint32_t size = element_bytes(name);
    result.op.work = ceil(field(x[2], 16, 32), 16) * ceil(field(x[2], 0, 16) * size, 32) * kFractalBytes;
  } else if (contains(name, "TRANSPOSE")) {
    result.op.work = static_cast<std::uint32_t>(field(x[2], 16, 24)) * 2 * kFractalBytes;
  } else if (contains(name, "LOAD")) {
    result.op.work = static_cast<std::uint32_t>(field(x[2], 16, 24)) * kFractalBytes;
  } else {
    const std::uint64_t unit = contains(name, "BT") ? 64 : 128;
    result.op.work = static_cast<std::uint32_t>(field(x[2], 4, 16) * field(x[2], 16, 32) * unit);
  }
}

void multiply(Decoded& result, const Core& core, std::string_view name, const std::uint64_t* x) {
  const std::uint64_t m = field(x[3], 0, 12), k = field(x[3], 12, 24), n = field(x[3], 24, 36);
  // k of one step of 16 x 16 results: asc-devkit, cube instruction performance.
  std::uint64_t depth = 16;
  if (begins(name, "MAD.f322f32")) depth = field(core.control, kHf32Bit, kHf32Bit + 1) ? 8 : 4;
  if (begins(name, "MAD.s8")) depth = 32;
  if (begins(name, "MAD.s4")) depth = 64;
  result.known = true;
  result.op.kind = Kind::kMad;
  result.op.work = ceil(m, 16) * ceil(n, 16) * ceil(k, depth);
  if (field(x[3], 55, 57)) result.op.flags = kUnitFlag;
}

void out_of_l0c(Decoded& result, std::string_view name, const std::uint64_t* x) {
  const std::uint64_t n = field(x[2], 4, 16), m = field(x[2], 16, 32), stride = field(x[2], 32, 64);
  std::uint64_t size = 4;
  if (contains(name, "f2h") || contains(name, "2bf16") || contains(name, "2f16")) size = 2;
  if (contains(name, "2s8")) size = 1;
  result.op.kind = Kind::kWrite;
  result.op.work = ceil(m, 16) * ceil(n, 16) * 1024;
  if (field(x[3], 32, 34)) result.op.flags = kUnitFlag;
  global(result, x[0], m, n * size, stride * size);
  if (!field(x[3], 43, 44)) global(result, x[0], ceil(n, 16), m * 16 * size, stride * 32);
}

// Banks: 16 groups of 32 bytes each, by address (asc-devkit, "avoid bank conflicts"; the vector add and
// ND2NZ examples, T7 and T9). Cycles that a repeat takes beyond the first: as often as one group is read,
// or written.
std::uint32_t bank_conflict(std::initializer_list<Operand> sources, const Operand& target) {
  const auto worst = [](std::initializer_list<Operand> operands) {
    std::array<int, 16> uses{};
    for (const Operand& operand : operands) {
      std::array<bool, 16> counted{};
      for (std::uint64_t block = 0; block < 8; ++block) {
        const std::size_t group = (operand.address / 32 + block * operand.block_stride) % 16;
        // A block that is read again (stride 0) is read once.
        if (operand.block_stride == 0 && counted[group]) continue;
        counted[group] = true;
        ++uses[group];
      }
    }
    return *std::max_element(uses.begin(), uses.end());
  };
  return static_cast<std::uint32_t>(std::max({1, worst(sources), worst({target})}) - 1);
}

bool takes_two(std::string_view name) {
  for (const std::string_view two : {"VADD.", "VSUB.", "VMUL.", "VDIV.", "VMAX.", "VMIN.", "VAND.", "VOR.", "VSEL.", "VCMPV."}) {
    if (begins(name, two)) return true;
  }
  return false;
}

void vector(Decoded& result, const Core& core, std::string_view name, const std::uint64_t* x, int count) {
  result.known = true;
  result.op.kind = Kind::kVector;
  if (count == 0) return;
  if (begins(name, "MOV.UB.TO.UB")) {
    result.op.work = ceil(field(x[2], 4, 16) * field(x[2], 16, 32) * 32, kRepeatBytes);
    return;
  }
  const bool two = takes_two(name);
  // The configuration is the last operand but for a few instructions with something behind it.
  int last = count - 1;
  if (begins(name, "VSHR.") || contains(name, "VNCHWCONV.b8")) last = std::min(last, begins(name, "VSHR.") ? 3 : 2);
  if (two) last = 3;
  if (begins(name, "VREDUCEv2")) {
    const std::uint64_t word = x[count - 1];
    result.op.work = static_cast<std::uint32_t>(field(word, 0, 8) | field(word, 56, 64) << 8);
    return;
  }
  const std::uint64_t word = x[std::min(last, 5)];
  const std::uint32_t width = kRepeatBytes / element_bytes(name);
  const bool counted = count_mode(core) && !begins(name, "VCOPY.");
  result.op.work = counted ? ceil(core.mask[0], width) : static_cast<std::uint32_t>(field(word, 56, 64));
  if (two) {
    const BinaryFields fields(word, x[0], x[1], x[2], ~0ULL);
    result.op.rate = bank_conflict({fields.left, fields.right}, fields.target);
  } else if (begins(name, "VCOPY.") || begins(name, "VCONV.") || begins(name, "VADDS") || begins(name, "VMULS") ||
             begins(name, "VEXP") || begins(name, "VABS") || begins(name, "VRELU")) {
    const UnaryFields fields(word, x[0], x[1]);
    result.op.rate = bank_conflict({fields.source}, fields.target);
  }
}

}  // namespace

std::uint16_t number_of(const Instruction& row) {
  static const std::unordered_map<const Instruction*, std::uint16_t> numbers = [] {
    std::unordered_map<const Instruction*, std::uint16_t> built;
    for (const Instruction* one : Table::get().rows()) built.emplace(one, static_cast<std::uint16_t>(built.size()));
    return built;
  }();
  return numbers.at(&row);
}

Decoded decode(const Core& core, const Instruction& row, const std::uint64_t* x, int count) {
  Decoded result;
  const std::string_view name = row.name;
  result.op.pipe = static_cast<std::uint8_t>(row.pipe);
  result.op.name = number_of(row);
  switch (row.pipe) {
    case Pipe::kMte2:
      if (!begins(name, "MOV.OUT.TO.UB")) {
        into_l1(result, name, x);
      } else {
        const std::uint64_t bytes = field(x[2], 16, 37);
        result.op.kind = Kind::kRead;
        result.op.flags = kToUb;
        global(result, x[1], field(x[2], 4, 16), bytes, bytes + field(x[3], 0, 32));
      }
      break;
    case Pipe::kMte3: {
      result.op.kind = Kind::kWrite;
      if (begins(name, "MOV.L1.TO.OUT")) {
        bursts(result, x[0], x[2], 48);
      } else {
        const std::uint64_t bytes = field(x[2], 16, 37);
        global(result, x[0], field(x[2], 4, 16), bytes, bytes + field(x[3], 32, 64));
      }
      result.op.work = result.op.rows * result.op.row_bytes;
      break;
    }
    case Pipe::kMte1: into_l0(result, name, x); break;
    case Pipe::kM: multiply(result, core, name, x); break;
    case Pipe::kFix:
      if (begins(name, "FIX.")) {
        out_of_l0c(result, name, x);
      } else {
        into_l0(result, name, x);
      }
      break;
    case Pipe::kV: vector(result, core, name, x, count); break;
    default: break;
  }
  if (result.touches_global && (result.op.rows == 0 || result.op.row_bytes == 0)) {
    result.known = result.touches_global = false;
  }
  return result;
}

}  // namespace flagc::aicore::timing
