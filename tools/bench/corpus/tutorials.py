"""Kernels in the style of Triton's tutorials, written afresh, launched as a reader would.

`CALLS` lists (name, wrapper, arguments) as `launches.load_set` takes them.
"""

# ruff: noqa: E731 - argument builders read best as one-line lambdas

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from cases import Arguments, args, bf16, f8, f16, f32, i32
from triton.tools.tensor_descriptor import TensorDescriptor
from tutorials_matmul import (
    block_pointer_matmul,
    descriptor_matmul,
    host_descriptor_matmul,
    leaky_matmul,
    matmul,
    persistent_descriptor_matmul,
    persistent_matmul,
)
from tutorials_products import (
    batched_matmul,
    block_scaled_matmul,
    gemm_bias_act,
    gemv,
    grouped_matmul,
    int8_matmul,
    split_k_matmul,
    stream_k_matmul,
    transposed_matmul,
)
from tutorials_rows import (
    attention_backward_dkdv,
    attention_backward_preprocess,
    cross_entropy,
    dropout,
    embedding_lookup,
    flash_attention_forward,
    fused_softmax,
    histogram,
    inline_assembly,
    layer_norm_backward_dwdb,
    layer_norm_backward_dx,
    layer_norm_forward,
    libdevice_asin,
    linear_recurrence,
    online_softmax,
    rms_norm,
    rotary,
    seeded_dropout,
    sort_rows,
    swiglu,
    transpose,
    vector_add,
)


def start(kernel: Any, grid: tuple[int, ...], *positional: Any, **named: Any) -> None:
    """Launch a kernel; the wrapper of every call below."""
    kernel[grid](*positional, **named)


def square() -> tuple[Any, ...]:
    """The operands of a 1024-cubed fp16 product and its sizes and strides."""
    return f16(1024, 1024), f16(1024, 1024), f16(1024, 1024), 1024, 1024, 1024, 1024, 1024, 1024


def descriptors() -> tuple[Any, ...]:
    """Host-side descriptors of the same product."""
    return tuple(TensorDescriptor.from_tensor(f16(1024, 1024), [128, 64]) for _ in range(2))


def table() -> list[tuple[Any, tuple[int, ...], Callable[[], Arguments]]]:
    """Kernel, grid and arguments of every call."""
    heads = lambda n: [f16(8, 1024, 64) for _ in range(n)]
    line = lambda n: [f32(1 << 20) for _ in range(n)]
    rows = lambda: [f16(1024, 768), f16(1024, 768), f16(768), f16(768)]
    tile = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}
    grouped = {**tile, "GROUP_M": 8}
    out = lambda: TensorDescriptor.from_tensor(f16(1024, 1024), [128, 128])
    return [
        (vector_add, (1024,), lambda: args(*line(3), 1 << 20, BLOCK=1024)),
        (
            fused_softmax,
            (132,),
            lambda: args(f32(1823, 781), f32(1823, 781), 781, 781, 1823, 781, BLOCK=1024),
        ),
        (
            online_softmax,
            (256,),
            lambda: args(f16(256, 8192), f16(256, 8192), 8192, 8192, BLOCK=1024),
        ),
        (
            dropout,
            (1024,),
            lambda: args(line(1)[0], i32(1 << 20, high=2), line(1)[0], 1 << 20, 0.5, BLOCK=1024),
        ),
        (seeded_dropout, (1024,), lambda: args(*line(2), 1 << 20, 0.5, 123, BLOCK=1024)),
        (
            layer_norm_forward,
            (1024,),
            lambda: args(*rows(), f32(1024), f32(1024), 768, 768, 1e-5, BLOCK=1024),
        ),
        (
            layer_norm_backward_dx,
            (1024,),
            lambda: args(
                f16(1024, 768),
                f16(1024, 768),
                f32(64, 768),
                f32(64, 768),
                f16(1024, 768),
                f16(768),
                f32(1024),
                f32(1024),
                i32(128),
                768,
                768,
                GROUP=64,
                BLOCK=1024,
            ),
        ),
        (
            layer_norm_backward_dwdb,
            (6,),
            lambda: args(
                f32(64, 768), f32(64, 768), f16(768), f16(768), 64, 768, BLOCK_M=32, BLOCK_N=128
            ),
        ),
        (
            flash_attention_forward,
            (16, 8),
            lambda: args(
                *heads(4), f32(8, 1024), 0.125, 1024, HEAD=64, BLOCK_M=64, BLOCK_N=64, CAUSAL=True
            ),
        ),
        (
            attention_backward_preprocess,
            (16, 8),
            lambda: args(*heads(2), f32(8, 1024), 1024, HEAD=64, BLOCK=64),
        ),
        (
            attention_backward_dkdv,
            (16, 8),
            lambda: args(
                *heads(6), f32(8, 1024), f32(8, 1024), 0.125, 1024, HEAD=64, BLOCK_M=32, BLOCK_N=64
            ),
        ),
        (libdevice_asin, (1024,), lambda: args(*line(2), 1 << 20, BLOCK=1024)),
        (
            rms_norm,
            (1024,),
            lambda: args(*rows()[:1], f16(768), f16(1024, 768), 768, 768, 1e-6, BLOCK=1024),
        ),
        (linear_recurrence, (1024,), lambda: args(*line(3), BLOCK=1024)),
        (transpose, (16, 16), lambda: args(f32(1024, 1024), f32(1024, 1024), 1024, 1024, BLOCK=64)),
        (histogram, (64,), lambda: args(i32(65536), i32(128), 65536, BINS=128, BLOCK=1024)),
        (sort_rows, (1024,), lambda: args(*line(2), BLOCK=256)),
        (
            embedding_lookup,
            (512,),
            lambda: args(i32(512), f16(4096, 768), f16(512, 768), 768, BLOCK=1024),
        ),
        (inline_assembly, (1024,), lambda: args(*line(2), BLOCK=1024)),
        (rotary, (1024,), lambda: args(f16(1024, 128), f16(64), f16(64), f16(1024, 128), HALF=64)),
        (
            swiglu,
            (1024,),
            lambda: args(f16(1 << 20), f16(1 << 20), f16(1 << 20), 1 << 20, BLOCK=1024),
        ),
        (
            cross_entropy,
            (256,),
            lambda: args(f32(256, 4096), i32(256), f32(256), 4096, 4096, BLOCK=4096),
        ),
        (matmul, (64,), lambda: args(*square(), **grouped)),
        (leaky_matmul, (64,), lambda: args(*square(), **grouped)),
        (persistent_matmul, (132,), lambda: args(*square(), **grouped, SMS=132)),
        (block_pointer_matmul, (8, 8), lambda: args(*square(), **tile)),
        (descriptor_matmul, (8, 8), lambda: args(*square(), **tile)),
        (persistent_descriptor_matmul, (132,), lambda: args(*square(), **tile, SMS=132)),
        (host_descriptor_matmul, (8, 8), lambda: args(*descriptors(), out(), 1024, **tile)),
        (transposed_matmul, (8, 8), lambda: args(*square(), **tile)),
        (
            split_k_matmul,
            (8, 8, 4),
            lambda: args(*square()[:2], f32(1024, 1024), *square()[3:], **tile, SPLIT=4),
        ),
        (
            stream_k_matmul,
            (108,),
            lambda: args(*square()[:2], f32(1024, 1024), *square()[3:], **tile, SMS=108),
        ),
        (gemm_bias_act, (8, 8), lambda: args(*square()[:3], f16(1024), *square()[3:], **tile)),
        (
            batched_matmul,
            (4, 4, 8),
            lambda: args(
                bf16(8, 512, 256), bf16(8, 256, 512), bf16(8, 512, 512), 512, 512, 256, **tile
            ),
        ),
        (
            int8_matmul,
            (8, 8),
            lambda: args(
                i32(1024, 1024).char(),
                i32(1024, 1024).char(),
                i32(1024, 1024),
                *square()[3:],
                **tile,
            ),
        ),
        (grouped_matmul, (84,), lambda: args(*square()[:3], i32(5), 1024, 1024, 4, **tile, SMS=84)),
        (
            block_scaled_matmul,
            (8, 8),
            lambda: args(
                f8(1024, 1024),
                i32(1024, 32).byte(),
                f8(1024, 1024),
                i32(1024, 32).byte(),
                f16(1024, 1024),
                1024,
                1024,
                1024,
                **tile,
            ),
        ),
        (
            gemv,
            (64,),
            lambda: args(f16(1024, 512), f16(512), f16(1024), 1024, 512, BLOCK_M=16, BLOCK_N=128),
        ),
    ]


CALLS: list[tuple[str, Callable[..., Any], Callable[[], Arguments]]] = [
    (kernel.__name__, functools.partial(start, kernel, grid), make)
    for kernel, grid, make in table()
]
