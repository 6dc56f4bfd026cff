"""Modelled timings for people."""

from __future__ import annotations

import math
from typing import Any

from flagc.bench.modelled import ModelledLaunch
from flagc.pipeline.diagnostics import Table
from flagc.report import terminal

_SHOWN_CAUSES = 3


def _candidates(launch: ModelledLaunch) -> Table:
    rows: list[tuple[str | int | float, ...]] = []
    for index, (name, timing) in enumerate(launch.timings.items()):
        hit = "" if timing.l2_hit is None else f"{timing.l2_hit:.1%}"
        critical = timing.critical
        rows.append(
            (
                name,
                f"{timing.microseconds:.2f}",
                f"± {timing.band:.0%}",
                f"{timing.cycles:.0f}",
                f"{timing.cube_share:.1%}" if timing.cube_share else "",
                hit,
                "" if critical is None else f"{critical.core} {critical.pipe} {critical.busy:.0%}",
                "" if index == 0 else launch.verdict(name),
            )
        )
    grid = "x".join(map(str, launch.grid))
    columns = (
        "candidate",
        "us",
        "band",
        "cycles",
        "of cube limit",
        "L2 hits",
        "critical pipe",
        "kernel is, against it",
    )
    return Table(f"{launch.kernel}, grid {grid}", columns, tuple(rows), "", "bench")


def _pipes(timing: Any) -> Table:
    rows = tuple(
        (
            f"{use.core} {use.pipe}",
            f"{use.busy:.1%}",
            use.instructions,
            ", ".join(
                f"{cause} {share:.1%}" for cause, share in list(use.idle.items())[:_SHOWN_CAUSES]
            ),
        )
        for use in timing.pipes
    )
    return Table(
        "Pipes, of the slowest core's time", ("pipe", "busy", "instructions", "idle for"), rows
    )


def _traffic(timing: Any) -> str:
    sizes = [f"{name.replace('_', ' ')} {_size(size)}" for name, size in timing.traffic.items()]
    return ", ".join(size for size in sizes if not size.endswith(" 0 B"))


def _size(count: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count:.0f} B"


def print_modelled(modelled: list[ModelledLaunch]) -> None:
    """Print all timings, and what they stand on."""
    console = terminal.out()
    for launch in modelled:
        terminal.print_table(_candidates(launch))
        first = next(iter(launch.timings.values()))
        terminal.print_table(_pipes(first))
        console.print(
            f"bytes: {_traffic(first)}; {first.blocks} blocks on {first.cores} cores",
            markup=False,
            soft_wrap=True,
        )
        console.print(
            f"by {launch.device}, at {first.clock_mhz} MHz: nine of ten published kernels are "
            f"within ± {first.band:.0%}, ratios within {math.exp(first.pair_band) - 1:.0%} "
            "(docs/ascend-timing.md); nothing was measured on an NPU",
            markup=False,
            soft_wrap=True,
        )
