// Between global memory and UB (MTE2, MTE3), inside UB, broadcasts.
#include <utility>

#include "atomic_store.h"
#include "vector_access.h"

namespace flagc::aicore {

namespace {

struct Tag {};

constexpr std::uint64_t round_up(std::uint64_t bytes) {
  return (bytes + kVectorBlock - 1) / kVectorBlock * kVectorBlock;
}

// Where a mask is false the vendor's compiler still moves, also from outside the tensors: what would
// come from there is undefined.
void copy_in(Core& core, std::uint64_t source, std::uint64_t bytes, std::uint64_t target, std::uint8_t* out) {
  const auto* in = reinterpret_cast<const std::uint8_t*>(source);
  if (bytes == 0) return;
  if (core.gm->contains(source, bytes)) {
    std::memcpy(out, in, bytes);
    const std::uint8_t* bits = core.gm->undefined(source, bytes);
    if (bits != nullptr) core.ub.mark(target, bytes, bits);
    return;
  }
  core.speculate(source, bytes);
  const auto [from, to] = core.gm->part_inside(source, bytes);
  std::memset(out, 0xFF, bytes);  // a NaN, if anybody looked
  std::memcpy(out + from, in + from, to - from);
  core.ub.mark(target, from);
  core.ub.mark(target + to, bytes - to);
}

// Bursts of bytes from global memory, each to whole blocks of UB, with elements of the pad value
// before and after. What is left of the last block is undefined.
template <class T>
void to_ub(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration,
           std::uint64_t gaps) {
  const std::uint64_t bursts = field(configuration, 4, 16), bytes = field(configuration, 16, 37),
                      before = field(configuration, 48, 54) * sizeof(T),
                      after = field(configuration, 54, 60) * sizeof(T);
  const std::uint64_t source_gap = field(gaps, 0, 32), target_gap = field(gaps, 32, 64) * kVectorBlock;
  only(configuration, mask_of(4, 37) | mask_of(48, 60), "configuration");
  const T pad = static_cast<T>(core.pad_value);
  const std::uint64_t whole = round_up(before + bytes + after);
  for (std::uint64_t burst = 0; burst < bursts; ++burst) {
    const std::uint64_t from = source + burst * (bytes + source_gap);
    const std::uint64_t at = target + burst * (whole + target_gap);
    core.ub.require_aligned(at, kVectorBlock);
    std::uint8_t* out = core.ub.write(at, before + bytes + after);
    for (std::uint64_t byte = 0; byte < before; byte += sizeof(T)) std::memcpy(out + byte, &pad, sizeof(T));
    copy_in(core, from, bytes, at + before, out + before);
    for (std::uint64_t byte = 0; byte < after; byte += sizeof(T)) {
      std::memcpy(out + before + bytes + byte, &pad, sizeof(T));
    }
    core.ub.scramble(at + before + bytes + after, whole - before - bytes - after);
  }
}

void from_ub(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration,
             std::uint64_t gaps) {
  const std::uint64_t bursts = field(configuration, 4, 16), bytes = field(configuration, 16, 37);
  const std::uint64_t source_gap = field(gaps, 0, 32) * kVectorBlock, target_gap = field(gaps, 32, 64);
  only(configuration, mask_of(4, 37), "configuration");
  for (std::uint64_t burst = 0; burst < bursts; ++burst) {
    const View in = core.ub.view(source + burst * (round_up(bytes) + source_gap), bytes, 1);
    const std::uint64_t at = target + burst * (bytes + target_gap);
    if (in.undefined != nullptr && !core.gm->scratch(at, bytes)) {
      throw Fault{"poison", "stores an undefined value to a tensor", "GM", at, bytes};
    }
    store_to_global(core, at, in.data, bytes);
    if (in.undefined != nullptr) core.gm->mark(at, bytes, in.undefined);
  }
}

void inside_ub(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration) {
  const std::uint64_t bursts = field(configuration, 4, 16),
                      bytes = field(configuration, 16, 32) * kVectorBlock,
                      source_gap = field(configuration, 32, 48) * kVectorBlock,
                      target_gap = field(configuration, 48, 64) * kVectorBlock;
  only(configuration, mask_of(4, 64), "configuration");
  for (std::uint64_t burst = 0; burst < bursts; ++burst) {
    // Whole blocks move; the kernel uses a part of the last one.
    core.ub.require_aligned(source, kVectorBlock);
    core.ub.require_aligned(target, kVectorBlock);
    core.ub.move(target + burst * (bytes + target_gap), source + burst * (bytes + source_gap), bytes);
  }
}

template <class T>
void fill(Core& core, std::uint64_t target, T value, std::uint64_t configuration) {
  constexpr unsigned kWidth = kRepeatBytes / sizeof(T);
  const UnaryFields fields(configuration, target, 0);
  const Repeats repeats(core, kWidth, fields.repeat);
  T values[kWidth];
  std::fill_n(values, kWidth, value);
  const std::uint64_t bits = std::exchange(core.scalar_undefined, 0);
  UndefinedLanes undefined;
  for (unsigned lane = 0; bits != 0 && lane < kWidth; ++lane) undefined.set(lane, bits);
  for (std::uint64_t repeat = 0; repeat < repeats.count(); ++repeat) {
    scatter(core, fields.target, repeat, repeats.lanes(repeat), values, undefined);
  }
}
void fill_16(Core& core, std::uint64_t target, float value, std::uint64_t configuration) {
  fill(core, target, static_cast<std::uint16_t>(ScalarBits(value).bits), configuration);
}
void fill_32(Core& core, std::uint64_t target, float value, std::uint64_t configuration) {
  fill(core, target, value, configuration);
}
template <class T>
void fill_integer(Core& core, std::uint64_t target, std::uint64_t value, std::uint64_t configuration) {
  fill(core, target, static_cast<T>(value), configuration);
}

// Each repeat spreads 8 elements over 8 blocks. No mask applies.
template <class T>
void broadcast_blocks(Core& core, std::uint64_t target, std::uint64_t source,
                      std::uint64_t configuration) {
  constexpr unsigned kPerBlock = kVectorBlock / sizeof(T);
  const UnaryFields fields(configuration, target, source);
  only(configuration, mask_of(0, 16) | mask_of(32, 40) | mask_of(52, 64), "configuration");
  for (std::uint64_t repeat = 0; repeat < fields.repeat; ++repeat) {
    T in[8];
    const View view = core.ub.peek(source + repeat * sizeof in, sizeof in);
    std::memcpy(in, view.data, sizeof in);
    for (unsigned block = 0; block < 8; ++block) {
      const std::uint64_t at =
          target + (repeat * fields.target.repeat_stride + block * fields.target.block_stride) * kVectorBlock;
      T* out = reinterpret_cast<T*>(core.ub.write(at, kVectorBlock));
      std::fill_n(out, kPerBlock, in[block]);
      // An undefined element gives an undefined block.
      if (view.undefined == nullptr) continue;
      const std::uint8_t* bits = view.undefined + block * sizeof(T);
      if (std::any_of(bits, bits + sizeof(T), [](std::uint8_t byte) { return byte != 0; })) {
        core.ub.mark(at, kVectorBlock, nullptr, view.origin(block * sizeof(T)));
      }
    }
  }
}

// In count mode the count is of one repeat, however many blocks that takes, and the repeats are those of
// the configuration. What nobody wrote is copied as such: rows are padded to blocks.
template <class T>
void copy(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration) {
  constexpr std::uint64_t kPerBlock = kVectorBlock / sizeof(T);
  const UnaryFields fields(configuration, target, source);
  const Lanes lanes = Repeats(core, kRepeatBytes / sizeof(T), fields.repeat).lanes(0);
  const bool counted = count_mode(core);
  const std::uint64_t count = counted ? core.mask[0] : lanes.count;
  core.ub.require_aligned(target, kVectorBlock);
  core.ub.require_aligned(source, kVectorBlock);
  for (std::uint64_t repeat = 0; repeat < fields.repeat; ++repeat) {
    const std::uint64_t to = target + repeat * fields.target.repeat_stride * kVectorBlock;
    const std::uint64_t from = source + repeat * fields.source.repeat_stride * kVectorBlock;
    for (std::uint64_t first = 0; first < count; first += kPerBlock) {
      const std::uint64_t block = first / kPerBlock * kVectorBlock;
      const std::uint64_t end = std::min(kPerBlock, count - first);
      const std::uint64_t out = to + block * fields.target.block_stride;
      const std::uint64_t in = from + block * fields.source.block_stride;
      if (counted || lanes.all) {
        core.ub.move(out, in, end * sizeof(T));
        continue;
      }
      for (std::uint64_t at = 0; at < end; ++at) {
        if (lanes[static_cast<unsigned>(first + at)]) {
          core.ub.move(out + at * sizeof(T), in + at * sizeof(T), sizeof(T));
        }
      }
    }
  }
}

const char* const kRest = "the rest of the last block is undefined (AscendC DataCopyPad)";

const Instruction rows[] = {
    FLAGC_INSTRUCTION("MOV.OUT.TO.UB.ALIGN.b8.V220", kMte2, kRest, to_ub<std::uint8_t>),
    FLAGC_INSTRUCTION("MOV.OUT.TO.UB.ALIGN.b16.V220", kMte2, kRest, to_ub<std::uint16_t>),
    FLAGC_INSTRUCTION("MOV.OUT.TO.UB.ALIGN.b32.V220", kMte2, kRest, to_ub<std::uint32_t>),
    FLAGC_INSTRUCTION("MOV.UB.TO.OUT.ALIGN.b8.V220", kMte3, "", from_ub),
    FLAGC_INSTRUCTION("MOV.UB.TO.OUT.ALIGN.b16.V220", kMte3, "", from_ub),
    FLAGC_INSTRUCTION("MOV.UB.TO.OUT.ALIGN.b32.V220", kMte3, "", from_ub),
    FLAGC_INSTRUCTION("MOV.UB.TO.UB.v220", kV, "", inside_ub),
    FLAGC_INSTRUCTION("MOVEV.f16", kV, "", fill_16),
    FLAGC_INSTRUCTION("MOVEV.bf16", kV, "", fill_16),
    FLAGC_INSTRUCTION("MOVEV.f32", kV, "", fill_32),
    FLAGC_INSTRUCTION("MOVEV.s16", kV, "", fill_integer<std::uint16_t>),
    FLAGC_INSTRUCTION("MOVEV.u16", kV, "", fill_integer<std::uint16_t>),
    FLAGC_INSTRUCTION("MOVEV.s32", kV, "", fill_integer<std::uint32_t>),
    FLAGC_INSTRUCTION("MOVEV.u32", kV, "", fill_integer<std::uint32_t>),
    FLAGC_INSTRUCTION("VBRCB.b16", kV, "8 elements a repeat, without mask (AscendC Brcb)", broadcast_blocks<std::uint16_t>),
    FLAGC_INSTRUCTION("VBRCB.b32", kV, "8 elements a repeat, without mask (AscendC Brcb)", broadcast_blocks<std::uint32_t>),
    FLAGC_INSTRUCTION("VCOPY.u16", kV, "count mode counts one repeat: the library's row broadcast needs it", copy<std::uint16_t>),
    FLAGC_INSTRUCTION("VCOPY.u32", kV, "count mode counts one repeat: the library's row broadcast needs it", copy<std::uint32_t>),
};

}  // namespace

void register_vector_move(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
