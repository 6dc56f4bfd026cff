#include "half_arrays.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define FLAGC_F16C 1
#endif

namespace flagc::aicore {

namespace {

#ifdef FLAGC_F16C

bool has_f16c() {
  static const bool has = __builtin_cpu_supports("f16c");
  return has;
}

[[gnu::target("f16c,avx")]] std::size_t to_floats_fast(const Half* in, float* out,
                                                       std::size_t count) {
  std::size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + at));
    _mm256_storeu_ps(out + at, _mm256_cvtph_ps(halves));
  }
  return at;
}

[[gnu::target("f16c,avx")]] std::size_t to_halves_fast(const float* in, Half* out,
                                                       std::size_t count) {
  std::size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(in + at), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at), halves);
  }
  return at;
}

#endif

}  // namespace

void to_floats(const Half* in, float* out, std::size_t count) {
  std::size_t at = 0;
#ifdef FLAGC_F16C
  if (has_f16c()) at = to_floats_fast(in, out, count);
#endif
  for (; at < count; ++at) out[at] = to_float(in[at]);
}

void to_halves(const float* in, Half* out, std::size_t count) {
  std::size_t at = 0;
#ifdef FLAGC_F16C
  if (has_f16c()) at = to_halves_fast(in, out, count);
#endif
  for (; at < count; ++at) out[at] = to_half(in[at]);
}

}  // namespace flagc::aicore
