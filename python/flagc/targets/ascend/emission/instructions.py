"""Operand words of the AI Core's instructions: where each field lies, and who says so.

`pack(scalars, ND2NZ_SHAPE, matrices=1, rows=rows, columns=64)` makes a word of named fields. Fields
that are not named are zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flagc.targets.ascend.emission.scalars import Scalar, Scalars


@dataclass(frozen=True)
class Word:
    """One 64-bit operand: fields as [low, high) bits; `source` says where they were read."""

    name: str
    source: str
    fields: Mapping[str, tuple[int, int]]


# Global rows to fractals of L1. Strides of global memory count elements, those of L1 32 bytes.
ND2NZ_SHAPE = Word(
    "MOV.OUT.TO.L1.MULTI.ND2NZ, third operand",
    "device library nd2nz_*; AscendC Nd2NzParams",
    {"matrices": (4, 16), "rows": (16, 32), "columns": (32, 48), "matrix_stride": (48, 64)},
)
ND2NZ_STRIDES = Word(
    "MOV.OUT.TO.L1.MULTI.ND2NZ, fourth operand",
    "device library nd2nz_*; AscendC Nd2NzParams",
    {
        **{"source_row": (0, 16), "target_fractal_column": (16, 32)},
        **{"target_row": (32, 48), "target_matrix": (48, 64)},
    },
)
# Runs of 32-byte blocks of one value, `gap` blocks between them.
FILL = Word(
    "CREATE.CBUF.MATRIX, second operand",
    "device library set_l1_2d_*; AscendC InitConstValueParams",
    {"repeat": (0, 15), "blocks": (16, 31), "gap": (32, 47)},
)
# The feature map of which LOAD.3DV2 takes a window: for matrices, its height is 1.
FEATURE_MAP = Word(
    "SET.FMATRIX and SET.FMATRIX.B",
    "device library mma_tile_*; AscendC SetFmatrix",
    {"width": (0, 16), "height": (16, 32)},
)
WINDOW_EXTENT = Word(
    "LOAD.L1.TO.L0A/L0B.3DV2, third operand",
    "device library mma_tile_*; AscendC LoadData3DParamsV2",
    {"columns": (0, 16), "rows": (16, 32), "first_column": (32, 48), "first_row": (48, 64)},
)
WINDOW_SHAPE = Word(
    "LOAD.L1.TO.L0A/L0B.3DV2, fourth operand",
    "device library mma_tile_*; AscendC LoadData3DParamsV2",
    {
        **{"stride_width": (0, 6), "stride_height": (6, 12)},
        **{"kernel_width": (12, 20), "kernel_height": (20, 28)},
        **{"dilation_width": (28, 36), "dilation_height": (36, 44)},
        **{"transpose": (46, 47), "second_map": (47, 48), "channels": (48, 64)},
    },
)
# Whole fractals of 512 bytes (of the transposing form: squares of 1024), in these units. `gap` lies
# between targets.
FRACTALS = Word(
    "LOAD.L1.TO.L0A/L0B.2D, third operand",
    "device library mma_tile_*; AscendC LoadData2DParams and LoadData2dTransposeParams",
    {"first": (0, 16), "repeat": (16, 24), "source_stride": (24, 40), "gap": (44, 60)},
)
BIAS_MOVE = Word(
    "MOV.L1.TO.BT, third operand",
    "device library mma_tile_with_*_bias_*; AscendC DataCopy to C2 (64 bytes of the source)",
    {
        **{"from_f16": (3, 4), "bursts": (4, 16), "length": (16, 32)},
        **{"source_gap": (32, 48), "target_gap": (48, 64)},
    },
)
PRODUCT = Word(
    "MAD, fourth operand",
    "device library mma_tile_*; AscendC MmadParams",
    {
        **{"m": (0, 12), "k": (12, 24), "n": (24, 36), "unit_flag": (55, 57)},
        **{"k_aligned": (58, 59), "from_bias": (62, 63), "from_zero": (63, 64)},
    },
)
# MAD's first operand when it starts from a bias.
ACCUMULATOR = Word(
    "MAD, first operand",
    "device library mma_tile_with_*_bias_*",
    {"address": (0, 32), "bias": (32, 64)},
)
# Strides: of the target elements, of the source fractal rows (64 bytes).
STORE_SHAPE = Word(
    "FIX.L0C.TO.OUT, third operand",
    "device library fixpipe_nz2nd_*; AscendC FixpipeParamsV220",
    {"n": (4, 16), "m": (16, 32), "target_stride": (32, 64)},
)
STORE_OPTIONS = Word(
    "FIX.L0C.TO.OUT, fourth operand",
    "device library fixpipe_nz2nd_*; AscendC FixpipeParamsV220",
    {
        **{"source_stride": (0, 16), "unit_flag": (32, 34), "convert": (34, 39)},
        **{"relu": (39, 42), "split": (42, 43), "rows": (43, 44)},
    },
)
MATRICES = Word(
    "SET.ND.PARA",
    "device library fixpipe_nz2nd_*; AscendC SetFixpipeNz2ndFlag",
    {"count": (0, 16), "source_stride": (16, 32), "target_stride": (32, 48)},
)
# Rows between global memory and UB. Gaps count bytes in global memory and blocks in UB.
UB_MOVE = Word(
    "MOV.OUT.TO.UB.ALIGN and MOV.UB.TO.OUT.ALIGN, third operand",
    "device library load_gm_to_ubuf_*; AscendC DataCopyExtParams",
    {"bursts": (4, 16), "bytes": (16, 37)},
)
UB_GAPS = Word(
    "MOV.OUT.TO.UB.ALIGN and MOV.UB.TO.OUT.ALIGN, fourth operand",
    "device library load_gm_to_ubuf_*; AscendC DataCopyExtParams",
    {"source": (0, 32), "target": (32, 64)},
)
# Strides of vector instructions count blocks of 32 bytes.
VECTOR_UNARY = Word(
    "vector instructions of one operand, third operand",
    "device library vcast_*, vexp_*; AscendC UnaryRepeatParams",
    {
        **{"target_block": (0, 16), "source_block": (16, 32), "target_repeat": (32, 40)},
        **{"source_repeat": (40, 52), "repeat": (56, 64)},
    },
)
VECTOR_BINARY = Word(
    "vector instructions of two operands, fourth operand",
    "device library vadd_*, vsel_*; AscendC BinaryRepeatParams",
    {
        **{"target_block": (0, 8), "left_block": (8, 16), "right_block": (16, 24)},
        **{"target_repeat": (24, 32), "left_repeat": (32, 40), "right_repeat": (40, 48)},
        **{"mode": (48, 50), "repeat": (56, 64)},
    },
)


def pack(scalars: Scalars, word: Word, **values: Scalar) -> Scalar:
    """Return the word with these fields, one number if all of them are.

    Numbers are held against the fields' widths; for a run-time value its maker is responsible.

    Raises:
        ValueError: a number does not fit its field.
    """
    fixed = 0
    result: Scalar = 0
    for name, value in values.items():
        low, high = word.fields[name]
        if isinstance(value, int):
            if not 0 <= value < 1 << (high - low):
                raise ValueError(
                    f"{word.name}: {name} = {value} does not fit its {high - low} bits"
                )
            fixed |= value << low
        else:
            result = scalars.bit_or(result, scalars.shift_left(value, low))
    return scalars.bit_or(result, fixed)


def fits(word: Word, name: str, value: int) -> bool:
    """Return whether a number fits field `name`."""
    low, high = word.fields[name]
    return 0 <= value < 1 << (high - low)


def most(word: Word, name: str) -> int:
    """Return the largest number of field `name`."""
    low, high = word.fields[name]
    return (1 << (high - low)) - 1
