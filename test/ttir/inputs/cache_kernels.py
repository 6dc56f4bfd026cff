"""A kernel with cache hints; their text differs between Triton versions."""

import triton
import triton.language as tl


@triton.jit
def hinted(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, eviction_policy="evict_last")
    y = tl.load(x_ptr + at + BLOCK, cache_modifier=".cg")
    tl.store(y_ptr + at, x + y, cache_modifier=".wb")
