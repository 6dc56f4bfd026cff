// How vector instructions walk through UB: repeats, blocks, strides, masks and counts.
//
// One repeat handles 256 bytes of the widest operand as 8 blocks of 32 bytes. Strides count blocks.
// In mask mode a repeat's elements are those whose bit in MOVEMASK's 128 bits is set. In count mode
// (CTRL bit 56) the low mask word is the number of elements, and repeats follow from it.
#pragma once

#include <algorithm>
#include <array>

#include "fields.h"
#include "instruction.h"
#include "number.h"

namespace flagc::aicore {

constexpr std::uint64_t kVectorBlock = 32;
constexpr unsigned kRepeatBytes = 256;
constexpr int kCountModeBit = 56;

inline bool count_mode(const Core& core) { return field(core.control, kCountModeBit, kCountModeBit + 1); }

// The elements of one repeat that take part: [0, count), and of those the ones in `bits` unless all.
struct Lanes {
  unsigned count = 0;
  bool all = true;
  std::array<std::uint64_t, 2> bits{};
  bool operator[](unsigned lane) const {
    return lane < count && (all || ((bits[lane / 64] >> (lane % 64)) & 1));
  }
};

// How many repeats of `width` elements, and which elements of each.
class Repeats {
 public:
  Repeats(const Core& core, unsigned width, std::uint64_t repeat) : width_(width), count_(repeat) {
    by_count_ = count_mode(core);
    if (by_count_) {
      total_ = core.mask[0];
      count_ = (total_ + width - 1) / width;
      return;
    }
    lanes_.bits = core.mask;
    const std::uint64_t low = width >= 64 ? ~0ULL : (1ULL << width) - 1;
    const std::uint64_t high = width > 64 ? ~0ULL : 0;
    lanes_.all = (core.mask[0] & low) == low && (core.mask[1] & high) == high;
    lanes_.count = width;
    if (lanes_.all) return;
    // Elements behind the last set bit do not matter.
    lanes_.count = 0;
    for (unsigned lane = 0; lane < std::min(width, 128u); ++lane) {
      if ((lanes_.bits[lane / 64] >> (lane % 64)) & 1) lanes_.count = lane + 1;
    }
  }
  std::uint64_t count() const { return count_; }
  Lanes lanes(std::uint64_t repeat) const {
    if (!by_count_) return lanes_;
    Lanes result;
    result.count = static_cast<unsigned>(std::min<std::uint64_t>(width_, total_ - repeat * width_));
    return result;
  }

 private:
  unsigned width_;
  std::uint64_t count_;
  std::uint64_t total_ = 0;
  bool by_count_ = false;
  Lanes lanes_;
};

// An operand in UB: element i of repeat r is in block i / (32 / size), strides in blocks.
struct Operand {
  std::uint64_t address;
  std::uint64_t block_stride;
  std::uint64_t repeat_stride;
};

// Configuration words of the two common shapes.
struct BinaryFields {
  explicit BinaryFields(std::uint64_t word, std::uint64_t dst, std::uint64_t src0, std::uint64_t src1,
                        std::uint64_t more = 0)
      : target{dst, field(word, 0, 8), field(word, 24, 32)},
        left{src0, field(word, 8, 16), field(word, 32, 40)},
        right{src1, field(word, 16, 24), field(word, 40, 48)},
        repeat(field(word, 56, 64)) {
    only(word, mask_of(0, 48) | mask_of(56, 64) | more, "configuration");
  }
  Operand target, left, right;
  std::uint64_t repeat;
};
struct UnaryFields {
  explicit UnaryFields(std::uint64_t word, std::uint64_t dst, std::uint64_t src)
      : target{dst, field(word, 0, 16), field(word, 32, 40) | field(word, 52, 56) << 8},
        source{src, field(word, 16, 32), field(word, 40, 52)},
        repeat(field(word, 56, 64)) {}
  Operand target, source;
  std::uint64_t repeat;
};

// The elements of one block that take part, as a range that covers them.
inline bool block_range(const Lanes& lanes, unsigned first, unsigned per_block, unsigned& begin,
                        unsigned& end) {
  begin = first;
  end = std::min(first + per_block, lanes.count);
  if (lanes.all) return begin < end;
  while (begin < end && !lanes[begin]) ++begin;
  while (end > begin && !lanes[end - 1]) --end;
  return begin < end;
}

// The undefined bits of a repeat's elements.
class UndefinedLanes {
 public:
  UndefinedLanes() = default;
  // With `unwritten`, an element that nobody wrote is undefined like others, and no fault: for
  // instructions that the library gives more elements than it has written and than it uses.
  explicit UndefinedLanes(bool unwritten) : unwritten_(unwritten) {}
  bool takes_unwritten() const { return unwritten_; }
  bool any() const { return any_; }
  std::uint64_t operator[](unsigned lane) const { return any_ ? bits_[lane] : 0; }
  void set(unsigned lane, std::uint64_t bits) {
    if (!any_) {
      if (bits == 0) return;
      any_ = true;
      bits_.fill(0);
    }
    bits_[lane] = bits;
  }
  void clear() { any_ = false; }
  // Elements with an undefined bit become undefined as a whole: the result of anything but logic.
  void spread() {
    if (!any_) return;
    for (std::uint64_t& bits : bits_) bits = bits == 0 ? 0 : ~0ULL;
  }
  // What depends on two operands.
  void join(const UndefinedLanes& other) {
    if (!other.any_) return;
    for (unsigned lane = 0; lane < kRepeatBytes; ++lane) set(lane, (*this)[lane] | other.bits_[lane]);
  }

 private:
  bool any_ = false;
  bool unwritten_ = false;
  std::array<std::uint64_t, kRepeatBytes> bits_;  // valid when `any_`
};

// `count` elements at an address, as lanes from `first` on; without `undefined` all must be defined.
template <class T>
const std::uint8_t* read_lanes(Core& core, std::uint64_t address, unsigned first, unsigned count,
                               std::size_t alignment, UndefinedLanes* undefined) {
  if (undefined == nullptr) return core.ub.read(address, count * sizeof(T), alignment);
  const bool any = undefined->takes_unwritten();
  if (any) core.ub.require_aligned(address, alignment != 0 ? alignment : kVectorBlock);
  const View view = any ? core.ub.peek(address, count * sizeof(T))
                        : core.ub.view(address, count * sizeof(T), sizeof(T), alignment);
  if (view.undefined == nullptr) return view.data;
  for (unsigned at = 0; at < count; ++at) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, view.undefined + at * sizeof(T), sizeof(T));
    undefined->set(first + at, bits);
  }
  return view.data;
}

// Copies a repeat's elements out of UB; lanes that take no part are left alone.
template <class T>
void gather(Core& core, const Operand& operand, std::uint64_t repeat, const Lanes& lanes, T* out,
            UndefinedLanes* undefined = nullptr) {
  if (undefined != nullptr) undefined->clear();
  constexpr unsigned kPerBlock = kVectorBlock / sizeof(T);
  const std::uint64_t start = operand.address + repeat * operand.repeat_stride * kVectorBlock;
  if (lanes.all && operand.block_stride == 1) {
    std::memcpy(out, read_lanes<T>(core, start, 0, lanes.count, 0, undefined), lanes.count * sizeof(T));
    return;
  }
  for (unsigned first = 0; first < lanes.count; first += kPerBlock) {
    unsigned begin = 0, end = 0;
    if (!block_range(lanes, first, kPerBlock, begin, end)) continue;
    const std::uint64_t block = start + first / kPerBlock * operand.block_stride * kVectorBlock;
    core.ub.require_aligned(block, kVectorBlock);
    const std::uint8_t* in = read_lanes<T>(core, block + (begin - first) * sizeof(T), begin, end - begin,
                                           sizeof(T), undefined);
    std::memcpy(out + begin, in, (end - begin) * sizeof(T));
  }
}

template <class T>
void scatter(Core& core, const Operand& operand, std::uint64_t repeat, const Lanes& lanes, const T* in) {
  constexpr unsigned kPerBlock = kVectorBlock / sizeof(T);
  const std::uint64_t start = operand.address + repeat * operand.repeat_stride * kVectorBlock;
  if (lanes.all && operand.block_stride == 1) {
    std::memcpy(core.ub.write(start, lanes.count * sizeof(T)), in, lanes.count * sizeof(T));
    return;
  }
  for (unsigned first = 0; first < lanes.count; first += kPerBlock) {
    unsigned begin = 0, end = 0;
    if (!block_range(lanes, first, kPerBlock, begin, end)) continue;
    const std::uint64_t block = start + first / kPerBlock * operand.block_stride * kVectorBlock;
    core.ub.require_aligned(block, kVectorBlock);
    if (lanes.all) {
      std::memcpy(core.ub.write(block + (begin - first) * sizeof(T), (end - begin) * sizeof(T), sizeof(T)),
                  in + begin, (end - begin) * sizeof(T));
      continue;
    }
    for (unsigned lane = begin; lane < end; ++lane) {
      if (!lanes[lane]) continue;
      std::memcpy(core.ub.write(block + (lane - first) * sizeof(T), sizeof(T), sizeof(T)), in + lane, sizeof(T));
    }
  }
}

// One element, just written, some of whose bits are undefined.
template <class T>
void mark_element(Core& core, std::uint64_t address, std::uint64_t bits) {
  std::uint8_t bytes[sizeof bits];
  std::memcpy(bytes, &bits, sizeof bits);
  core.ub.mark(address, sizeof(T), bytes);
}

// The same for lanes with undefined bits.
template <class T>
void scatter(Core& core, const Operand& operand, std::uint64_t repeat, const Lanes& lanes, const T* in,
             const UndefinedLanes& undefined) {
  scatter(core, operand, repeat, lanes, in);
  if (!undefined.any()) return;
  constexpr unsigned kPerBlock = kVectorBlock / sizeof(T);
  const std::uint64_t start = operand.address + repeat * operand.repeat_stride * kVectorBlock;
  for (unsigned lane = 0; lane < lanes.count; ++lane) {
    if (undefined[lane] == 0 || !lanes[lane]) continue;
    const std::uint64_t block = start + lane / kPerBlock * operand.block_stride * kVectorBlock;
    mark_element<T>(core, block + lane % kPerBlock * sizeof(T), undefined[lane]);
  }
}

}  // namespace flagc::aicore
