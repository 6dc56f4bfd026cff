"""How Triton writes tensor descriptors, and how its launcher passes them to a kernel."""

from __future__ import annotations

import functools


@functools.lru_cache(maxsize=1)
def flag_count() -> int:
    """Return how many i1 flags follow pointer, sizes (i64) and strides (i64).

    A kernel without TMA gets, for each descriptor: pointer, sizes, strides, flags, and then again
    sizes (i32) and strides (i64). The first flag tells NaN padding; 3.9 adds one that asks to round
    f32 to tf32.
    """
    from triton.backends import driver

    expand = getattr(driver, "expand_signature", None)
    if expand is None:
        return 1  # up to 3.6 the expansion is written out in the NVIDIA driver
    return list(expand(["tensordesc<fp16[1]>"], None, "")).count("i1")


@functools.lru_cache(maxsize=1)
def types_are_bare() -> bool:
    """Return whether this Triton writes `!tt.tensordesc<8x8xf16>`, not `<tensor<8x8xf16>>`."""
    from triton._C.libtriton import ir

    context = ir.context()
    ir.load_dialects(context)
    builder = ir.builder(context)
    block = builder.get_block_ty(builder.get_half_ty(), [8, 8])
    return "tensor<" not in str(builder.create_tensor_descriptor_type(block, True))
