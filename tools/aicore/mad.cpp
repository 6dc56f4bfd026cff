// MAD: C[m][n] += A[m][k] * B[k][n], from L0A (zZ) and L0B (nZ) into L0C ([n/16][m rounded to 16][16]).
#include <algorithm>
#include <vector>

#include "fields.h"
#include "half_arrays.h"
#include "instruction.h"
#include "number.h"

// One body, compiled for the widest vectors of the machine it runs on. (GCC's target_clones picks by
// processor name or by one feature; AVX2 without FMA would be half as fast.)
#if defined(__x86_64__) && defined(__GNUC__)
#define FLAGC_DISPATCH(name, parameters, arguments)                                          \
  [[gnu::target("avx512f")]] void name##_512 parameters { name##_body arguments; }           \
  [[gnu::target("avx2,fma")]] void name##_256 parameters { name##_body arguments; }          \
  void name parameters {                                                                     \
    if (__builtin_cpu_supports("avx512f")) return name##_512 arguments;                      \
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {                   \
      return name##_256 arguments;                                                           \
    }                                                                                        \
    name##_body arguments;                                                                   \
  }
#else
#define FLAGC_DISPATCH(name, parameters, arguments) \
  void name parameters { name##_body arguments; }
#endif

namespace flagc::aicore {

namespace {

struct Tag {};

// Bits of CTRL. AscendC names 46 and 47; the device library sets 49 around its HF32 products.
constexpr int kHf32Bit = 46, kHf32RoundingBit = 47, kLibraryHf32Bit = 49;

// Elements of L0A and L0B of four bits; they are widened to bytes before anything else.
struct Nibble {
  std::int8_t value;
};
template <class T>
constexpr std::uint64_t kC0Of = std::is_same_v<T, Nibble> ? 64 : 32 / sizeof(T);
template <class T>
constexpr bool kIsInteger = std::is_same_v<T, std::int8_t> || std::is_same_v<T, Nibble>;

using Row = float __attribute__((vector_size(64)));
using IntRow = std::int32_t __attribute__((vector_size(64)));

struct Shape {
  std::uint64_t m, k, n, m_padded, k_fractals, n_fractals;
};

// `rows` rows of C in two column fractals (or one, with kPair 0) stay in registers over all of k.
template <class V, int kRows, int kColumns, class S>
[[gnu::always_inline]] inline void tile(const S* a, std::uint64_t a_stride, const S* b,
                                        std::uint64_t b_stride, S* c, std::uint64_t c_stride,
                                        std::uint64_t k) {
  V sum[kRows][kColumns];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      std::memcpy(&sum[i][j], c + static_cast<std::uint64_t>(j) * c_stride + i * 16, sizeof(V));
    }
  }
  for (std::uint64_t at = 0; at < k; ++at) {
    V right[kColumns];
    for (int j = 0; j < kColumns; ++j) {
      std::memcpy(&right[j], b + static_cast<std::uint64_t>(j) * b_stride + at * 16, sizeof(V));
    }
    for (int i = 0; i < kRows; ++i) {
      const S left = a[static_cast<std::uint64_t>(i) * a_stride + at];
      for (int j = 0; j < kColumns; ++j) sum[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      std::memcpy(c + static_cast<std::uint64_t>(j) * c_stride + i * 16, &sum[i][j], sizeof(V));
    }
  }
}

// a: [m_padded][k]; b: [n_fractals][k][16]; c as in L0C.
[[gnu::always_inline]] inline void multiply_float_body(const float* a, const float* b, float* c, Shape shape) {
  std::uint64_t j = 0;
  for (; j + 2 <= shape.n_fractals; j += 2) {
    for (std::uint64_t i = 0; i < shape.m_padded; i += 8) {
      tile<Row, 8, 2>(a + i * shape.k, shape.k, b + j * shape.k * 16, shape.k * 16,
                      c + (j * shape.m_padded + i) * 16, shape.m_padded * 16, shape.k);
    }
  }
  for (; j < shape.n_fractals; ++j) {
    for (std::uint64_t i = 0; i < shape.m_padded; i += 8) {
      tile<Row, 8, 1>(a + i * shape.k, shape.k, b + j * shape.k * 16, shape.k * 16,
                      c + (j * shape.m_padded + i) * 16, shape.m_padded * 16, shape.k);
    }
  }
}

[[gnu::always_inline]] inline void multiply_int_body(const std::int32_t* a, const std::int32_t* b, std::int32_t* c,
                               Shape shape) {
  for (std::uint64_t j = 0; j < shape.n_fractals; ++j) {
    for (std::uint64_t i = 0; i < shape.m_padded; i += 8) {
      tile<IntRow, 8, 1>(a + i * shape.k, shape.k, b + j * shape.k * 16, shape.k * 16,
                         c + (j * shape.m_padded + i) * 16, shape.m_padded * 16, shape.k);
    }
  }
}

template <class T>
inline auto widen(T value) {
  if constexpr (std::is_same_v<T, std::int8_t>) {
    return static_cast<std::int32_t>(value);
  } else if constexpr (std::is_same_v<T, Nibble>) {
    return static_cast<std::int32_t>(value.value);
  } else {
    return to_float(value);
  }
}

// One fractal of 16 rows of C0 elements, widened.
template <class T, class S>
[[gnu::always_inline]] inline void widen_fractal(const T* in, S* out) {
  if constexpr (std::is_same_v<T, Half>) {
    to_floats(in, out, 512 / sizeof(T));
  } else {
    for (std::uint64_t at = 0; at < 16 * kC0Of<T>; ++at) out[at] = widen(in[at]);
  }
}

// 16x16 elements of 32 bits: halves are exchanged between lines at distance 1, 2, 4 and 8.
template <class V>
[[gnu::always_inline]] inline void transpose_square(V (&line)[16]) {
#define FLAGC_EXCHANGE(step, low, high)                                       \
  for (int i = 0; i < 16; ++i) {                                              \
    if (i & step) continue;                                                   \
    const V a = line[i], b = line[i + step];                                  \
    line[i] = __builtin_shufflevector(a, b, FLAGC_LANES low);                 \
    line[i + step] = __builtin_shufflevector(a, b, FLAGC_LANES high);         \
  }
#define FLAGC_LANES(...) __VA_ARGS__
  FLAGC_EXCHANGE(1, (0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30),
                 (1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))
  FLAGC_EXCHANGE(2, (0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
                 (2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
  FLAGC_EXCHANGE(4, (0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27),
                 (4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31))
  FLAGC_EXCHANGE(8, (0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
                 (8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
#undef FLAGC_LANES
#undef FLAGC_EXCHANGE
}

// One fractal of B, [16 n][C0 k], as `width` lines of 16 n.
template <class T, class S>
[[gnu::always_inline]] inline void unpack_b(const S* fractal, S* out, std::uint64_t width) {
  constexpr std::uint64_t kC0 = kC0Of<T>;
  if constexpr (kC0 == 16) {
    if (width == 16) {
      Row line[16];
      std::memcpy(line, fractal, sizeof line);
      transpose_square(line);
      std::memcpy(out, line, sizeof line);
      return;
    }
  }
  for (std::uint64_t at = 0; at < width; ++at) {
    for (std::uint64_t column = 0; column < 16; ++column) out[at * 16 + column] = fractal[column * kC0 + at];
  }
}

// A as rows of k, B as lines of 16 n for each fractal of n, both widened.
template <class T, class S>
[[gnu::always_inline]] inline void pack(const T* a, const T* b, S* left, S* right, Shape shape) {
  constexpr std::uint64_t kC0 = kC0Of<T>;
  constexpr std::uint64_t kElements = 16 * kC0;
  alignas(64) S fractal[kElements];
  const std::uint64_t used = (shape.k + kC0 - 1) / kC0;
  for (std::uint64_t i = 0; i < shape.m_padded / 16; ++i) {
    for (std::uint64_t f = 0; f < used; ++f) {
      widen_fractal(a + (i * shape.k_fractals + f) * kElements, fractal);
      const std::uint64_t width = std::min(kC0, shape.k - f * kC0);
      S* out = left + i * 16 * shape.k + f * kC0;
      for (std::uint64_t row = 0; row < 16; ++row) {
        if (width == kC0) {
          std::memcpy(out + row * shape.k, fractal + row * kC0, kC0 * sizeof(S));
        } else {
          std::memcpy(out + row * shape.k, fractal + row * kC0, width * sizeof(S));
        }
      }
    }
  }
  for (std::uint64_t j = 0; j < shape.n_fractals; ++j) {
    for (std::uint64_t f = 0; f < used; ++f) {
      widen_fractal(b + (f * shape.n_fractals + j) * kElements, fractal);
      unpack_b<T>(fractal, right + (j * shape.k + f * kC0) * 16, std::min(kC0, shape.k - f * kC0));
    }
  }
}

FLAGC_DISPATCH(multiply_float, (const float* a, const float* b, float* c, Shape shape), (a, b, c, shape))
FLAGC_DISPATCH(multiply_int, (const std::int32_t* a, const std::int32_t* b, std::int32_t* c, Shape shape),
               (a, b, c, shape))

#define FLAGC_PACK(name, T, S)                                                                      \
  [[gnu::always_inline]] inline void name##_body(const T* a, const T* b, S* left, S* right, Shape shape) { \
    pack(a, b, left, right, shape);                                                                 \
  }                                                                                                 \
  FLAGC_DISPATCH(name, (const T* a, const T* b, S* left, S* right, Shape shape), (a, b, left, right, shape))
FLAGC_PACK(pack_all, Half, float)
FLAGC_PACK(pack_all, Bfloat, float)
FLAGC_PACK(pack_all, float, float)
FLAGC_PACK(pack_all, std::int8_t, std::int32_t)
FLAGC_PACK(pack_all, Nibble, std::int32_t)
#undef FLAGC_PACK

// HF32 keeps 11 bits of fraction. Of two equally near values, the even one or the one nearer to zero.
float to_hf32(float value, bool towards_zero) {
  const std::uint32_t bits = bit_cast<std::uint32_t>(value);
  if ((bits & 0x7F800000u) == 0x7F800000u) return value;
  const std::uint32_t rounded = bits + 0x7FFu + (towards_zero ? 0 : (bits >> 12) & 1);
  return bit_cast<float>(rounded & ~0xFFFu);
}

std::vector<Nibble> nibbles(const std::uint8_t* bytes, std::uint64_t count) {
  std::vector<Nibble> out(2 * count);
  for (std::uint64_t at = 0; at < count; ++at) {
    out[2 * at].value = static_cast<std::int8_t>(static_cast<std::int8_t>(bytes[at] << 4) >> 4);
    out[2 * at + 1].value = static_cast<std::int8_t>(static_cast<std::int8_t>(bytes[at]) >> 4);
  }
  return out;
}

// What C starts from: zeros, a row of BT for every row, or what it holds. `c` is an address in L0C, with
// that in BT in its upper half if there is a bias.
template <class S>
S* begin_c(Core& core, std::uint64_t c, const Shape& shape, bool bias, bool clear) {
  const std::uint64_t c_bytes = shape.m_padded * shape.n_fractals * 64;
  const std::uint64_t at_bias = c >> 32, at = bias ? c & 0xFFFFFFFF : c;
  if (!clear && !bias) core.l0c.read(at, c_bytes, 512);
  S* out = reinterpret_cast<S*>(core.l0c.write(at, c_bytes, 512));
  if (clear) std::memset(out, 0, c_bytes);
  if (clear || !bias) return out;
  for (std::uint64_t fractal = 0; fractal < shape.n_fractals; ++fractal) {
    const std::uint64_t valid = std::min<std::uint64_t>(16, shape.n - fractal * 16);
    S line[16] = {};
    std::memcpy(line, core.bt.read(at_bias + fractal * 64, valid * sizeof(S)), valid * sizeof(S));
    for (std::uint64_t row = 0; row < shape.m_padded; ++row) {
      std::memcpy(out + (fractal * shape.m_padded + row) * 16, line, sizeof line);
    }
  }
  return out;
}

template <class T>
void mad(Core& core, std::uint64_t c, std::uint64_t a, std::uint64_t b, std::uint64_t configuration) {
  using S = std::conditional_t<kIsInteger<T>, std::int32_t, float>;
  constexpr std::uint64_t kC0 = kC0Of<T>;
  only(configuration, mask_of(0, 36) | mask_of(55, 57) | mask_of(58, 59) | mask_of(62, 64), "configuration");
  Shape shape{};
  shape.m = field(configuration, 0, 12);
  shape.k = field(configuration, 12, 24);
  shape.n = field(configuration, 24, 36);
  if (shape.m == 0 || shape.k == 0 || shape.n == 0) return;
  const bool k_aligned = field(configuration, 58, 59), bias = field(configuration, 62, 63),
             clear = field(configuration, 63, 64);
  // With a unit flag, M and FIX take turns on the accumulators by themselves.
  if (field(configuration, 55, 57)) core.clocks.follow(static_cast<int>(Pipe::kM), static_cast<int>(Pipe::kFix));
  shape.m_padded = (shape.m + 15) / 16 * 16;
  shape.n_fractals = (shape.n + 15) / 16;
  shape.k_fractals = (shape.k + kC0 - 1) / kC0;
  if (k_aligned && kC0 == 8) shape.k_fractals = (shape.k_fractals + 1) / 2 * 2;
  const std::uint64_t used = (shape.k + kC0 - 1) / kC0;

  // Only fractals that take part in the product are read: with k aligned, A has unused ones between.
  const std::uint64_t rows = shape.m_padded / 16;
  const std::uint8_t* left_bytes = core.l0a.read(a, used * 512);
  for (std::uint64_t row = 1; row < rows; ++row) {
    core.l0a.read(a + row * shape.k_fractals * 512, used * 512);
  }
  const std::uint8_t* right_bytes = core.l0b.read(b, used * shape.n_fractals * 512);
  S* out = begin_c<S>(core, c, shape, bias, clear);

  static thread_local std::vector<S> packed;
  const std::uint64_t left_size = (shape.m_padded * shape.k + 15) / 16 * 16;
  const std::uint64_t size = left_size + shape.n_fractals * shape.k * 16;
  if (packed.size() < size) packed.resize(size);
  S* packed_right = packed.data() + left_size;
  if constexpr (std::is_same_v<T, Nibble>) {
    const std::uint64_t left_count = ((rows - 1) * shape.k_fractals + used) * 512;
    pack_all(nibbles(left_bytes, left_count).data(), nibbles(right_bytes, used * shape.n_fractals * 512).data(),
             packed.data(), packed_right, shape);
  } else {
    pack_all(reinterpret_cast<const T*>(left_bytes), reinterpret_cast<const T*>(right_bytes), packed.data(),
             packed_right, shape);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (core.control & (1ULL << kHf32Bit | 1ULL << kLibraryHf32Bit)) {
      const bool towards_zero = field(core.control, kHf32RoundingBit, kHf32RoundingBit + 1);
      for (std::uint64_t at = 0; at < size; ++at) packed[at] = to_hf32(packed[at], towards_zero);
    }
  }
  if constexpr (kIsInteger<T>) {
    multiply_int(packed.data(), packed_right, out, shape);
  } else {
    multiply_float(packed.data(), packed_right, out, shape);
  }
  core.macs += shape.m * shape.k * shape.n;
}

const char* const kHf32 =
    "HF32 by CTRL bit 46 (AscendC) or 49 (what the library sets; whether that is HF32 is uncertain); bit 47: of "
    "two equally near values the one nearer to zero (AscendC's wording is not clear)";
const char* const kInt4 = "C0 is 64 elements, the low four bits first (AscendC int4b_t); k beyond a fractal takes no part";
const char* const kTail = "k that does not fill a fractal: what lies beyond takes no part (AscendC Mmad)";

const Instruction rows[] = {
    FLAGC_INSTRUCTION("MAD.f162f32", kM, kTail, mad<Half>),
    FLAGC_INSTRUCTION("MAD.bf162f32", kM, kTail, mad<Bfloat>),
    FLAGC_INSTRUCTION("MAD.f322f32", kM, kHf32, mad<float>),
    FLAGC_INSTRUCTION("MAD.s8", kM, kTail, mad<std::int8_t>),
    FLAGC_INSTRUCTION("MAD.s4", kM, kInt4, mad<Nibble>),
};

}  // namespace

void register_mad(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
