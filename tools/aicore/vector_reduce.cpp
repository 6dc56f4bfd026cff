// Reductions of one repeat: to one element (VC*), of each block (VCG*), of pairs (VCPADD).
//
// Configuration: repeat stride of the target 0:16 (in results), block stride of the source 16:32, repeat
// stride of the source 32:48, repeats 56:64.
#include "vector_access.h"

namespace flagc::aicore {

namespace {

struct Tag {};

struct ReduceFields {
  ReduceFields(std::uint64_t word, std::uint64_t src)
      : target_stride(field(word, 0, 16)),
        source{src, field(word, 16, 32), field(word, 32, 48)},
        repeat(field(word, 56, 64)) {
    only(word, mask_of(0, 48) | mask_of(56, 64), "configuration");
  }
  std::uint64_t target_stride;
  Operand source;
  std::uint64_t repeat;
};

template <class T>
std::uint64_t bits_of(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return bit_cast<std::uint32_t>(value);
  } else {
    return value.bits;
  }
}

// Pairs of neighbours first, then pairs of sums: the order in which the hardware adds.
inline float tree_sum(float* values, unsigned count) {
  for (unsigned width = 1; width < count; width *= 2) {
    for (unsigned at = 0; at + width < count; at += 2 * width) values[at] += values[at + width];
  }
  return values[0];
}

// Whether a result of lanes [first, end) is undefined: one of those that take part is.
bool depends(const Lanes& lanes, const UndefinedLanes& undefined, unsigned first, unsigned end) {
  if (!undefined.any()) return false;
  for (unsigned lane = first; lane < end; ++lane) {
    if (lanes[lane] && undefined[lane] != 0) return true;
  }
  return false;
}

// Mode 0: one sum for each repeat. Mode 1: one sum of all repeats, to the register ACC_VAL alone.
template <class T>
void sum(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration,
         std::uint64_t mode) {
  constexpr unsigned kWidth = kRepeatBytes / sizeof(T);
  if (mode > 1) refuse_field("mode", mode);
  const ReduceFields fields(configuration, source);
  const Repeats repeats(core, kWidth, fields.repeat);
  UndefinedLanes undefined;
  float total = 0;
  bool total_undefined = false;
  for (std::uint64_t repeat = 0; repeat < repeats.count(); ++repeat) {
    const Lanes lanes = repeats.lanes(repeat);
    T in[kWidth] = {};
    float values[kWidth] = {};
    gather(core, fields.source, repeat, lanes, in, &undefined);
    for (unsigned lane = 0; lane < lanes.count; ++lane) values[lane] = lanes[lane] ? to_float(in[lane]) : 0;
    const T result = from_float<T>(tree_sum(values, kWidth));
    total += to_float(result);
    const bool is_undefined = depends(lanes, undefined, 0, kWidth);
    total_undefined |= is_undefined;
    if (mode == 1) continue;
    const std::uint64_t at = target + repeat * fields.target_stride * sizeof(T);
    std::memcpy(core.ub.write(at, sizeof(T), sizeof(T)), &result, sizeof(T));
    if (is_undefined) core.ub.mark(at, sizeof(T));
  }
  if (mode == 0) return;
  core.accumulator = bits_of(from_float<T>(total));
  core.accumulator_undefined = total_undefined;
}

template <class T, bool kMax>
bool better(float candidate, float best) {
  return std::isnan(candidate) ? !std::isnan(best) : kMax ? candidate > best : candidate < best;
}

// Order of results: 0 value and index, 1 index and value, 2 value alone, 3 index alone.
template <class T, bool kMax>
void extreme(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration,
             std::uint64_t order) {
  constexpr unsigned kWidth = kRepeatBytes / sizeof(T);
  if (order > 3) refuse_field("order", order);
  const ReduceFields fields(configuration, source);
  const Repeats repeats(core, kWidth, fields.repeat);
  UndefinedLanes undefined;
  const std::uint64_t results = order < 2 ? 2 : 1;
  T overall{};
  std::uint64_t overall_index = 0;
  bool found = false, overall_undefined = false;
  for (std::uint64_t repeat = 0; repeat < repeats.count(); ++repeat) {
    const Lanes lanes = repeats.lanes(repeat);
    T in[kWidth] = {};
    gather(core, fields.source, repeat, lanes, in, &undefined);
    unsigned best = kWidth;
    for (unsigned lane = 0; lane < lanes.count; ++lane) {
      if (lanes[lane] && (best == kWidth || better<T, kMax>(to_float(in[lane]), to_float(in[best])))) best = lane;
    }
    if (best == kWidth) continue;
    if (!found || better<T, kMax>(to_float(in[best]), to_float(overall))) {
      overall = in[best];
      overall_index = repeat * kWidth + best;
      found = true;
    }
    std::uint64_t words[2] = {bits_of(in[best]), best};
    if (order & 1) std::swap(words[0], words[1]);
    const std::uint64_t at = target + repeat * fields.target_stride * results * sizeof(T);
    std::uint8_t* out = core.ub.write(at, results * sizeof(T), sizeof(T));
    for (std::uint64_t part = 0; part < results; ++part) std::memcpy(out + part * sizeof(T), &words[part], sizeof(T));
    if (!depends(lanes, undefined, 0, kWidth)) continue;
    core.ub.mark(at, results * sizeof(T));
    overall_undefined = true;
  }
  core.max_min_undefined = overall_undefined;
  core.max_min = bits_of(overall) | overall_index << 32;
}

enum class Group { kAdd, kMax, kMin };

// One result for each block of 32 bytes, eight a repeat.
template <class T, Group kGroup>
void block_reduce(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration) {
  constexpr unsigned kWidth = kRepeatBytes / sizeof(T), kPerBlock = kVectorBlock / sizeof(T);
  const ReduceFields fields(configuration, source);
  const Repeats repeats(core, kWidth, fields.repeat);
  UndefinedLanes undefined;
  for (std::uint64_t repeat = 0; repeat < repeats.count(); ++repeat) {
    const Lanes lanes = repeats.lanes(repeat);
    T in[kWidth] = {};
    gather(core, fields.source, repeat, lanes, in, &undefined);
    for (unsigned block = 0; block < 8; ++block) {
      float values[kPerBlock] = {};
      bool any = false;
      float best = 0;
      for (unsigned at = 0; at < kPerBlock; ++at) {
        if (!lanes[block * kPerBlock + at]) continue;
        values[at] = to_float(in[block * kPerBlock + at]);
        if (!any || better<T, kGroup == Group::kMax>(values[at], best)) best = values[at];
        any = true;
      }
      if (!any) continue;
      const T result = from_float<T>(kGroup == Group::kAdd ? tree_sum(values, kPerBlock) : best);
      const std::uint64_t at = target + (repeat * fields.target_stride * 8 + block) * sizeof(T);
      std::memcpy(core.ub.write(at, sizeof(T), sizeof(T)), &result, sizeof(T));
      if (depends(lanes, undefined, block * kPerBlock, (block + 1) * kPerBlock)) core.ub.mark(at, sizeof(T));
    }
  }
}

// Sums of neighbours: half a repeat of results.
template <class T>
void pair_sum(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration) {
  constexpr unsigned kWidth = kRepeatBytes / sizeof(T);
  const ReduceFields fields(configuration, source);
  const Repeats repeats(core, kWidth, fields.repeat);
  UndefinedLanes undefined;
  for (std::uint64_t repeat = 0; repeat < repeats.count(); ++repeat) {
    const Lanes lanes = repeats.lanes(repeat);
    T in[kWidth] = {};
    gather(core, fields.source, repeat, lanes, in, &undefined);
    for (unsigned pair = 0; pair < kWidth / 2; ++pair) {
      if (!lanes[2 * pair] && !lanes[2 * pair + 1]) continue;
      const float left = lanes[2 * pair] ? to_float(in[2 * pair]) : 0;
      const float right = lanes[2 * pair + 1] ? to_float(in[2 * pair + 1]) : 0;
      const T result = from_float<T>(left + right);
      const std::uint64_t at = target + repeat * fields.target_stride * (kRepeatBytes / 2) + pair * sizeof(T);
      std::memcpy(core.ub.write(at, sizeof(T), sizeof(T)), &result, sizeof(T));
      if (depends(lanes, undefined, 2 * pair, 2 * pair + 2)) core.ub.mark(at, sizeof(T));
    }
  }
}

const char* const kSum =
    "fp32 tree of pairs, rounded once (order: AscendC WholeReduceSum; precision uncertain); modes: CCE "
    "intrinsics, vcadd; the order in which mode 1 adds repeats is not public";
const char* const kNan = "a NaN is the result (uncertain); the first of equal values is taken";
const char* const kBlocks = "target stride in units of 8 results (AscendC BlockReduce)";

const Instruction rows[] = {
    FLAGC_INSTRUCTION("VCADD.f16.order", kV, kSum, sum<Half>),
    FLAGC_INSTRUCTION("VCADD.f32.order", kV, kSum, sum<float>),
    FLAGC_INSTRUCTION("VCMAX.f16.order.v220", kV, kNan, extreme<Half, true>),
    FLAGC_INSTRUCTION("VCMAX.f32.order.v220", kV, kNan, extreme<float, true>),
    FLAGC_INSTRUCTION("VCMIN.f16.order.v220", kV, kNan, extreme<Half, false>),
    FLAGC_INSTRUCTION("VCMIN.f32.order.v220", kV, kNan, extreme<float, false>),
    FLAGC_INSTRUCTION("VCGADD.f16", kV, kBlocks, block_reduce<Half, Group::kAdd>),
    FLAGC_INSTRUCTION("VCGADD.f32", kV, kBlocks, block_reduce<float, Group::kAdd>),
    FLAGC_INSTRUCTION("VCGMAX.f16", kV, kBlocks, block_reduce<Half, Group::kMax>),
    FLAGC_INSTRUCTION("VCGMAX.f32", kV, kBlocks, block_reduce<float, Group::kMax>),
    FLAGC_INSTRUCTION("VCGMIN.f16", kV, kBlocks, block_reduce<Half, Group::kMin>),
    FLAGC_INSTRUCTION("VCGMIN.f32", kV, kBlocks, block_reduce<float, Group::kMin>),
    FLAGC_INSTRUCTION("VCPADD.f16", kV, "target stride in units of 128 bytes (AscendC PairReduceSum)", pair_sum<Half>),
    FLAGC_INSTRUCTION("VCPADD.f32", kV, "target stride in units of 128 bytes (AscendC PairReduceSum)", pair_sum<float>),
};

}  // namespace

void register_vector_reduce(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
