"""Published copies, vector kernels and single instructions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from case import Case
from copies import copy_matrix, elementwise, nd2nz_by_vcopy, repeated

from flagc.aicore.timing.operations import ND2NZ, TO_UB, Stream
from flagc.aicore.timing.rates import instruction_names


def _copy_cases() -> list[Case]:
    cases = []
    side = 12288

    def add(name: str, *, mte2: bool = True, mean: bool = False, **copy: Any) -> None:
        cores = 48 if name.startswith("aiv") else 24
        targets = {"task": "task"}
        if mte2:
            targets["mte2"] = "busy MTE2"
        if mean:
            targets["core_mean"] = "mean"
        cases.append(
            Case(
                "T5",
                name,
                1850,
                lambda: copy_matrix(cores=cores, to_ub=cores == 48, **copy),
                targets,
            )
        )

    full = {"m": side, "n": side}
    add("aiv 1", **full, tile_m=1, tile_n=64)
    add("aiv 2", **full, tile_m=64, tile_n=64)
    add("aiv 3", **full, tile_m=64, tile_n=1024)
    odd = {"m": side, "n": side - 1, "pitch": (side - 1) * 2}
    add("aiv 4", **odd, tile_m=64, tile_n=1024)
    wide = {"tile_m": 64, "tile_n": 1024, "passes": 4, "mte2": False, "mean": True}
    add("aiv 5", **full, **wide)
    add("aiv 6", **full, **wide, parts=4)
    shared = {"m": 6144, "n": 512, "tile_n": 64, "everything": True}
    add("aiv 7", **shared, tile_m=128)
    add("aiv 8", **shared, tile_m=128, rotate=True)
    add("aic 1", **full, tile_m=64, tile_n=64)
    add("aic 2", **full, tile_m=64, tile_n=256)
    add("aic 3", **odd, tile_m=64, tile_n=256)
    add("aic 4", **full, **wide)
    add("aic 5", **full, **wide, parts=4)
    add("aic 6", **shared, tile_m=256)
    add("aic 7", **shared, tile_m=256, rotate=True)
    return cases


def _number(name: str) -> int:
    return instruction_names().index(name)


def _vector_cases() -> list[Case]:
    cases = []

    def add_repeats(conflict: int) -> Callable[[Stream, int], None]:
        def compute(stream: Stream, count: int) -> None:
            for at in range(0, count, 128 * 255):
                stream.vector(_number("VADD.f16"), -(-min(count - at, 128 * 255) // 128), conflict)

        return compute

    rows: tuple[tuple[str, int, int, int, bool, int], ...] = (
        ("add 1", 1, 4096, 1, False, 1),
        ("add 2", 48, 4096, 1, False, 1),
        ("add 3", 48, 16384, 1, False, 1),
        ("add 4", 48, 16384, 2, False, 1),
        ("add 5", 48, 16384, 2, True, 1),
        ("add 6", 48, 16256, 2, True, 0),
    )
    for name, cores, chunk, buffers, bypass, conflict in rows:
        build = partial(
            elementwise,
            cores=cores,
            elements=8192 * 8192,
            chunk=chunk,
            element=2,
            inputs=2,
            compute=add_repeats(conflict),
            buffers=buffers,
            bypass=bypass,
        )
        cases.append(
            Case(
                "T7",
                name,
                1850,
                build,
                {
                    "task": "task",
                    "vec": "busy V",
                    "mte2": "busy MTE2",
                    "mte3": "busy MTE3",
                },
            )
        )
    for name, conflict in (("nd2nz vcopy 1", 7), ("nd2nz vcopy 2", 0)):
        cases.append(
            Case(
                "T9",
                name,
                1850,
                lambda conflict=conflict: nd2nz_by_vcopy(
                    cores=48,
                    side=8192,
                    tile_m=144,
                    tile_n=128,
                    name=_number("VCOPY.u16"),
                    conflict=conflict,
                ),
                {"task": "task", "vec": "busy V", "mte2": "busy MTE2", "mte3": "busy MTE3"},
            )
        )
    cases.append(
        Case(
            "T10",
            "gelu",
            1850,
            lambda: elementwise(
                cores=48,
                elements=8192 * 8192,
                chunk=8192,
                element=4,
                inputs=1,
                compute=gelu,
                buffers=2,
            ),
            {"task": "task", "vec": "busy V", "mte2": "busy MTE2", "mte3": "busy MTE3"},
            why="chunks of 8192 floats assumed",
        )
    )
    return cases


def gelu(stream: Stream, count: int) -> None:
    """x*x, *x, muls, add, muls, exp, adds, div, with a barrier after each."""
    repeats = -(-count // 64)
    names = ("VMUL", "VMUL", "VMULS", "VADD", "VMULS", "VEXP", "VADDS", "VDIV")
    for name in names:
        two = name in ("VMUL", "VADD", "VDIV")
        for at in range(0, repeats, 255):
            stream.vector(_number(f"{name}.f32"), min(255, repeats - at), int(two))
        stream.barrier("V")


# Of MindStudio's tables, which have two thirds of all rows, a few sizes each.
COPY_KB = {
    "T13-gm-l1": (1, 4, 16, 64, 128, 256, 512),
    "T13-gm-l1-nd2nz": (4, 16, 32, 64, 80, 96, 112, 128, 160, 192),
    "T13-gm-ub": (1, 4, 8, 16, 32, 64, 128, 192),
    "T13-ub-gm": (1, 4, 8, 16, 32, 64),
    "T13-l0c-gm": (1, 4, 16, 32, 64, 128),
    "T13-l0c-gm-nz2nd": (1, 4, 16, 32),
}
# Cycles of the loop around each instruction there (scalar code and the meeting of the pipes).
LOOP = 60
REPEATED = 64
ND2NZ_ROWS = 256  # of MindStudio's copies: what their saw-tooth in size says


def _single_cases() -> list[Case]:
    cases = []
    region = 64 << 20

    def body(table: str, size: int) -> Callable[[Stream, int], None]:
        def add(stream: Stream, index: int) -> None:
            at = index * size if table == "T13-gm-ub" else 0
            if table == "T13-gm-l1":
                stream.read(0, 0, 1, size, 0, 0)
            elif table == "T13-gm-l1-nd2nz":
                width = size // ND2NZ_ROWS
                stream.read(0, 0, ND2NZ_ROWS, width, width, ND2NZ)
            elif table == "T13-gm-ub":
                stream.read(0, at, 1, size, 0, TO_UB)
            elif table == "T13-ub-gm":
                stream.write("MTE3", 0, 0, 1, size, 0, size)
            else:
                stream.write("FIX", 0, 0, 1, size // 2, 0, size)

        return add

    for table, sizes in COPY_KB.items():
        fix = table.startswith("T13-l0c")
        for kib in sizes:
            label = f"{kib} KB" if table == "T13-gm-l1" else f"{kib}"
            cases.append(
                Case(
                    table,
                    label,
                    1850,
                    lambda table=table, kib=kib, fix=fix: repeated(
                        body(table, kib * 1024),
                        count=REPEATED,
                        region_bytes=region,
                        cube=table not in ("T13-gm-ub", "T13-ub-gm"),
                        overhead=0 if fix else LOOP,
                        synchronise=not fix,
                    ),
                    {"cycles_per_copy": "cycles a copy"},
                    count=REPEATED,
                    why="fresh data each time (T13-gm-ub), the same data otherwise",
                )
            )
    return cases


def _rate_cases() -> list[Case]:
    cases = []
    copies, size = 256, 16384

    for cores in (2, 8, 16, 24, 32, 40, 48):

        def add(stream: Stream, index: int) -> None:
            stream.read(0, index * size, 1, size, 0, TO_UB)

        cases.append(
            Case(
                "T14",
                f"GM->UB {cores} cores",
                1850,
                lambda cores=cores: repeated(
                    add,
                    count=copies,
                    region_bytes=cores * copies * size,
                    cores=cores,
                    cube=False,
                    apart=copies * size,
                    synchronise=False,
                ),
                {"rate_per_core": "GiB/s a core"},
                why="copies of 16 KB of fresh data assumed: the source states neither",
                flags={"bytes": copies * size},
            )
        )
    return cases


def copy_cases() -> list[Case]:
    """T5, T7, T9, T10's GELU, T13 and T14."""
    return [*_copy_cases(), *_vector_cases(), *_single_cases(), *_rate_cases()]
