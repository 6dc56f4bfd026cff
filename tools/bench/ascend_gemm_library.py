"""The whole product of the vendor's device library, for ascend_gemm.py to compare with.

`meta_op.aic.bc` of ascendnpu-ir has C = A @ B as one function for fp16 (and int8) matrices that lie
in rows; `hivm.hir.matmul` is lowered to a call of it. All blocks of a launch share its tiles, block
i taking tiles i, i + blocks, ... It keeps two tiles of A and of B in L1, halves of L0A and L0B take
turns, and the next tile is loaded while one is multiplied.

It takes no tiling arguments: M, N and K of a tile are constants of its function `calcTiling`, 256,
128 and 256. Other constants make other products of the same code, so that the best of several is
what is compared with; `SHIPPED` says which is the vendor's own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm
import torch

from flagc.aicore import EmulatedKernel
from flagc.aicore.timing.model import Timing, time_launch
from flagc.errors import FlagcError
from flagc.targets.ascend.chips import AscendChip
from flagc.targets.ascend.llvm_stage import LlvmStage, final_to_llvm, optimise
from flagc.targets.ascend.pass_text import parse_pipeline
from flagc.targets.ascend.vendor_pipeline import run_passes

Tile = tuple[int, int, int]

# M, N, K
SHIPPED: Tile = (256, 128, 256)
DTYPES = ("fp16",)

_TILING = "_Z10calcTilinglllR12TilingParams"
_FIELDS = ("mTile", "nTile", "kTile")
_GM = "#hivm.address_space<gm>"
_VECTOR, _MATRIX = f"memref<?xf16, {_GM}>", f"memref<?x?xf16, strided<[?, 1]>, {_GM}>"
_HOST = (
    "hacc.function_kind = #hacc.function_kind<HOST>, "
    "hacc.host_func_type = #hacc.host_func_type<infer_task_type_function>"
)
_DEVICE = (
    "hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>, "
    "hivm.func_core_type = #hivm.func_core_type<AIC>"
)
# A cube kernel, as the vendor's compiler numbers task types.
_TASK_TYPE = 20


class NoSuchProduct(FlagcError):
    """The library has no product of these types, or none with this tile."""


def hivm_module() -> str:
    """Return the module of a kernel (a, b, c, M, N, K) that is one `hivm.hir.matmul`."""
    leading = ", ".join(
        f"%{kind}: {ty} {{hacc.arg_type = #hacc.arg_type<{kind}>}}"
        for kind, ty in (
            ("ffts_base_address", "i64"),
            ("sync_block_lock", f"memref<?xi8, {_GM}>"),
            ("workspace", f"memref<?xi8, {_GM}>"),
        )
    )
    tensors = ", ".join(f"%{name}: {_VECTOR}" for name in "abc")
    numbers = ", ".join(f"%{name}: i32" for name in ("m", "n", "k", "x", "y", "z"))
    sizes = "\n".join(f"%{name}i = arith.index_cast %{name} : i32 to index" for name in "mnk")
    matrices = "\n".join(
        f"%{name.upper()} = memref.reinterpret_cast %{name} to offset: [0], "
        f"sizes: [%{rows}i, %{columns}i], strides: [%{columns}i, 1] : {_VECTOR} to {_MATRIX}"
        for name, rows, columns in (("a", "m", "k"), ("b", "k", "n"), ("c", "m", "n"))
    )
    return f"""module {{
  func.func @product_infer_task_type_function() -> i8 attributes {{{_HOST}}} {{
    %type = arith.constant {_TASK_TYPE} : i8
    return %type : i8
  }}
  func.func @product({leading}, {tensors}, {numbers}) attributes {{{_DEVICE}}} {{
    {sizes}
    {matrices}
    hivm.hir.matmul ins(%A, %B : {_MATRIX}, {_MATRIX}) outs(%C : {_MATRIX})
    return
  }}
}}
"""


@cache
def library_product(tile: Tile = SHIPPED) -> EmulatedKernel:
    """Return the library's product of fp16 matrices, with arguments (a, b, c, M, N, K).

    Raises:
        NoSuchProduct: the tile does not fit L1 twice, or L0C.
    """
    m, n, k = tile
    if 2 * 2 * (m + n) * k > 512 * 1024 or 4 * m * n > 128 * 1024:
        raise NoSuchProduct(f"tiles of {m}x{n}x{k} do not fit L1 (twice) and L0C")
    passes = parse_pipeline("builtin.module(convert-hivm-to-std)")
    stage = final_to_llvm(run_passes(hivm_module(), passes), optimize=0)
    return EmulatedKernel(LlvmStage({"aic": _with_tile(stage.texts["aic"], tile)}, stage.facts))


def _with_tile(text: str, tile: Tile) -> str:
    """Return the linked kernel, optimised, with other constants in `calcTiling`."""
    module = llvm.parse_assembly(text, llvm.create_context())
    function = str(module.get_function(_TILING))
    for name, old, new in zip(_FIELDS, SHIPPED, tile, strict=True):
        store = f"store i32 {old}, ptr %{name},"
        if function.count(store) != 1:
            raise NoSuchProduct(f"{_TILING} of this device library does not set {name} to {old}")
        changed = function.replace(store, f"store i32 {new}, ptr %{name},")
        text, function = text.replace(function, changed), changed
    module = llvm.parse_assembly(text, llvm.create_context())
    optimise(module, 2)
    module.verify()
    return str(module)


def time_product(sizes: tuple[int, int, int], dtype: str, tile: Tile, chip: AscendChip) -> Timing:
    """Time C = A @ B of these M, N and K with the library's function, on all cube cores.

    Fewer blocks are launched where there are fewer tiles: idle cores would only cost time.

    Raises:
        NoSuchProduct: see `library_product`; or of another type than fp16.
    """
    if dtype not in DTYPES:
        raise NoSuchProduct(f"the library has whole products of fp16 and int8, not of {dtype}")
    m, n, k = sizes
    tensors = [torch.empty(shape, dtype=torch.float16) for shape in ((m, k), (k, n), (m, n))]
    arguments: list[Any] = [*tensors, m, n, k]
    blocks = min(chip.cube_cores, -(-m // tile[0]) * -(-n // tile[1]))
    return time_launch(library_product(tile).record((blocks,), arguments), chip)
