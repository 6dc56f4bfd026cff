// Instructions that move elements to other places in UB: transposition, gather, compaction.
#include "vector_access.h"

namespace flagc::aicore {

namespace {

struct Tag {};

// Two addresses of a vector address register. There are 8 registers of 8 addresses.
void move_address(Core& core, std::uint64_t reg, std::uint64_t index, std::uint64_t first,
                  std::uint64_t second) {
  if (reg > 7 || index > 6) throw Fault{"refused", "MOVEVA to a register that does not exist"};
  core.transpose_addresses[reg][index] = first;
  core.transpose_addresses[reg][index + 1] = second;
}

// Sixteen blocks, by the addresses in two neighbouring registers.
struct Blocks {
  Blocks(const Core& core_, std::uint64_t reg_) : core(core_), reg(reg_) {
    if (reg > 6) throw Fault{"refused", "VNCHWCONV with a register that does not exist"};
  }
  std::uint64_t address(unsigned block) const { return core.transpose_addresses[reg + block / 8][block % 8]; }
  const Core& core;
  std::uint64_t reg;
};

struct TransposeFields {
  explicit TransposeFields(std::uint64_t word)
      : target_step(field(word, 0, 16) * kVectorBlock),
        source_step(field(word, 16, 32) * kVectorBlock),
        repeat(field(word, 56, 64)) {
    only(word, mask_of(0, 32) | mask_of(56, 64), "configuration");
  }
  std::uint64_t target_step, source_step, repeat;
};

// The 16 blocks that one repeat reads, with their undefined bits: tiles are often filled in part only,
// and what is undefined moves along as such.
template <class T, unsigned kPerBlock>
struct Tile {
  void load(Core& core, unsigned block, std::uint64_t address) {
    const std::uint64_t bytes = kPerBlock * sizeof(T);
    const View view = core.ub.peek(address, bytes);
    std::memcpy(values[block], view.data, bytes);
    undefined[block] = view.undefined != nullptr;
    if (!undefined[block]) return;
    std::memcpy(bits[block], view.undefined, bytes);
    for (unsigned at = 0; at < kPerBlock; ++at) origin[block][at] = view.origin(at * sizeof(T));
  }
  void store(Core& core, unsigned block, unsigned at, std::uint64_t address) const {
    std::memcpy(core.ub.write(address, sizeof(T), sizeof(T)), &values[block][at], sizeof(T));
    if (!undefined[block] || bits[block][at] == 0) return;
    std::uint8_t unknown[sizeof(T)];
    std::memcpy(unknown, &bits[block][at], sizeof(T));
    core.ub.mark(address, sizeof(T), unknown, origin[block][at]);
  }
  T values[16][kPerBlock];
  T bits[16][kPerBlock];
  bool undefined[16];
  Origin origin[16][kPerBlock];
};

// 16 blocks of 16 elements, or of 8 elements of 32 bits: each element goes to the place that swaps
// block and position. With 32 bits the 8 positions give two target blocks each.
template <class T>
void transpose(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration) {
  constexpr unsigned kPerBlock = kVectorBlock / sizeof(T);
  const TransposeFields fields(configuration);
  const Blocks to(core, target), from(core, source);
  for (std::uint64_t repeat = 0; repeat < fields.repeat; ++repeat) {
    Tile<T, kPerBlock> tile;
    for (unsigned block = 0; block < 16; ++block) {
      const std::uint64_t at = from.address(block) + repeat * fields.source_step;
      core.ub.require_aligned(at, kVectorBlock);
      tile.load(core, block, at);
    }
    constexpr unsigned kParts = 16 / kPerBlock;
    for (unsigned block = 0; block < 16; ++block) {
      const std::uint64_t out = to.address(block) + repeat * fields.target_step;
      core.ub.require_aligned(out, kVectorBlock);
      for (unsigned at = 0; at < kPerBlock; ++at) {
        tile.store(core, block % kParts * kPerBlock + at, block / kParts, out + at * sizeof(T));
      }
    }
  }
}

// Bytes: 16 elements of a half of each source block make a half of each target block.
void transpose_bytes(Core& core, std::uint64_t target, std::uint64_t source,
                     std::uint64_t configuration, std::uint64_t target_high,
                     std::uint64_t source_high) {
  const TransposeFields fields(configuration);
  const Blocks to(core, target), from(core, source);
  for (std::uint64_t repeat = 0; repeat < fields.repeat; ++repeat) {
    Tile<std::uint8_t, 16> tile;
    for (unsigned block = 0; block < 16; ++block) {
      const std::uint64_t at = from.address(block) + repeat * fields.source_step;
      core.ub.require_aligned(at, kVectorBlock);
      tile.load(core, block, at + 16 * (source_high & 1));
    }
    for (unsigned block = 0; block < 16; ++block) {
      const std::uint64_t at = to.address(block) + repeat * fields.target_step;
      core.ub.require_aligned(at, kVectorBlock);
      for (unsigned line = 0; line < 16; ++line) {
        tile.store(core, line, block, at + 16 * (target_high & 1) + line);
      }
    }
  }
}

// Element i comes from byte address `base` + offsets[i]; offsets are 32-bit and contiguous.
template <class T>
void gather_elements(Core& core, std::uint64_t target, std::uint64_t offsets, std::uint64_t configuration) {
  constexpr unsigned kWidth = kRepeatBytes / sizeof(T);
  const auto base = static_cast<std::uint32_t>(field(configuration, 0, 32));
  const Operand out{target, 1, field(configuration, 32, 44)};
  only(configuration, mask_of(0, 44) | mask_of(56, 64), "configuration");
  const Repeats repeats(core, kWidth, field(configuration, 56, 64));
  core.ub.require_aligned(offsets, kVectorBlock);
  for (std::uint64_t repeat = 0; repeat < repeats.count(); ++repeat) {
    const Lanes lanes = repeats.lanes(repeat);
    T values[kWidth] = {};
    UndefinedLanes undefined;
    for (unsigned lane = 0; lane < lanes.count; ++lane) {
      if (!lanes[lane]) continue;
      std::uint32_t offset = 0;
      std::memcpy(&offset, core.ub.read(offsets + (repeat * kWidth + lane) * 4, 4, 4), 4);
      const std::uint32_t from = base + offset;
      std::memcpy(&values[lane], read_lanes<T>(core, from, lane, 1, sizeof(T), &undefined), sizeof(T));
    }
    scatter(core, out, repeat, lanes, values, undefined);
  }
}

// Whether pattern `pattern` keeps element `index`: every second (1, 2), every fourth (3 to 6), all.
bool keeps(std::uint64_t pattern, std::uint64_t index) {
  if (pattern < 3) return index % 2 == pattern - 1;
  if (pattern < 7) return index % 4 == pattern - 3;
  return true;
}

// Keeps some elements and moves them together. In count mode each repeat handles that many elements.
template <class T>
void compact(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t bits,
             std::uint64_t configuration) {
  constexpr unsigned kPerBlock = kVectorBlock / sizeof(T);
  const std::uint64_t repeats = field(configuration, 0, 8) | field(configuration, 56, 64) << 8;
  const std::uint64_t block_stride = field(configuration, 8, 16), pattern = field(configuration, 16, 24),
                      repeat_stride = field(configuration, 24, 40), bits_stride = field(configuration, 40, 56);
  const std::uint64_t width = count_mode(core) ? core.mask[0] : kRepeatBytes / sizeof(T);
  if (pattern > 7) refuse_field("pattern", pattern);
  core.ub.require_aligned(target, kVectorBlock);
  core.ub.require_aligned(source, kVectorBlock);
  std::uint64_t kept = 0;
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    const std::uint64_t start = source + repeat * repeat_stride * kVectorBlock;
    for (std::uint64_t index = 0; index < width; ++index) {
      if (pattern == 0) {
        const std::uint64_t at = bits + repeat * bits_stride * kVectorBlock + index / 8;
        if (((*core.ub.read(at, 1, 1) >> (index % 8)) & 1) == 0) continue;
      } else if (!keeps(pattern, index)) {
        continue;
      }
      const std::uint64_t from = start + index / kPerBlock * block_stride * kVectorBlock + index % kPerBlock * sizeof(T);
      core.ub.move(target + kept * sizeof(T), from, sizeof(T));
      ++kept;
    }
  }
  core.kept_count = kept;
}

const char* const kTranspose = "CCE intrinsics, scatter_vnchwconv; strides in 32 bytes";
const char* const kOrder = "CCE intrinsics, scatter_vnchwconv; operands: half of the target, half of the source";
const char* const kShort = "32-bit addresses, as the library's gather_1d computes them";
const char* const kCompact = "fields from the library's interleave and deinterleave; pattern 0 (bits) not seen used";

const Instruction rows[] = {
    FLAGC_INSTRUCTION("MOVEVA", kV, "", move_address),
    FLAGC_INSTRUCTION("S.VNCHWCONV.b8", kV, kOrder, transpose_bytes),
    FLAGC_INSTRUCTION("S.VNCHWCONV.b16", kV, kTranspose, transpose<std::uint16_t>),
    FLAGC_INSTRUCTION("S.VNCHWCONV.b32", kV, kTranspose, transpose<std::uint32_t>),
    FLAGC_INSTRUCTION("VGATHER.b16", kV, kShort, gather_elements<std::uint16_t>),
    FLAGC_INSTRUCTION("VGATHER.b32", kV, kShort, gather_elements<std::uint32_t>),
    FLAGC_INSTRUCTION("VREDUCEv2.b16", kV, kCompact, compact<std::uint16_t>),
    FLAGC_INSTRUCTION("VREDUCEv2.b32", kV, kCompact, compact<std::uint32_t>),
};

}  // namespace

void register_vector_rearrange(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
