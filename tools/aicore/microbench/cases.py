"""What is measured: one launch a case, the same on an NPU and in the timing model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

import kernels

FP16, FP32 = torch.float16, torch.float32


@dataclass(frozen=True)
class Case:
    """One launch: `tensors` are (shape, dtype) of its pointers, `numbers` follow them.

    Attributes:
        group: what the case is for; rows of one group are compared with each other.
        types: Triton types of the arguments by name.
    """

    group: str
    name: str
    kernel: Any
    grid: tuple[int, ...]
    tensors: tuple[tuple[tuple[int, ...], torch.dtype], ...]
    types: dict[str, str]
    numbers: tuple[int, ...] = ()
    constants: dict[str, Any] = field(default_factory=dict)

    def arguments(self, make: Callable[[tuple[int, ...], torch.dtype], torch.Tensor]) -> list[Any]:
        """The launch's runtime arguments, tensors as `make` gives them."""
        return [*(make(shape, dtype) for shape, dtype in self.tensors), *self.numbers]


def _reads() -> list[Case]:
    """Rows by length and by distance; blocks apart, and all at the same tiles."""
    types = {"x": "*fp16", "out": "*fp16", "pitch": "i32", "tiles": "i32"}
    result = []
    rows, tiles = 64, 32
    for width in (64, 128, 256, 512):
        for pitch in (width, 4096, 6144, 8192):
            in_row = pitch // width
            for blocks in (1, 40):
                height = -(-blocks * tiles // in_row) * rows
                constants = {"ROWS": rows, "WIDTH": width, "TILES_IN_ROW": in_row}
                result.append(
                    Case(
                        "rows",
                        f"{rows} rows of {width * 2} B, pitch {pitch * 2} B, {blocks} blocks",
                        kernels.read_rows,
                        (blocks,),
                        (((height, pitch), FP16), ((blocks, width), FP16)),
                        types,
                        (pitch, tiles),
                        constants,
                    )
                )
    return result


def _copies() -> list[Case]:
    """Footprints around the size of L2."""
    types = {"x": "*fp16", "out": "*fp16", "chunks": "i32"}
    chunk, blocks = 8192, 40
    result = []
    for mib in (8, 32, 96, 192, 384):
        chunks = mib * (1 << 20) // (2 * 2 * chunk * blocks)
        elements = (blocks * chunks * chunk,)
        result.append(
            Case(
                "copies",
                f"{mib} MiB read and written",
                kernels.copy,
                (blocks,),
                ((elements, FP16), (elements, FP16)),
                types,
                (chunks,),
                {"CHUNK": chunk},
            )
        )
    return result


def _vectors() -> list[Case]:
    types = {"x": "*fp32", "out": "*fp32", "repeats": "i32"}
    width, repeats = 4096, 256
    result = [
        Case(
            "vector",
            operation,
            kernels.elementwise,
            (1,),
            (((width,), FP32), ((width,), FP32)),
            types,
            (repeats,),
            {"OPERATION": operation, "WIDTH": width},
        )
        for operation in ("add", "exp", "div", "sqrt")
    ]
    rows, width = 64, 2048
    sums = {"x": "*fp32", "out": "*fp32", "rows": "i32"}
    result.append(
        Case(
            "vector",
            "row sums",
            kernels.row_sums,
            (40,),
            (((40 * rows, width), FP32), ((40 * rows,), FP32)),
            sums,
            (rows,),
            {"WIDTH": width},
        )
    )
    return result


def _products() -> list[Case]:
    """Depth and shape of tiles, and sizes."""
    types = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "N": "i32", "K": "i32"}
    result = []
    shapes = [
        *((2048, (128, 256, depth)) for depth in (16, 32, 64, 128)),
        *((2048, tile) for tile in ((64, 64, 64), (128, 128, 64), (256, 128, 64))),
        *((side, (128, 256, 64)) for side in (512, 1024, 4096, 8192)),
    ]
    for side, (m, n, k) in shapes:
        square = ((side, side), FP16)
        result.append(
            Case(
                "gemm",
                f"{side}^3, tiles {m}x{n}x{k}",
                kernels.gemm,
                (side // m, side // n),
                (square, square, square),
                types,
                (side, side),
                {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k},
            )
        )
    return result


def all_cases() -> list[Case]:
    """Every case, quick ones first."""
    return [*_vectors(), *_reads(), *_copies(), *_products()]
