"""Published measurements that the model can reproduce: how each is built, and what is compared.

A `Case` is one launch; its `targets` are (measure of published.toml, what the model gives for it).
`why` states what the source leaves open and what was assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from copies import copy_matrix, elementwise, nd2nz_by_vcopy, repeated
from gemm import Gemm, launch, split_tiles, swizzled_tiles

from flagc.aicore.timing.operations import ND2NZ, TO_UB, Stream
from flagc.aicore.timing.rates import instruction_names

# Scalar cycles of the Matmul API in each base_k step: T1's scalar counters over its 262144 steps
# (norm 449, MDL 250 to 350, constant tiling 164 to 174), and of the basic API, T8: 57.
API_NORM, API_MDL, API_CONSTANT, API_BASIC = 449, 300, 164, 30
# Start of the Matmul API in a core, T4 "constant tiling": 3.5 us, 2.2 us with constant tiling.
START_US, START_CONSTANT_US = 3.5, 2.2


@dataclass(frozen=True)
class Case:
    """One published launch.

    With `less`, `extrapolate` times what `build` exceeds `less` by is added to what `build` takes.
    """

    table: str
    name: str
    clock: float  # MHz
    build: Callable[[], object]
    targets: dict[str, str]
    why: str = ""
    less: Callable[[], object] | None = None
    extrapolate: float = 0.0
    chip: str = "910B1"
    count: int = 1
    fitted: bool = True
    flags: dict[str, Any] = field(default_factory=dict)


PIPES_OF_T1 = {"mac": "busy M", "mte1": "busy MTE1", "mte2": "busy MTE2"}


def _gemm_cases() -> list[Case]:
    cases: list[Case] = []
    side = 8192

    def t1(number: int, shape: Gemm, tiles: Any, fix: bool, **more: Any) -> None:
        targets = {"task": "task", **PIPES_OF_T1}
        if fix:
            targets["fixpipe"] = "busy FIX"
        cases.append(
            Case("T1", f"case {number}", 1850, lambda: launch(shape, tiles(shape)), targets, **more)
        )

    def one(shape: Gemm) -> Any:
        return split_tiles(shape, 1, 1, m_outer=False)

    norm = {"buffers_a": 1, "buffers_b": 1, "api": API_NORM}
    # One core: the launch of some columns, and what each further such part adds.
    for number, base, columns, area in ((0, (64, 64), 256, side), (1, (128, 256), 512, side)):
        small = Gemm(side, columns, side, *base, 64, **norm)
        large = Gemm(side, 2 * columns, side, *base, 64, **norm)
        cases.append(
            Case(
                "T1",
                f"case {number}",
                1850,
                lambda large=large: launch(large, one(large)),
                {"task": "task", **PIPES_OF_T1},
                less=lambda small=small: launch(small, one(small)),
                extrapolate=area / columns - 2,
                why=f"simulated for {columns} and {2 * columns} columns and extended to 8192: each "
                "further column does the same",
            )
        )

    def split(m: int, n: int, halves: int = 1, single_n: int = 0) -> Any:
        return lambda shape: split_tiles(
            shape, m, n, m_outer=False, halves=halves, single_n=single_n
        )

    for number, tiles in ((2, split(2, 12, single_n=683)), (3, split(4, 6, single_n=1536))):
        short = Gemm(side, side, side // 8, 128, 256, 64, **norm)
        twice = Gemm(side, side, side // 4, 128, 256, 64, **norm)
        cases.append(
            Case(
                "T1",
                f"case {number}",
                1850,
                lambda twice=twice, tiles=tiles: launch(twice, tiles(twice)),
                {"task": "task", **PIPES_OF_T1},
                less=lambda short=short, tiles=tiles: launch(short, tiles(short)),
                extrapolate=6,
                why="simulated for K 1024 and 2048 and extended to 8192: each further step of "
                "K does the same",
            )
        )
    mdl4 = Gemm(side, side, side, 128, 256, 64, 2, 2, api=API_MDL)
    t1(4, mdl4, split(4, 6, single_n=1536), True, why="stepKb 2 assumed")
    mdl = Gemm(side, side, side, 128, 256, 64, 8, 4, api=API_MDL)
    t1(5, mdl, split(4, 6, single_n=1536), True, why="stepKb 4, as in the basic-API twin")
    t1(6, mdl, split(4, 6, 2, 1536), True)
    constant = Gemm(side, side, side, 128, 256, 64, 8, 4, api=API_CONSTANT)
    t1(7, constant, split(4, 6, 2, 1536), True)
    unit = Gemm(side, side, side, 128, 256, 64, 8, 4, api=API_CONSTANT, unit_flag=True)
    t1(8, unit, split(4, 6, 2, 1536), False)
    basic = Gemm(side, side, side, 128, 256, 64, 8, 4, api=API_BASIC, unit_flag=True)
    for number, halves in ((1, 1), (2, 2)):
        cases.append(
            Case(
                "T8",
                f"basic {number}",
                1850,
                lambda halves=halves: launch(basic, split(4, 6, halves, 1536)(basic)),
                {"task": "task", **PIPES_OF_T1},
            )
        )
    fp32_out = Gemm(
        side, side, side, 128, 256, 64, 8, 4, api=API_BASIC, unit_flag=True, out_element=4
    )
    cases.append(
        Case(
            "T10",
            "matmul",
            1850,
            lambda: launch(fp32_out, split(4, 6, 1, 1536)(fp32_out)),
            {"task": "task", **PIPES_OF_T1},
            why="shape 8192^3 (the page's figure does not fit its counters)",
        )
    )
    for n in (1536, 3072, 6144, 7680):
        shape = Gemm(n, n, n, 128, 256, 64, 4, 4, out_element=4, api=API_BASIC, tile_barrier=True)
        cases.append(
            Case(
                "T2",
                f"{n}^3",
                1850,
                lambda shape=shape: launch(shape, split_tiles(shape, 4, 6, m_outer=True)),
                {
                    "task": "task",
                    "mac_ratio": "ratio M",
                    "mte1_ratio": "ratio MTE1",
                    "mte2_ratio": "ratio MTE2",
                    "fixpipe_ratio": "ratio FIX",
                },
                why="1850 MHz: at 1800 the published mac share would exceed the Cube's limit",
                chip="910_9391",
            )
        )
    return cases


def _catlass_cases() -> list[Case]:
    cases = []

    def add(name: str, shape: Gemm, cores: int, offset: int, direction: int, clock: float) -> None:
        cases.append(
            Case(
                "T3",
                name,
                clock,
                lambda: launch(shape, swizzled_tiles(shape, cores, offset, direction)),
                {"task": "task"},
                why="clock by core count (20: 910B3, 24: 910B1); swizzle as in the row, the "
                "documented default where it does not say",
                chip="910B3" if cores == 20 else "910B1",
            )
        )

    def l1(m: int, n: int, k: int, tile: tuple[int, int, int], **more: Any) -> Gemm:
        return Gemm(m, n, k, tile[0], tile[1], tile[2] // 4, 4, 4, api=API_BASIC, **more)

    for tile in ((128, 256, 256), (256, 128, 256)):
        add(
            f"1 L1 {tile[0]}x{tile[1]}x{tile[2]} swizzle 3,0?",
            l1(1024, 576, 6144, tile),
            20,
            3,
            0,
            1800,
        )
    for layout in ("zN", "row"):
        for tile in ((128, 256, 256), (32, 320, 128)):
            shape = l1(20, 6144, 16384, tile, layout_b="zn" if layout == "zN" else "kn")
            name = f"2 {layout} L1 {tile[0]}x{tile[1]}x{tile[2]} swizzle 3,1?"
            add(name, shape, 20, 3, 1, 1800)
    for tile in ((128, 128, 256), (16, 32, 1024)):
        shape = l1(1, 768, 5120, tile, element=4, out_element=4, k_per_step=4)
        add(f"3 L1 {tile[0]}x{tile[1]}x{tile[2]} swizzle 3,0?", shape, 24, 3, 0, 1850)
    for offset in (3, 4):
        shape = l1(160, 6144, 2048, (128, 256, 256), layout_b="zn")
        add(f"4 swizzle L1 128x256x256 swizzle {offset},1", shape, 20, offset, 1, 1800)
    return cases


def _api_cases() -> list[Case]:
    cases = []
    start = round(START_US * 1850)
    constant_start = round(START_CONSTANT_US * 1850)

    def add(
        name: str,
        shape: Gemm,
        tiles: Any,
        targets: dict[str, str],
        clock: float = 1850,
        firsts: Any = None,
        why: str = "",
    ) -> None:
        chip = "910B3" if clock == 1800 else "910B1"
        cases.append(
            Case(
                "T4",
                name,
                clock,
                lambda: launch(shape, tiles(shape), firsts),
                targets,
                why=why,
                chip=chip,
            )
        )

    def split(m: int, n: int, m_outer: bool = False) -> Any:
        return lambda shape: split_tiles(shape, m, n, m_outer=m_outer)

    open_ = "20 cores: 910B3, 1800 MHz; B not transposed; split of the cores assumed"
    small = Gemm(4096, 5120, 4096, 64, 64, 256, layout_b="kn", out_element=4, api=API_NORM)
    add("tiling a", small, split(2, 2), {"task": "task"}, 1800, why=open_)
    add("tiling b", small, split(4, 5), {"task": "task", "mte2": "busy MTE2"}, 1800, why=open_)
    large = Gemm(4096, 5120, 4096, 128, 256, 64, layout_b="kn", out_element=4, api=API_NORM)
    add("tiling c", large, split(4, 5), {"mte2": "busy MTE2"}, 1800, why=open_)
    packets = Gemm(4096, 5120, 4096, 128, 256, 64, 4, 4, layout_b="kn", out_element=4, api=API_MDL)
    add("tiling d", packets, split(4, 5), {"mte2": "busy MTE2"}, 1800, why=open_)
    core = {"core_max": "core", "mte2": "busy MTE2"}
    shape = {"layout_b": "kn", "start": start}
    add("mdl norm", Gemm(128, 30720, 1024, 128, 256, 64, api=API_NORM, **shape), split(1, 24), core)
    add(
        "mdl mdl",
        Gemm(128, 30720, 1024, 128, 256, 64, 4, 4, api=API_MDL, **shape),
        split(1, 24),
        core,
    )
    plain = Gemm(768, 2048, 6144, 128, 256, 64, 4, 4, api=API_MDL, **shape)
    task = {"task": "task", "mte2": "busy MTE2"}
    add("k plain", plain, split(6, 4), task, why="stepK 4 assumed")
    add(
        "k reordered",
        plain,
        split(6, 4),
        task,
        firsts=[core_ * 96 // 24 // 4 * 4 for core_ in range(24)],
        why="each core starts at its own 24th of K",
    )
    add(
        "constant tiling off",
        Gemm(128, 30720, 64, 128, 256, 64, api=API_MDL, keep_a=True, **shape),
        split(1, 24),
        {"core_max": "core"},
    )
    add(
        "constant tiling on",
        Gemm(
            128,
            30720,
            64,
            128,
            256,
            64,
            api=API_CONSTANT,
            layout_b="kn",
            keep_a=True,
            start=constant_start,
        ),
        split(1, 24),
        {"core_max": "core"},
    )
    for name, halves in (("l2 whole", 1), ("l2 split", 2)):
        big = Gemm(30720, 4096, 1024, 128, 256, 64, 4, 4, api=API_CONSTANT, start=constant_start)
        add(
            name,
            big,
            lambda shape, halves=halves: split_tiles(shape, 12, 2, m_outer=False, halves=halves),
            {"core_mean": "mean", "mte2": "busy MTE2"},
            why="stepK 4 and a split of 12x2 assumed",
        )
    for name, buffers in (("preload off", 1), ("preload on", 2)):
        add(
            name,
            Gemm(
                128,
                24576,
                512,
                128,
                128,
                64,
                8,
                8,
                buffers_a=1,
                buffers_b=buffers,
                keep_a=True,
                api=API_MDL,
                **shape,
            ),
            split(1, 24),
            {"core_mean": "mean"},
            why="preload as a second buffer that is filled one step earlier",
        )
    add(
        "nd2nz by mte2",
        Gemm(1024, 4095, 1024, 128, 256, 64, 4, 4, api=API_MDL, b_row_pitch=8190, **shape),
        split(8, 3),
        core,
        why="rows of 8190 bytes",
    )
    return cases


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


# Variants of one kernel on one chip: by table, names that begin alike or are listed together.
VARIANTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("T1", ("case 0", "case 1")),
    ("T1", ("case 2", "case 3", "case 4", "case 5", "case 6", "case 7", "case 8")),
    ("T3", ("1 L1",)),
    ("T3", ("2 zN", "2 row")),
    ("T3", ("3 L1",)),
    ("T3", ("4 swizzle",)),
    ("T4", ("tiling a",)),
    ("T4", ("mdl",)),
    ("T4", ("k ",)),
    ("T4", ("constant",)),
    ("T4", ("l2",)),
    ("T4", ("preload",)),
    ("T5", ("aiv 1", "aiv 2", "aiv 3", "aiv 4")),
    ("T5", ("aiv 5", "aiv 6")),
    ("T5", ("aiv 7", "aiv 8")),
    ("T5", ("aic 1", "aic 2", "aic 3")),
    ("T5", ("aic 4", "aic 5")),
    ("T5", ("aic 6", "aic 7")),
    ("T7", ("add 2", "add 3", "add 4", "add 5", "add 6")),
    ("T8", ("basic",)),
    ("T9", ("nd2nz",)),
)


def variant_of(table: str, name: str) -> int | None:
    """Which group of variants a case belongs to."""
    for index, (of_table, beginnings) in enumerate(VARIANTS):
        if table == of_table and name.startswith(beginnings):
            return index
    return None


def all_cases() -> list[Case]:
    """Every case, by table."""
    return [
        *_gemm_cases(),
        *_catlass_cases(),
        *_api_cases(),
        *_copy_cases(),
        *_vector_cases(),
        *_single_cases(),
        *_rate_cases(),
    ]
