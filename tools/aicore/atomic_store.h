// Stores to global memory that add to, or take the larger or smaller of, what is there.
#pragma once

#include "core.h"

namespace flagc::aicore {

// Writes `bytes` bytes at `target` of global memory, combined with what is there as CTRL says:
// element type in bits 6 to 9 (0: plain store), operation in bits 9 to 11 (add, max, min). Read off
// the device library's stores for each atomic of Triton; types 3 and 5 are AscendC's s16 and s8.
void store_to_global(Core& core, std::uint64_t target, const std::uint8_t* in, std::uint64_t bytes);

// Whether CTRL asks for more than a plain store.
bool stores_atomically(const Core& core);

}  // namespace flagc::aicore
