"""Specialisations of the kernels in `bridge_kernels`, as (name, source, compile options)."""

from typing import Any

import triton

from flagc.pipeline.target import KernelSource

from . import bridge_kernels as kernels

# name: kernel, argument types, constexprs, options
_TABLE: dict[str, tuple[Any, str, dict[str, Any], dict[str, Any]]] = {
    "vector_add": (kernels.vector_add, "*fp32:16 *fp32:16 *fp32:16 i32", {"BLOCK": 1024}, {}),
    "softmax": (kernels.softmax, "*fp32:16 *fp32:16 i32:16 i32", {"BLOCK": 1024}, {}),
    "layer_norm": (
        kernels.layer_norm,
        "*fp16:16 *fp16:16 *fp16:16 *fp16:16 i32 fp32",
        {"BLOCK": 2048},
        {"num_warps": 8},
    ),
    "prefix_sum": (kernels.prefix_sum, "*fp32:16 *fp32:16", {"BLOCK": 512}, {}),
    "custom_scan": (kernels.custom_scan, "*fp32:16 *i32:16 *fp32:16", {"BLOCK": 256}, {}),
    "arg_reductions": (kernels.arg_reductions, "*fp32:16 *i32:16", {"ROWS": 32, "COLUMNS": 64}, {}),
    "while_and_if": (kernels.while_and_if, "*fp32:16 *fp32:16 i32", {"BLOCK": 256}, {}),
    "atomics": (kernels.atomics, "*i32:16 *i32:16 *i32:16 i32", {"BLOCK": 256}, {}),
    "inline_assembly": (kernels.inline_assembly, "*i32:16 *i32:16", {"BLOCK": 256}, {}),
    "gemm": (
        kernels.gemm,
        "*fp16:16 *fp16:16 *fp16:16 i32 i32 i32 i32:16 i32:16 i32:16",
        {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64},
        {},
    ),
    "int8_gemm": (kernels.int8_gemm, "*i8:16 *i8:16 *i32:16 i32:16", {"BLOCK": 64}, {}),
    "attention": (
        kernels.attention,
        "*fp16:16 *fp16:16 *fp16:16 *fp16:16 i32:16 fp32",
        {"BLOCK_M": 64, "BLOCK_N": 64, "HEAD": 64},
        {},
    ),
    "descriptor_copy": (
        kernels.descriptor_copy,
        "*fp32:16 *fp32:16 i32:16 i32:16",
        {"BLOCK_M": 64, "BLOCK_N": 64},
        {},
    ),
    "descriptor_gemm": (
        kernels.descriptor_gemm,
        "*fp16:16 *fp16:16 *fp16:16 i32:16 i32:16 i32:16",
        {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "WARP_SPECIALIZE": False},
        {},
    ),
    "warp_specialised_gemm": (
        kernels.descriptor_gemm,
        "*fp16:16 *fp16:16 *fp16:16 i32:16 i32:16 i32:16",
        {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "WARP_SPECIALIZE": True},
        {},
    ),
    "calls_function": (kernels.calls_function, "*fp32:16 *fp32:16", {"BLOCK": 256}, {}),
    "shape_ops": (kernels.shape_ops, "*fp32:16 *fp32:16", {"ROWS": 16, "COLUMNS": 32}, {}),
    "gather_and_histogram": (
        kernels.gather_and_histogram,
        "*fp32:16 *i32:16 *fp32:16",
        {"BLOCK": 128, "BINS": 32},
        {},
    ),
    "random_dropout": (
        kernels.random_dropout,
        "*fp32:16 *fp32:16 i32 fp32 i32",
        {"BLOCK": 512},
        {},
    ),
    "sort_rows": (kernels.sort_rows, "*fp32:16 *fp32:16", {"ROWS": 4, "COLUMNS": 64}, {}),
    "debugging": (kernels.debugging, "*fp32:16 *fp32:16 i32", {"BLOCK": 128}, {"debug": True}),
    "block_pointers": (kernels.block_pointers, "*fp16:16 *fp32:16 i32 i32:16", {"BLOCK": 32}, {}),
    "fp8_scaled_dot": (
        kernels.fp8_scaled_dot,
        "*fp8e4nv:16 *u8:16 *fp8e4nv:16 *u8:16 *fp32:16",
        {"BLOCK": 128, "DEPTH": 128},
        {},
    ),
}

# Triton 3.9 has no block pointers any more.
_REMOVED = {"block_pointers"} if triton.__version__ >= "3.9" else set()

NAMES = [name for name in _TABLE if name not in _REMOVED]


def case(name: str) -> tuple[KernelSource, dict[str, Any]]:
    """Return the specialised kernel called `name` and its compile options."""
    function, types, constants, options = _TABLE[name]
    names = function.arg_names
    constexprs = {(names.index(key),): value for key, value in constants.items()}
    runtime = [argument for argument in names if argument not in constants]
    signature = dict.fromkeys(names, "constexpr")
    attributes = {}
    for argument, text in zip(runtime, types.split(), strict=True):
        type_text, _, divisible = text.partition(":")
        signature[argument] = type_text
        if divisible:
            attributes[(names.index(argument),)] = [["tt.divisibility", 16]]
    return KernelSource(function, signature, constexprs, attributes), options
