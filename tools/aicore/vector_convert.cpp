// VCONV: conversions between element types. The letter before `.v220` is the rounding mode:
// r nearest even, a nearest with ties away from zero, f down, c up, z to zero, o to odd.
#include <limits>
#include <type_traits>

#include "vector_access.h"

namespace flagc::aicore {

namespace {

struct Tag {};

// Of CTRL; the library sets it for conversions that must not saturate.
constexpr int kCutBit = 59;

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>) {
    return to_float(value);
  } else {
    return static_cast<double>(value);
  }
}

// From an integer that fp32 cannot hold, rounded once.
inline float integer_to_float(std::int64_t value, Rounding rounding) {
  const bool negative = value < 0;
  std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  int shift = 0;
  while ((magnitude >> shift) >= (1ULL << 24)) ++shift;
  const std::uint64_t rounded = round_shift(magnitude, shift, negative, rounding);
  const float result = std::ldexp(static_cast<float>(rounded), shift);
  return negative ? -result : result;
}

// The low bits of an integer-valued double, as two's complement.
inline std::int64_t low_bits(double value) {
  const double wrapped = std::fmod(value, 0x1p64);
  const auto magnitude = static_cast<std::uint64_t>(std::fabs(wrapped));
  return static_cast<std::int64_t>(wrapped < 0 ? 0 - magnitude : magnitude);
}

// Integers that are too large saturate, or with `cut` lose their high bits.
template <class In, class Out, Rounding kRounding>
Out convert(In value, [[maybe_unused]] bool cut) {
  constexpr bool kFromInteger = std::is_integral_v<In>;
  if constexpr (std::is_same_v<Out, Half> || std::is_same_v<Out, Bfloat> || std::is_same_v<Out, float>) {
    float wide = 0;
    if constexpr (kFromInteger) {
      wide = integer_to_float(value, kRounding);
    } else {
      wide = to_float(value);
    }
    if constexpr (std::is_same_v<Out, Half>) return to_half(wide, kRounding);
    if constexpr (std::is_same_v<Out, Bfloat>) return to_bfloat(wide, kRounding);
    if constexpr (std::is_same_v<Out, float>) {
      // fp32 to fp32 rounds to an integer.
      if constexpr (std::is_same_v<In, float>) return static_cast<float>(round_to_integer(wide, kRounding));
      return wide;
    }
  } else if constexpr (kFromInteger) {
    const std::int64_t wide = value;
    if (cut) return static_cast<Out>(wide);
    return static_cast<Out>(std::clamp<std::int64_t>(wide, std::numeric_limits<Out>::min(), std::numeric_limits<Out>::max()));
  } else {
    const double rounded = round_to_integer(to_double(value), kRounding);
    if (std::isnan(rounded)) return 0;
    if (cut && !std::isinf(rounded)) return static_cast<Out>(low_bits(rounded));
    constexpr double kLow = static_cast<double>(std::numeric_limits<Out>::min());
    constexpr double kHigh = static_cast<double>(std::numeric_limits<Out>::max());
    if (rounded <= kLow) return std::numeric_limits<Out>::min();
    if (rounded >= kHigh) return std::numeric_limits<Out>::max();
    return static_cast<Out>(rounded);
  }
}

template <class In, class Out, Rounding kRounding>
void vconv(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration) {
  constexpr unsigned kWidth = kRepeatBytes / (sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out));
  const UnaryFields fields(configuration, target, source);
  const Repeats repeats(core, kWidth, fields.repeat);
  const bool cut = field(core.control, kCutBit, kCutBit + 1);
  In in[kWidth] = {};
  Out out[kWidth] = {};
  // The library's selection of i64 converts its mask, of one element as well, 16 elements at a time.
  UndefinedLanes undefined(std::is_same_v<In, Half> && std::is_same_v<Out, std::int32_t>);
  for (std::uint64_t repeat = 0; repeat < repeats.count(); ++repeat) {
    const Lanes lanes = repeats.lanes(repeat);
    gather(core, fields.source, repeat, lanes, in, &undefined);
    undefined.spread();
    for (unsigned lane = 0; lane < lanes.count; ++lane) {
      out[lane] = convert<In, Out, kRounding>(in[lane], cut);
    }
    scatter(core, fields.target, repeat, lanes, out, undefined);
  }
}

const char* const kSaturates = "too large saturates, or with CTRL bit 59 is cut off (AscendC); NaN gives 0 (uncertain)";

// The five rounding modes of one pair of types. `tail` is what follows the mode's letter.
#define FLAGC_ROUNDINGS(pair, tail, note, In, Out)                                                          \
  FLAGC_INSTRUCTION("VCONV." pair "r" tail ".v220", kV, note, vconv<In, Out, Rounding::kNearestEven>),      \
      FLAGC_INSTRUCTION("VCONV." pair "a" tail ".v220", kV, note, vconv<In, Out, Rounding::kAway>),         \
      FLAGC_INSTRUCTION("VCONV." pair "f" tail ".v220", kV, note, vconv<In, Out, Rounding::kDown>),         \
      FLAGC_INSTRUCTION("VCONV." pair "c" tail ".v220", kV, note, vconv<In, Out, Rounding::kUp>),           \
      FLAGC_INSTRUCTION("VCONV." pair "z" tail ".v220", kV, note, vconv<In, Out, Rounding::kToZero>)
#define FLAGC_EXACT(pair, note, In, Out) \
  FLAGC_INSTRUCTION("VCONV." pair ".v220", kV, note, vconv<In, Out, Rounding::kNearestEven>)

using S8 = std::int8_t;
using U8 = std::uint8_t;
using S16 = std::int16_t;
using S32 = std::int32_t;
using S64 = std::int64_t;

const Instruction rows[] = {
    FLAGC_EXACT("bf162f32", "", Bfloat, float),
    FLAGC_EXACT("f162f32", "", Half, float),
    FLAGC_EXACT("s162f32", "", S16, float),
    FLAGC_EXACT("s82f16", "", S8, Half),
    FLAGC_EXACT("u82f16", "", U8, Half),
    FLAGC_EXACT("s322s16", kSaturates, S32, S16),
    FLAGC_EXACT("s322s64.1", "", S32, S64),
    FLAGC_EXACT("s642s32.1", kSaturates, S64, S32),
    FLAGC_ROUNDINGS("bf162s32", "", kSaturates, Bfloat, S32),
    FLAGC_ROUNDINGS("f162s16", "", kSaturates, Half, S16),
    FLAGC_ROUNDINGS("f162s32", "", kSaturates, Half, S32),
    FLAGC_ROUNDINGS("f162s8", "", kSaturates, Half, S8),
    FLAGC_ROUNDINGS("f162u8", "", kSaturates, Half, U8),
    FLAGC_ROUNDINGS("f322bf16", "", "", float, Bfloat),
    FLAGC_ROUNDINGS("f322f16", "", "too large gives infinity", float, Half),
    FLAGC_INSTRUCTION("VCONV.f322f16o.v220", kV, "", vconv<float, Half, Rounding::kOdd>),
    FLAGC_ROUNDINGS("f322f32", "", "rounds to an integer", float, float),
    FLAGC_ROUNDINGS("f322s16", "", kSaturates, float, S16),
    FLAGC_ROUNDINGS("f322s32", "", kSaturates, float, S32),
    FLAGC_ROUNDINGS("f322s64", "", kSaturates, float, S64),
    FLAGC_ROUNDINGS("s162f16", "", "", S16, Half),
    FLAGC_ROUNDINGS("s322f32", "", "", S32, float),
    FLAGC_ROUNDINGS("s642f32", ".1", "", S64, float),
};

}  // namespace

void register_vector_convert(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
