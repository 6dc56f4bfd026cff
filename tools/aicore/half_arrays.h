// Arrays of fp16 to fp32 and back (nearest even), by the processor's own conversions where it has
// them. The results are those of to_float and to_half.
#pragma once

#include <cstddef>

#include "number.h"

namespace flagc::aicore {

void to_floats(const Half* in, float* out, std::size_t count);
void to_halves(const float* in, Half* out, std::size_t count);

}  // namespace flagc::aicore
