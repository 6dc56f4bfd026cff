"""Times recorded launches: what a chip would take, where the time goes, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flagc.aicore.native import native
from flagc.aicore.timing.costs import cost_table, native_costs
from flagc.aicore.timing.operations import PIPE_NAMES, PIPES
from flagc.aicore.timing.rates import instruction_names
from flagc.errors import UsageError
from flagc.targets.ascend.chips import AscendChip

# Why a pipe stood still, numbered as in tools/aicore/timing/simulation.h; 0 to 10: a pipe's flag.
_CAUSES = {11: "scalar unit issues", 12: "barrier", 13: "another core's flag", 14: "no block"}
_KINDS = ("AIC", "AIV")


@dataclass(frozen=True)
class PipeUse:
    """One pipe of all cores of a kind, as shares of the slowest core's time.

    `busy`: an instruction is under way. `idle` is by what the next instruction waited for.
    """

    core: str
    pipe: str
    busy: float
    instructions: int
    idle: dict[str, float]

    def describe(self) -> dict[str, Any]:
        """Return the pipe as plain data."""
        return {
            "core": self.core,
            "pipe": self.pipe,
            "busy": round(self.busy, 4),
            "instructions": self.instructions,
            "idle": {cause: round(share, 4) for cause, share in self.idle.items()},
        }


@dataclass(frozen=True)
class TimedInstruction:
    """An instruction with its time in microseconds since the launch's cores began."""

    name: str
    pipe: str
    core: str
    slot: int
    block: int
    start: float
    end: float


@dataclass(frozen=True)
class Timing:
    """What the model says about one launch.

    Attributes:
        chip, clock_mhz, version: for which chip, by which constants.
        cycles: of the launch, in core cycles, with the launch's overhead.
        microseconds: the same as time.
        band, pair_band: see `flagc.aicore.timing.costs.CostTable`.
        core_microseconds: of the slowest core.
        cube_share: multiply-accumulates of what the chip's cubes could do in that time.
        traffic: bytes by memory level.
        l2_hit: share of the bytes read from global memory that L2 had; None when none were read.
        with_data: whether the launch was executed to get its instructions (its scalar code reads
            what vector or cube instructions compute), not only walked through.
    """

    chip: str
    clock_mhz: float
    version: str
    cycles: float
    microseconds: float
    band: float
    pair_band: float
    core_microseconds: float
    blocks: int
    cores: int
    cube_share: float
    traffic: dict[str, float]
    l2_hit: float | None
    pipes: tuple[PipeUse, ...]
    with_data: bool
    trace: tuple[TimedInstruction, ...] = ()

    @property
    def critical(self) -> PipeUse | None:
        """The pipe that is busy longest."""
        return max(self.pipes, key=lambda pipe: pipe.busy, default=None)

    def describe(self) -> dict[str, Any]:
        """Return everything but the trace as plain data."""
        critical = self.critical
        return {
            "chip": self.chip,
            "clock_mhz": self.clock_mhz,
            "model_version": self.version,
            "cycles": round(self.cycles),
            "microseconds": round(self.microseconds, 3),
            "band": self.band,
            "pair_band": self.pair_band,
            "core_microseconds": round(self.core_microseconds, 3),
            "blocks": self.blocks,
            "cores": self.cores,
            "share_of_cube_limit": round(self.cube_share, 4),
            "bytes": {level: round(size) for level, size in self.traffic.items()},
            "l2_hit_share": None if self.l2_hit is None else round(self.l2_hit, 4),
            "critical_pipe": None if critical is None else f"{critical.core} {critical.pipe}",
            "pipes": [pipe.describe() for pipe in self.pipes],
            "with_data": self.with_data,
        }


def time_launch(
    recorded: Any, chip: AscendChip, *, with_data: bool = False, trace: bool = False
) -> Timing:
    """Time a recorded launch (`EmulatedKernel.record`) on `chip`.

    Raises:
        UsageError: no source gives the chip's clock.
    """
    if chip.clock_mhz is None:
        raise UsageError(
            f"{chip.short_name}: no public source gives its clock, so nothing can be timed for it"
        )
    recorded.slots = chip.cube_cores if recorded.cube else chip.vector_cores
    table = cost_table()
    costs = native_costs(chip, chip.clock_mhz, table.values())
    result = native().simulate(recorded, costs, trace=trace)
    traffic = dict(result.traffic)
    traffic.pop("sharers")
    steps = traffic.pop("mad_steps")
    read, missed = traffic["l2_read"], traffic["hbm_read"]
    core_cycles = max(result.core_cycles, 1.0)
    kinds = _kinds(recorded, result.agents_in_slot)
    used = sum(1 for agent in result.agents[:: result.agents_in_slot] if agent["end"] > 0)
    return Timing(
        chip=chip.short_name,
        clock_mhz=chip.clock_mhz,
        version=table.version,
        cycles=result.cycles,
        microseconds=result.cycles / chip.clock_mhz,
        band=table.band,
        pair_band=table.pair_band,
        core_microseconds=result.core_cycles / chip.clock_mhz,
        blocks=recorded.blocks,
        cores=used,
        cube_share=steps / (chip.cube_cores * core_cycles),
        traffic=traffic,
        l2_hit=1 - missed / read if read else None,
        pipes=tuple(_pipes(result.agents, kinds, core_cycles)),
        with_data=with_data,
        trace=tuple(_trace(result.trace, kinds, chip.clock_mhz)) if trace else (),
    )


def _kinds(recorded: Any, agents_in_slot: int) -> list[str]:
    """Names of a slot's cores."""
    if agents_in_slot == 1:
        return ["AIC" if recorded.cube else "AIV"]
    return ["AIC", *(f"AIV{index}" for index in range(agents_in_slot - 1))]


def _pipes(agents: Sequence[Any], kinds: list[str], core_cycles: float) -> list[PipeUse]:
    """Pipes by core kind, means over the cores that had a block."""
    result = []
    for kind in _KINDS:
        mine = [
            agent
            for index, agent in enumerate(agents)
            if kinds[index % len(kinds)].startswith(kind) and agent["end"] > 0
        ]
        for pipe, name in PIPE_NAMES.items():
            uses = [agent["pipes"][pipe] for agent in mine if pipe in agent["pipes"]]
            if not uses:
                continue
            scale = 1 / (len(mine) * core_cycles)
            idle: dict[str, float] = {}
            for use in uses:
                for cause, cycles in enumerate(use["idle"]):
                    if cycles > 0:
                        label = _CAUSES.get(cause) or f"flag of {PIPE_NAMES[cause]}"
                        if cause == pipe:
                            label = "its own latency"
                        idle[label] = idle.get(label, 0.0) + cycles * scale
            result.append(
                PipeUse(
                    kind,
                    name,
                    sum(use["busy"] for use in uses) * scale,
                    sum(use["instructions"] for use in uses),
                    dict(sorted(idle.items(), key=lambda item: -item[1])),
                )
            )
    order = list(PIPES)
    return sorted(result, key=lambda use: (use.core, order.index(use.pipe)))


def _trace(records: Sequence[Any], kinds: list[str], clock_mhz: float) -> list[TimedInstruction]:
    names = instruction_names()
    return [
        TimedInstruction(
            names[name],
            PIPE_NAMES[pipe],
            kinds[agent],
            slot,
            block,
            start / clock_mhz,
            end / clock_mhz,
        )
        for slot, agent, block, pipe, name, start, end in records
    ]
