// Compares, which give one bit an element, and selects, which take them.
#include "vector_access.h"

namespace flagc::aicore {

namespace {

struct Tag {};

enum class Compare { kEq, kNe, kLt, kLe, kGt, kGe };

template <Compare kCompare, class T>
bool holds(T a, T b) {
  switch (kCompare) {
    case Compare::kEq: return a == b;
    case Compare::kNe: return a != b;
    case Compare::kLt: return a < b;
    case Compare::kLe: return a <= b;
    case Compare::kGt: return a > b;
    default: return a >= b;
  }
}

template <Compare kCompare, class T>
bool compare(T a, T b) {
  if constexpr (std::is_same_v<T, Half>) {
    return holds<kCompare>(to_float(a), to_float(b));
  } else {
    return holds<kCompare>(a, b);
  }
}

// Results of all repeats follow each other in UB, lowest bit first. Masks do not apply; a count gives
// the number of repeats, which are compared whole.
template <class T>
void store_bits(Core& core, std::uint64_t target, std::uint64_t repeat, const bool* bits,
                const UndefinedLanes& undefined) {
  constexpr unsigned kWidth = kRepeatBytes / sizeof(T);
  std::uint8_t packed[kWidth / 8] = {}, unknown[kWidth / 8] = {};
  for (unsigned lane = 0; lane < kWidth; ++lane) {
    packed[lane / 8] = static_cast<std::uint8_t>(packed[lane / 8] | bits[lane] << (lane % 8));
  }
  const std::uint64_t at = target + repeat * sizeof packed;
  std::memcpy(core.ub.write(at, sizeof packed, 1), packed, sizeof packed);
  if (!undefined.any()) return;
  for (unsigned lane = 0; lane < kWidth; ++lane) {
    unknown[lane / 8] = static_cast<std::uint8_t>(unknown[lane / 8] | (undefined[lane] != 0) << (lane % 8));
  }
  core.ub.mark(at, sizeof unknown, unknown);
}

// Whole repeats are compared, of which the library uses a part: elements that nobody wrote are no
// fault here, their bits are undefined. Behind the first block of the last repeat may be other buffers,
// which other pipes use. Adds to `undefined`.
template <class T>
void gather_whole(Core& core, const Operand& operand, std::uint64_t repeat, bool last, T* out,
                  UndefinedLanes& undefined) {
  constexpr unsigned kPerBlock = kVectorBlock / sizeof(T);
  const std::uint64_t start = operand.address + repeat * operand.repeat_stride * kVectorBlock;
  for (unsigned block = 0; block < 8; ++block) {
    const std::uint64_t at = start + block * operand.block_stride * kVectorBlock;
    const View view = last && block > 0 ? core.ub.glance(at, kVectorBlock) : core.ub.peek(at, kVectorBlock);
    std::memcpy(out + block * kPerBlock, view.data, kVectorBlock);
    if (view.undefined == nullptr) continue;
    for (unsigned lane = 0; lane < kPerBlock; ++lane) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, view.undefined + lane * sizeof(T), sizeof(T));
      if (bits != 0) undefined.set(block * kPerBlock + lane, bits);
    }
  }
}

template <Compare kCompare, class T>
void compare_vectors(Core& core, std::uint64_t target, std::uint64_t left, std::uint64_t right,
                     std::uint64_t configuration) {
  constexpr unsigned kWidth = kRepeatBytes / sizeof(T);
  const BinaryFields fields(configuration, target, left, right);
  core.ub.require_aligned(target, kVectorBlock);
  T a[kWidth], b[kWidth];
  bool bits[kWidth];
  const std::uint64_t repeats = Repeats(core, kWidth, fields.repeat).count();
  UndefinedLanes undefined;
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    undefined.clear();
    const bool last = repeat + 1 == repeats;
    gather_whole(core, fields.left, repeat, last, a, undefined);
    gather_whole(core, fields.right, repeat, last, b, undefined);
    for (unsigned lane = 0; lane < kWidth; ++lane) bits[lane] = compare<kCompare>(a[lane], b[lane]);
    store_bits<T>(core, target, repeat, bits, undefined);
  }
}

template <Compare kCompare, class T>
void compare_with(Core& core, std::uint64_t target, std::uint64_t source, T right,
                  std::uint64_t configuration) {
  constexpr unsigned kWidth = kRepeatBytes / sizeof(T);
  const UnaryFields fields(configuration, target, source);
  core.ub.require_aligned(target, kVectorBlock);
  T a[kWidth];
  bool bits[kWidth];
  const std::uint64_t repeats = Repeats(core, kWidth, fields.repeat).count();
  UndefinedLanes undefined;
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    undefined.clear();
    gather_whole(core, fields.source, repeat, repeat + 1 == repeats, a, undefined);
    for (unsigned lane = 0; lane < kWidth; ++lane) bits[lane] = compare<kCompare>(a[lane], right);
    store_bits<T>(core, target, repeat, bits, undefined);
  }
}

template <Compare kCompare, class T>
void compare_scalar(Core& core, std::uint64_t target, std::uint64_t source, float value,
                    std::uint64_t configuration) {
  if constexpr (std::is_same_v<T, Half>) {
    compare_with<kCompare>(core, target, source, Half{static_cast<std::uint16_t>(ScalarBits(value).bits)}, configuration);
  } else {
    compare_with<kCompare>(core, target, source, value, configuration);
  }
}
template <Compare kCompare>
void compare_integer(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t value,
                     std::uint64_t configuration) {
  compare_with<kCompare>(core, target, source, static_cast<std::int32_t>(value), configuration);
}

struct MaskBit {
  bool set, defined;
};
MaskBit mask_bit(Core& core, std::uint64_t address, std::uint64_t index) {
  const View view = core.ub.view(address + index / 8, 1, 1, 1);
  const auto bit = [index](std::uint8_t byte) { return ((byte >> (index % 8)) & 1) != 0; };
  return {bit(*view.data), view.undefined == nullptr || !bit(*view.undefined)};
}
// The register's bits; it holds what 8 bytes of UB held.
MaskBit register_bit(const Core& core, unsigned lane) {
  if (lane >= 64) return {((core.compare_mask_high >> (lane - 64)) & 1) != 0, true};
  return {((core.compare_mask >> lane) & 1) != 0, ((core.compare_mask_undefined >> lane) & 1) == 0};
}

// Mode 0: mask of one repeat in the CMPMASK register, for every repeat. Mode 1: right is the mask,
// the other value is a scalar in CMPMASK. Mode 2: CMPMASK holds the address of the mask in UB.
// In modes 1 and 2 the bits of all repeats follow each other.
template <class T>
void select(Core& core, std::uint64_t target, std::uint64_t left, std::uint64_t right,
            std::uint64_t configuration) {
  constexpr unsigned kWidth = kRepeatBytes / sizeof(T);
  const BinaryFields fields(configuration, target, left, right, mask_of(48, 50));
  const std::uint64_t mode = field(configuration, 48, 50);
  if (mode > 2) refuse_field("mode", mode, "the library's and AscendC's modes are 0, 1 and 2");
  const Repeats repeats(core, kWidth, fields.repeat);
  const std::uint64_t masks = mode == 1 ? right : core.compare_mask;
  if (mode == 2 && core.compare_mask_undefined != 0) throw Fault{"poison", "the mask's address is undefined"};
  T a[kWidth] = {}, b[kWidth] = {};
  // The library selects whole repeats, also where the tile of a padded layout leaves gaps.
  UndefinedLanes undefined(true), other(true);
  for (std::uint64_t repeat = 0; repeat < repeats.count(); ++repeat) {
    const Lanes lanes = repeats.lanes(repeat);
    gather(core, fields.left, repeat, lanes, a, &undefined);
    if (mode == 1) {
      T scalar;
      std::memcpy(&scalar, &core.compare_mask, sizeof(T));
      std::fill_n(b, kWidth, scalar);
      const std::uint64_t bits = core.compare_mask_undefined << (64 - 8 * sizeof(T));
      for (unsigned lane = 0; bits != 0 && lane < kWidth; ++lane) other.set(lane, ~0ULL);
    } else {
      gather(core, fields.right, repeat, lanes, b, &other);
    }
    for (unsigned lane = 0; lane < lanes.count; ++lane) {
      if (!lanes[lane]) continue;
      const MaskBit bit = mode == 0 ? register_bit(core, lane) : mask_bit(core, masks, repeat * kWidth + lane);
      if (!bit.set) {
        a[lane] = b[lane];
        if (undefined.any() || other.any()) undefined.set(lane, other[lane]);
      }
      if (!bit.defined) undefined.set(lane, ~0ULL);
    }
    scatter(core, fields.target, repeat, lanes, a, undefined);
  }
}

const char* const kWhole = "compares whole repeats, whatever the mask says (AscendC Compare); results are contiguous";
const char* const kModes = "modes as the library's vsel uses them";

const Instruction rows[] = {
    FLAGC_INSTRUCTION("VCMPV.EQ.f16", kV, kWhole, compare_vectors<Compare::kEq, Half>),
    FLAGC_INSTRUCTION("VCMPV.NE.f16", kV, kWhole, compare_vectors<Compare::kNe, Half>),
    FLAGC_INSTRUCTION("VCMPV.LT.f16", kV, kWhole, compare_vectors<Compare::kLt, Half>),
    FLAGC_INSTRUCTION("VCMPV.LE.f16", kV, kWhole, compare_vectors<Compare::kLe, Half>),
    FLAGC_INSTRUCTION("VCMPV.GT.f16", kV, kWhole, compare_vectors<Compare::kGt, Half>),
    FLAGC_INSTRUCTION("VCMPV.GE.f16", kV, kWhole, compare_vectors<Compare::kGe, Half>),
    FLAGC_INSTRUCTION("VCMPV.EQ.f32", kV, kWhole, compare_vectors<Compare::kEq, float>),
    FLAGC_INSTRUCTION("VCMPV.NE.f32", kV, kWhole, compare_vectors<Compare::kNe, float>),
    FLAGC_INSTRUCTION("VCMPV.LT.f32", kV, kWhole, compare_vectors<Compare::kLt, float>),
    FLAGC_INSTRUCTION("VCMPV.LE.f32", kV, kWhole, compare_vectors<Compare::kLe, float>),
    FLAGC_INSTRUCTION("VCMPV.GT.f32", kV, kWhole, compare_vectors<Compare::kGt, float>),
    FLAGC_INSTRUCTION("VCMPV.GE.f32", kV, kWhole, compare_vectors<Compare::kGe, float>),
    FLAGC_INSTRUCTION("VCMPV.EQ.s32", kV, kWhole, compare_vectors<Compare::kEq, std::int32_t>),
    FLAGC_INSTRUCTION("VCMPVS.EQ.f16", kV, kWhole, compare_scalar<Compare::kEq, Half>),
    FLAGC_INSTRUCTION("VCMPVS.NE.f16", kV, kWhole, compare_scalar<Compare::kNe, Half>),
    FLAGC_INSTRUCTION("VCMPVS.LT.f16", kV, kWhole, compare_scalar<Compare::kLt, Half>),
    FLAGC_INSTRUCTION("VCMPVS.LE.f16", kV, kWhole, compare_scalar<Compare::kLe, Half>),
    FLAGC_INSTRUCTION("VCMPVS.GT.f16", kV, kWhole, compare_scalar<Compare::kGt, Half>),
    FLAGC_INSTRUCTION("VCMPVS.GE.f16", kV, kWhole, compare_scalar<Compare::kGe, Half>),
    FLAGC_INSTRUCTION("VCMPVS.EQ.f32", kV, kWhole, compare_scalar<Compare::kEq, float>),
    FLAGC_INSTRUCTION("VCMPVS.NE.f32", kV, kWhole, compare_scalar<Compare::kNe, float>),
    FLAGC_INSTRUCTION("VCMPVS.LT.f32", kV, kWhole, compare_scalar<Compare::kLt, float>),
    FLAGC_INSTRUCTION("VCMPVS.LE.f32", kV, kWhole, compare_scalar<Compare::kLe, float>),
    FLAGC_INSTRUCTION("VCMPVS.GT.f32", kV, kWhole, compare_scalar<Compare::kGt, float>),
    FLAGC_INSTRUCTION("VCMPVS.GE.f32", kV, kWhole, compare_scalar<Compare::kGe, float>),
    FLAGC_INSTRUCTION("VCMPVS.EQ.s32", kV, kWhole, compare_integer<Compare::kEq>),
    FLAGC_INSTRUCTION("VSEL.f16.1", kV, kModes, select<Half>),
    FLAGC_INSTRUCTION("VSEL.f32.1", kV, kModes, select<float>),
};

}  // namespace

void register_vector_compare(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
