"""Regenerate test/ascend/inputs/*.ttir from kernels.py of that folder.

    python tools/maintenance/make_ascend_inputs.py

The text depends on the Triton version (pinned for tests: 3.6.0). No device is needed. Locations
name `kernels.py` without a folder, so that the files do not depend on where the checkout is.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend

ROOT = Path(__file__).resolve().parents[2]
INPUTS = ROOT / "test/ascend/inputs"
sys.path.insert(0, str(INPUTS))

import kernels  # noqa: E402

# TTIR does not depend on the GPU; Triton wants one all the same.
TARGET = GPUTarget("cuda", 90, 32)
I32 = "i32"


def pointers(names: str, kind: str) -> dict[str, str]:
    """`{name: kind}` for names separated by blanks."""
    return dict.fromkeys(names.split(), kind)


def product(kernel: str, kind: str, rows: int, columns: int, depth: int) -> tuple[Any, ...]:
    """A GEMM with unit inner strides and all sizes divisible by 16."""
    signature = {**pointers("a b c", f"*{kind}"), **pointers("M N K sam sbk scm", I32)}
    if kernel == "gemm_bias_relu":
        signature["bias"] = f"*{kind}"
    blocks = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": depth}
    return kernel, signature, {**blocks, "sak": 1, "sbn": 1, "scn": 1}, " ".join(signature)


def elementwise(kernel: str, names: str, kind: str, block: int) -> tuple[Any, ...]:
    """A kernel over `names` (pointers) and a length `n`."""
    return kernel, {**pointers(names, f"*{kind}"), "n": I32}, {"BLOCK": block}, names


def rows(kernel: str, names: str, kind: str, block: int) -> tuple[Any, ...]:
    """A kernel with a block of one row."""
    signature = {**pointers(names, f"*{kind}"), **pointers("stride n", I32), "eps": "fp32"}
    if kernel == "softmax":
        del signature["eps"]
    return kernel, signature, {"BLOCK": block}, names


ATTENTION = (
    "attention",
    {**pointers("q k v out", "*fp16"), "scale": "fp32", **pointers("seq sq sh", I32)},
    {"BLOCK_M": 64, "BLOCK_N": 64, "HEAD": 64},
    "q k v out sq sh",
)

CASES: dict[str, tuple[Any, ...]] = {
    "gemm": product("gemm", "fp16", 128, 128, 64),
    "gemm_bf16": product("gemm", "bf16", 64, 256, 64),
    "gemm_without_double_buffers": product("gemm", "fp16", 128, 256, 512),
    "gemm_l0c_overflow": product("gemm", "fp16", 256, 256, 64),
    "gemm_l1_overflow": product("gemm", "fp16", 128, 128, 2048),
    "gemm_bias_relu": product("gemm_bias_relu", "fp16", 128, 128, 64),
    "vector_add": elementwise("vector_add", "x y out", "fp32", 1024),
    "vector_add_ub_overflow": elementwise("vector_add", "x y out", "fp32", 65536),
    "layernorm": rows("layernorm", "x w b out", "fp32", 1024),
    "softmax": rows("softmax", "x out", "fp32", 1024),
    "softmax_ub_overflow": rows("softmax", "x out", "fp32", 65536),
    "rmsnorm_loop": rows("rmsnorm_loop", "x w out", "fp16", 2048),
    "cumsum": elementwise("cumsum", "x out", "fp32", 256),
    "while_sum": elementwise("while_sum", "x out", "fp32", 1024),
    "attention": ATTENTION,
    "gather_without_other": (
        "gather_without_other",
        {"x": "*fp32", "index": "*i32", "out": "*fp32", "n": I32},
        {"BLOCK": 256},
        "x index out",
    ),
    "log_gamma": elementwise("log_gamma", "x out", "fp32", 256),
    "assumed": elementwise("assumed", "x out", "fp32", 256),
    "to_fp8": ("to_fp8", {"x": "*fp32", "out": "*fp8e5", "n": I32}, {"BLOCK": 256}, "x out"),
}


def ttir(kernel: str, types: dict[str, str], constants: dict[str, int], divisible: str) -> str:
    """Optimised TTIR of one specialisation; arguments in `divisible` are multiples of 16."""
    function = getattr(kernels, kernel)
    names = function.arg_names
    source = ASTSource(
        function,
        {name: types.get(name, "constexpr") for name in names},
        {(names.index(name),): value for name, value in constants.items()},
        {(names.index(name),): [["tt.divisibility", 16]] for name in divisible.split()},
    )
    backend = make_backend(TARGET)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    generators = backend.get_codegen_implementation(options)
    module = source.make_ir(TARGET, options, generators, backend.get_module_map(), context)
    return str(backend.make_ttir(module, {}, options, TARGET.arch))


def main() -> None:
    """Write every case."""
    triton_folder = str(Path(triton.__file__).resolve().parents[1])
    for name, case in CASES.items():
        text = ttir(*case).replace(f"{INPUTS}/", "").replace(f"{triton_folder}/", "/")
        (INPUTS / f"{name}.ttir").write_text(text)
        print(name)


if __name__ == "__main__":
    main()
