"""Published matrix multiplications."""

from __future__ import annotations

from typing import Any

from case import Case
from gemm import Gemm, launch, split_tiles, swizzled_tiles

# Scalar cycles of the Matmul API in each base_k step: T1's scalar counters over its 262144 steps
# (norm 449, MDL 250 to 350, constant tiling 164 to 174), and of the basic API, T8: 57.
API_NORM, API_MDL, API_CONSTANT, API_BASIC = 449, 300, 164, 30
# Start of the Matmul API in a core, T4 "constant tiling": 3.5 us, 2.2 us with constant tiling.
START_US, START_CONSTANT_US = 3.5, 2.2

PIPES_OF_T1 = {"mac": "busy M", "mte1": "busy MTE1", "mte2": "busy MTE2"}
SIDE = 8192
TILE = (128, 256, 64)
ON_T1 = {"task": "task", **PIPES_OF_T1}


def _split(m: int, n: int, halves: int = 1, single_n: int = 0) -> Any:
    return lambda shape: split_tiles(shape, m, n, m_outer=False, halves=halves, single_n=single_n)


def _square(**shape: Any) -> Gemm:
    """8192^3 by T1's tiles."""
    return Gemm(SIDE, SIDE, SIDE, *TILE, **shape)


def _norm_cases() -> list[Case]:
    """T1 cases 0 to 3: one buffer, simulated in part and extended."""
    cases: list[Case] = []
    norm = {"buffers_a": 1, "buffers_b": 1, "api": API_NORM}

    def add(number: int, small: Gemm, large: Gemm, tiles: Any, parts: float, why: str) -> None:
        cases.append(
            Case(
                "T1",
                f"case {number}",
                1850,
                lambda: launch(large, tiles(large)),
                ON_T1,
                less=lambda: launch(small, tiles(small)),
                extrapolate=parts - 2,
                why=why,
            )
        )

    for number, base, columns in ((0, (64, 64), 256), (1, (128, 256), 512)):
        small, large = (Gemm(SIDE, n, SIDE, *base, 64, **norm) for n in (columns, 2 * columns))
        why = f"simulated for {columns} and {2 * columns} columns and extended to {SIDE}"
        add(number, small, large, _split(1, 1), SIDE / columns, why)
    for number, tiles in ((2, _split(2, 12, single_n=683)), (3, _split(4, 6, single_n=1536))):
        small, large = (Gemm(SIDE, SIDE, SIDE // part, *TILE, **norm) for part in (8, 4))
        why = f"simulated for K {SIDE // 8} and {SIDE // 4} and extended to {SIDE}"
        add(number, small, large, tiles, 8, why)
    return cases


def _square_cases() -> list[Case]:
    """T1 cases 4 to 8, T8 and T10's product."""
    mdl = {"step_a": 8, "step_b": 4, "api": API_MDL}
    constant = {**mdl, "api": API_CONSTANT}
    basic = _square(step_a=8, step_b=4, api=API_BASIC, unit_flag=True)
    fp32 = _square(step_a=8, step_b=4, api=API_BASIC, unit_flag=True, out_element=4)
    fix = {**ON_T1, "fixpipe": "busy FIX"}
    whole, halves = _split(4, 6, single_n=1536), _split(4, 6, 2, 1536)
    first = _square(step_a=2, step_b=2, api=API_MDL)
    twin = "stepKb 4, as in the basic-API twin"
    page = "shape 8192^3 (the page's figure does not fit its counters)"
    rows: tuple[tuple[str, str, Gemm, Any, dict[str, str], str], ...] = (
        ("T1", "case 4", first, whole, fix, "stepKb 2 assumed"),
        ("T1", "case 5", _square(**mdl), whole, fix, twin),
        ("T1", "case 6", _square(**mdl), halves, fix, ""),
        ("T1", "case 7", _square(**constant), halves, fix, ""),
        ("T1", "case 8", _square(**constant, unit_flag=True), halves, ON_T1, ""),
        ("T8", "basic 1", basic, whole, ON_T1, ""),
        ("T8", "basic 2", basic, halves, ON_T1, ""),
        ("T10", "matmul", fp32, whole, ON_T1, page),
    )
    return [
        Case(
            table,
            name,
            1850,
            lambda shape=shape, tiles=tiles: launch(shape, tiles(shape)),
            targets,
            why,
        )
        for table, name, shape, tiles, targets, why in rows
    ]


def _pto_cases() -> list[Case]:
    """T2."""
    cases = []
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


def gemm_cases() -> list[Case]:
    """T1, T2, T3, T4, T8 and T10's product."""
    return [
        *_norm_cases(),
        *_square_cases(),
        *_pto_cases(),
        *_catlass_cases(),
        *_api_cases(),
    ]
