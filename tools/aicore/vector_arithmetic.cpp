// Element by element: two vectors, a vector and a scalar, one vector, bits, shifts.
#include <type_traits>
#include <utility>

#include "vector_access.h"

namespace flagc::aicore {

namespace {

struct Tag {};

// Floats are computed in fp32 and rounded once to the element type.
struct Add {
  template <class T> static T apply(T a, T b) { return static_cast<T>(a + b); }
};
struct Sub {
  template <class T> static T apply(T a, T b) { return static_cast<T>(a - b); }
};
struct Mul {
  template <class T> static T apply(T a, T b) { return static_cast<T>(a * b); }
};
struct Div {
  template <class T> static T apply(T a, T b) { return static_cast<T>(a / b); }
};
// A NaN in either operand is the result.
struct Max {
  template <class T> static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, float>) if (std::isnan(a)) return a;
    return a >= b ? a : b;
  }
};
struct Min {
  template <class T> static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, float>) if (std::isnan(a)) return a;
    return a <= b ? a : b;
  }
};
struct And {
  template <class T> static T apply(T a, T b) { return static_cast<T>(a & b); }
};
struct Or {
  template <class T> static T apply(T a, T b) { return static_cast<T>(a | b); }
};

struct Abs {
  static float apply(float a) { return std::fabs(a); }
};
struct Exp {
  static float apply(float a) { return std::exp(a); }
};
struct Ln {
  static float apply(float a) { return std::log(a); }
};
struct Reciprocal {
  static float apply(float a) { return 1.0f / a; }
};
struct Sqrt {
  static float apply(float a) { return std::sqrt(a); }
};
struct ReciprocalSqrt {
  static float apply(float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }
};
struct Relu {
  static float apply(float a) { return std::isnan(a) || a > 0 ? a : 0.0f; }
  static std::int32_t apply(std::int32_t a) { return a > 0 ? a : 0; }
};
struct Not {
  static std::uint16_t apply(std::uint16_t a) { return static_cast<std::uint16_t>(~a); }
};

template <class T>
constexpr bool kIsFloat = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat> || std::is_same_v<T, float>;

// Integers wrap around; computed unsigned so that the wrap is defined.
template <class Op, class T>
inline T apply(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return from_float<T>(Op::apply(to_float(a), to_float(b)));
  } else if constexpr (std::is_same_v<Op, Max> || std::is_same_v<Op, Min>) {
    return Op::apply(a, b);
  } else {
    return static_cast<T>(Op::apply(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)));
  }
}
template <class Op, class T>
inline T apply(T a) {
  if constexpr (kIsFloat<T>) {
    return from_float<T>(Op::apply(to_float(a)));
  } else {
    return static_cast<T>(Op::apply(a));
  }
}

template <class Op>
constexpr bool kIsLogic = std::is_same_v<Op, And> || std::is_same_v<Op, Or> || std::is_same_v<Op, Not>;

// Which bits of `Op`'s result are undefined. A defined 0 decides AND, a defined 1 OR.
template <class Op, class T, std::size_t N>
void combine(UndefinedLanes& left, const UndefinedLanes& right, const T (&a)[N], const T (&b)[N]) {
  if constexpr (!kIsLogic<Op>) {
    left.join(right);
    left.spread();
  } else {
    constexpr std::uint64_t kFlip = std::is_same_v<Op, Or> ? ~0ULL : 0;
    for (unsigned lane = 0; lane < N; ++lane) {
      const std::uint64_t u = left[lane], v = right[lane], x = a[lane] ^ kFlip, y = b[lane] ^ kFlip;
      left.set(lane, (u & v) | (u & y) | (x & v));
    }
  }
}

template <class Op, class T>
void binary(Core& core, std::uint64_t target, std::uint64_t left, std::uint64_t right,
            std::uint64_t configuration) {
  constexpr unsigned kWidth = kRepeatBytes / sizeof(T);
  const BinaryFields fields(configuration, target, left, right);
  const Repeats repeats(core, kWidth, fields.repeat);
  T a[kWidth] = {}, b[kWidth] = {};
  UndefinedLanes undefined, right_undefined;
  for (std::uint64_t repeat = 0; repeat < repeats.count(); ++repeat) {
    const Lanes lanes = repeats.lanes(repeat);
    gather(core, fields.left, repeat, lanes, a, &undefined);
    gather(core, fields.right, repeat, lanes, b, &right_undefined);
    if (undefined.any() || right_undefined.any()) combine<Op>(undefined, right_undefined, a, b);
    for (unsigned lane = 0; lane < lanes.count; ++lane) a[lane] = apply<Op, T>(a[lane], b[lane]);
    scatter(core, fields.target, repeat, lanes, a, undefined);
  }
}

template <class T, bool kLogic = false, class F>
void unary_loop(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration,
                F function) {
  constexpr unsigned kWidth = kRepeatBytes / sizeof(T);
  const bool scalar_undefined = std::exchange(core.scalar_undefined, 0) != 0;
  const UnaryFields fields(configuration, target, source);
  const Repeats repeats(core, kWidth, fields.repeat);
  T a[kWidth] = {};
  UndefinedLanes undefined;
  for (std::uint64_t repeat = 0; repeat < repeats.count(); ++repeat) {
    const Lanes lanes = repeats.lanes(repeat);
    gather(core, fields.source, repeat, lanes, a, &undefined);
    if constexpr (!kLogic) undefined.spread();
    for (unsigned lane = 0; scalar_undefined && lane < lanes.count; ++lane) undefined.set(lane, ~0ULL);
    for (unsigned lane = 0; lane < lanes.count; ++lane) a[lane] = function(a[lane]);
    scatter(core, fields.target, repeat, lanes, a, undefined);
  }
}

template <class Op, class T>
void unary(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration) {
  unary_loop<T, kIsLogic<Op>>(core, target, source, configuration, [](T a) { return apply<Op, T>(a); });
}

// The scalar of 16-bit floats lies in the low half of the register.
template <class T>
T scalar_from(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return T{static_cast<std::uint16_t>(ScalarBits(value).bits)};
  }
}

template <class Op, class T>
void scalar(Core& core, std::uint64_t target, std::uint64_t source, float value,
            std::uint64_t configuration) {
  const T right = scalar_from<T>(value);
  unary_loop<T>(core, target, source, configuration, [right](T a) { return apply<Op, T>(a, right); });
}
template <class Op, class T>
void integer_scalar(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t value,
                    std::uint64_t configuration) {
  const T right = static_cast<T>(value);
  unary_loop<T>(core, target, source, configuration, [right](T a) { return apply<Op, T>(a, right); });
}

// Shifts by the element's width or more leave nothing but the sign's copies.
template <class T>
void shift_left(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t distance,
                std::uint64_t configuration) {
  unary_loop<T>(core, target, source, configuration, [distance](T a) {
    return distance >= sizeof(T) * 8 ? T{0} : static_cast<T>(static_cast<std::uint64_t>(a) << distance);
  });
}
template <class T>
void shift_right(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t distance,
                 std::uint64_t configuration, std::uint64_t round) {
  if (round > 1) refuse_field("round", round);
  unary_loop<T>(core, target, source, configuration, [distance, round](T a) {
    constexpr std::uint64_t kBits = sizeof(T) * 8;
    if (std::is_unsigned_v<T> && distance >= kBits) return T{0};
    const auto wide = static_cast<std::int64_t>(a);
    // Rounding adds the last bit that is shifted out; unsigned shifts do not round.
    const bool add = std::is_signed_v<T> && round && distance > 0 && ((wide >> std::min(distance - 1, kBits - 1)) & 1);
    return static_cast<T>((wide >> std::min(distance, kBits - 1)) + add);
  });
}

const char* const kRound = "last operand: round, for signed types (CCE intrinsics, vshr)";
const char* const kWraps = "integer overflow wraps (uncertain: AscendC does not say)";
const char* const kExact = "correctly rounded fp32; the hardware's approximation is not public";

const Instruction rows[] = {
    FLAGC_INSTRUCTION("VADD.f16", kV, "", binary<Add, Half>),
    FLAGC_INSTRUCTION("VADD.f32", kV, "", binary<Add, float>),
    FLAGC_INSTRUCTION("VADD.s16", kV, kWraps, binary<Add, std::int16_t>),
    FLAGC_INSTRUCTION("VADD.s32", kV, kWraps, binary<Add, std::int32_t>),
    FLAGC_INSTRUCTION("VSUB.f16", kV, "", binary<Sub, Half>),
    FLAGC_INSTRUCTION("VSUB.f32", kV, "", binary<Sub, float>),
    FLAGC_INSTRUCTION("VSUB.s16", kV, kWraps, binary<Sub, std::int16_t>),
    FLAGC_INSTRUCTION("VSUB.s32", kV, kWraps, binary<Sub, std::int32_t>),
    FLAGC_INSTRUCTION("VMUL.f16", kV, "", binary<Mul, Half>),
    FLAGC_INSTRUCTION("VMUL.f32", kV, "", binary<Mul, float>),
    FLAGC_INSTRUCTION("VMUL.s16", kV, kWraps, binary<Mul, std::int16_t>),
    FLAGC_INSTRUCTION("VMUL.s32", kV, kWraps, binary<Mul, std::int32_t>),
    FLAGC_INSTRUCTION("VDIV.f16", kV, "", binary<Div, Half>),
    FLAGC_INSTRUCTION("VDIV.f32", kV, "", binary<Div, float>),
    FLAGC_INSTRUCTION("VMAX.f16", kV, "a NaN operand gives NaN (uncertain)", binary<Max, Half>),
    FLAGC_INSTRUCTION("VMAX.f32", kV, "a NaN operand gives NaN (uncertain)", binary<Max, float>),
    FLAGC_INSTRUCTION("VMAX.s16", kV, "", binary<Max, std::int16_t>),
    FLAGC_INSTRUCTION("VMAX.s32", kV, "", binary<Max, std::int32_t>),
    FLAGC_INSTRUCTION("VMIN.f16", kV, "a NaN operand gives NaN (uncertain)", binary<Min, Half>),
    FLAGC_INSTRUCTION("VMIN.f32", kV, "a NaN operand gives NaN (uncertain)", binary<Min, float>),
    FLAGC_INSTRUCTION("VMIN.s16", kV, "", binary<Min, std::int16_t>),
    FLAGC_INSTRUCTION("VMIN.s32", kV, "", binary<Min, std::int32_t>),
    FLAGC_INSTRUCTION("VAND.s16", kV, "", binary<And, std::uint16_t>),
    FLAGC_INSTRUCTION("VAND.u16", kV, "", binary<And, std::uint16_t>),
    FLAGC_INSTRUCTION("VOR.s16", kV, "", binary<Or, std::uint16_t>),
    FLAGC_INSTRUCTION("VOR.u16", kV, "", binary<Or, std::uint16_t>),
    FLAGC_INSTRUCTION("VADDS.f16", kV, "", scalar<Add, Half>),
    FLAGC_INSTRUCTION("VADDS.f32", kV, "", scalar<Add, float>),
    FLAGC_INSTRUCTION("VADDS.s16", kV, kWraps, integer_scalar<Add, std::int16_t>),
    FLAGC_INSTRUCTION("VADDS.s32", kV, kWraps, integer_scalar<Add, std::int32_t>),
    FLAGC_INSTRUCTION("VMULS.f16", kV, "", scalar<Mul, Half>),
    FLAGC_INSTRUCTION("VMULS.f32", kV, "", scalar<Mul, float>),
    FLAGC_INSTRUCTION("VMULS.s16", kV, kWraps, integer_scalar<Mul, std::int16_t>),
    FLAGC_INSTRUCTION("VMULS.s32", kV, kWraps, integer_scalar<Mul, std::int32_t>),
    FLAGC_INSTRUCTION("VMAXS.f16", kV, "", scalar<Max, Half>),
    FLAGC_INSTRUCTION("VMAXS.f32", kV, "", scalar<Max, float>),
    FLAGC_INSTRUCTION("VMAXS.s16", kV, "", integer_scalar<Max, std::int16_t>),
    FLAGC_INSTRUCTION("VMAXS.s32", kV, "", integer_scalar<Max, std::int32_t>),
    FLAGC_INSTRUCTION("VMINS.f16", kV, "", scalar<Min, Half>),
    FLAGC_INSTRUCTION("VMINS.f32", kV, "", scalar<Min, float>),
    FLAGC_INSTRUCTION("VMINS.s16", kV, "", integer_scalar<Min, std::int16_t>),
    FLAGC_INSTRUCTION("VMINS.s32", kV, "", integer_scalar<Min, std::int32_t>),
    FLAGC_INSTRUCTION("VABS.f16", kV, "", unary<Abs, Half>),
    FLAGC_INSTRUCTION("VABS.f32", kV, "", unary<Abs, float>),
    FLAGC_INSTRUCTION("VEXP.f16", kV, kExact, unary<Exp, Half>),
    FLAGC_INSTRUCTION("VEXP.f32", kV, kExact, unary<Exp, float>),
    FLAGC_INSTRUCTION("VLN.f16", kV, kExact, unary<Ln, Half>),
    FLAGC_INSTRUCTION("VLN.f32", kV, kExact, unary<Ln, float>),
    FLAGC_INSTRUCTION("VREC.f16", kV, kExact, unary<Reciprocal, Half>),
    FLAGC_INSTRUCTION("VREC.f32", kV, kExact, unary<Reciprocal, float>),
    FLAGC_INSTRUCTION("VSQRT.f16", kV, kExact, unary<Sqrt, Half>),
    FLAGC_INSTRUCTION("VSQRT.f32", kV, kExact, unary<Sqrt, float>),
    FLAGC_INSTRUCTION("VRSQRT.f16", kV, kExact, unary<ReciprocalSqrt, Half>),
    FLAGC_INSTRUCTION("VRSQRT.f32", kV, kExact, unary<ReciprocalSqrt, float>),
    FLAGC_INSTRUCTION("VRELU.f16", kV, "", unary<Relu, Half>),
    FLAGC_INSTRUCTION("VRELU.f32", kV, "", unary<Relu, float>),
    FLAGC_INSTRUCTION("VRELU.s32", kV, "", unary<Relu, std::int32_t>),
    FLAGC_INSTRUCTION("VNOT.s16", kV, "", unary<Not, std::uint16_t>),
    FLAGC_INSTRUCTION("VNOT.u16", kV, "", unary<Not, std::uint16_t>),
    FLAGC_INSTRUCTION("VSHL.s16", kV, "", shift_left<std::int16_t>),
    FLAGC_INSTRUCTION("VSHL.u16", kV, "", shift_left<std::uint16_t>),
    FLAGC_INSTRUCTION("VSHL.s32", kV, "", shift_left<std::int32_t>),
    FLAGC_INSTRUCTION("VSHL.u32", kV, "", shift_left<std::uint32_t>),
    FLAGC_INSTRUCTION("VSHR.s16", kV, kRound, shift_right<std::int16_t>),
    FLAGC_INSTRUCTION("VSHR.u16", kV, kRound, shift_right<std::uint16_t>),
    FLAGC_INSTRUCTION("VSHR.s32", kV, kRound, shift_right<std::int32_t>),
    FLAGC_INSTRUCTION("VSHR.u32", kV, kRound, shift_right<std::uint32_t>),
};

}  // namespace

void register_vector_arithmetic(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
