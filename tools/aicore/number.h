// Number formats and bit fields.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace flagc::aicore {

// Bits [low, high) of a configuration word.
constexpr std::uint64_t field(std::uint64_t word, int low, int high) {
  return (word >> low) & ((1ULL << (high - low)) - 1);
}

template <class To, class From>
inline To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

enum class Rounding { kNearestEven, kAway, kDown, kUp, kToZero, kOdd };

// fp16 and bf16 as bits; arithmetic happens in fp32.
struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};

inline float to_float(Half value) {
  const std::uint32_t magnitude = value.bits & 0x7FFFu;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t normal =
      bit_cast<std::uint32_t>(bit_cast<float>(magnitude << 13) * 0x1p112f);
  const std::uint32_t special = (magnitude << 13) | 0x7F800000u;
  return bit_cast<float>(sign | (magnitude >= 0x7C00u ? special : normal));
}
inline float to_float(Bfloat value) {
  return bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
inline float to_float(float value) { return value; }

// `significand` >> `shift`, rounded; `negative` matters for directed rounding.
inline std::uint64_t round_shift(std::uint64_t significand, int shift, bool negative,
                                 Rounding rounding) {
  if (shift <= 0) return significand << -shift;
  if (shift > 62) shift = 62;
  const std::uint64_t kept = significand >> shift;
  const std::uint64_t rest = significand & ((1ULL << shift) - 1);
  const std::uint64_t half = 1ULL << (shift - 1);
  if (rest == 0) return kept;
  switch (rounding) {
    case Rounding::kNearestEven: return kept + (rest > half || (rest == half && (kept & 1)));
    case Rounding::kAway: return kept + (rest >= half);
    case Rounding::kDown: return kept + negative;
    case Rounding::kUp: return kept + !negative;
    case Rounding::kToZero: return kept;
    case Rounding::kOdd: return kept | 1;
  }
  return kept;
}

// fp32 to a 16-bit format with `mantissa` bits of fraction and exponent bias `bias`.
inline std::uint16_t narrow(float value, int mantissa, int bias, Rounding rounding) {
  const std::uint32_t bits = bit_cast<std::uint32_t>(value);
  const bool negative = bits >> 31;
  const std::uint16_t sign = static_cast<std::uint16_t>(negative ? 0x8000 : 0);
  const int exponent = static_cast<int>((bits >> 23) & 0xFF);
  const std::uint32_t fraction = bits & 0x7FFFFF;
  const int largest = 2 * bias + 1;  // the exponent of infinity
  const std::uint16_t infinity = static_cast<std::uint16_t>(largest << mantissa);
  if (exponent == 255) {
    const std::uint16_t quiet = static_cast<std::uint16_t>(1 << (mantissa - 1));
    return static_cast<std::uint16_t>(
        sign | infinity | (fraction ? quiet | (fraction >> (23 - mantissa)) : 0));
  }
  if (exponent == 0 && fraction == 0) return sign;
  const int target = (exponent == 0 ? 1 : exponent) - 127 + bias;
  const std::uint64_t significand = exponent == 0 ? fraction : fraction | 0x800000;
  int shift = 23 - mantissa;
  if (target <= 0) shift += 1 - target;
  std::uint64_t rounded = round_shift(significand, shift, negative, rounding);
  if (target > 0) rounded += static_cast<std::uint64_t>(target - 1) << mantissa;
  if (rounded >= infinity) {
    const bool finite = rounding == Rounding::kToZero || rounding == Rounding::kOdd ||
                        (rounding == Rounding::kDown && !negative) ||
                        (rounding == Rounding::kUp && negative);
    rounded = finite ? infinity - 1u : infinity;
  }
  return static_cast<std::uint16_t>(sign | rounded);
}

inline Half to_half(float value, Rounding rounding = Rounding::kNearestEven) {
  return Half{narrow(value, 10, 15, rounding)};
}
inline Bfloat to_bfloat(float value, Rounding rounding = Rounding::kNearestEven) {
  return Bfloat{narrow(value, 7, 127, rounding)};
}

// To an integer-valued double.
inline double round_to_integer(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestEven: return std::nearbyint(value);
    case Rounding::kAway: return std::round(value);
    case Rounding::kDown: return std::floor(value);
    case Rounding::kUp: return std::ceil(value);
    default: return std::trunc(value);
  }
}

template <class T>
inline T from_float(float value) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_half(value);
  } else if constexpr (std::is_same_v<T, Bfloat>) {
    return to_bfloat(value);
  } else {
    return value;
  }
}

}  // namespace flagc::aicore
