"""Executing recorded launches: what an executor is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from flagc.frontend.launch import Launch
    from flagc.pipeline.pipeline_text import PlacedPass


@dataclass(frozen=True)
class Argument:
    """A runtime argument of a launch: `type` is Triton's type text, `value` what was passed."""

    name: str
    type: str
    value: Any


@dataclass(frozen=True)
class Instruction:
    """One instruction that a core executed, in the order of its program.

    `core` is `AIC`, or `AIV0` and `AIV1` for the vector cores of a block. `operands` are register
    values. Bytes are those of on-chip memories, not of global memory; `macs` counts
    multiply-accumulates.
    """

    name: str
    pipe: str
    core: str
    block: int
    operands: tuple[int, ...]
    bytes_read: int
    bytes_written: int
    macs: int


@dataclass(frozen=True)
class Execution:
    """One launch that ran: its grid, and what the device counted.

    `seconds` is the host's time for it, not the modelled device's. `trace` holds the instructions
    where they were asked for. `device` names what ran it, `reason` says why not a real one.
    `speculative_reads` counts reads outside the tensors, whose values reached no result.
    """

    grid: tuple[int, int, int]
    blocks: int
    instructions: int
    seconds: float
    device: str
    reason: str = ""
    trace: tuple[Instruction, ...] = ()
    speculative_reads: int = 0

    def describe(self) -> dict[str, Any]:
        """Return the execution, without its trace, as plain data."""
        return {
            "grid": list(self.grid),
            "blocks": self.blocks,
            "instructions": self.instructions,
            "seconds": round(self.seconds, 6),
            "device": self.device,
            "reason": self.reason,
            "speculative_reads": self.speculative_reads,
        }


class Executor(Protocol):
    """Runs launches for one target."""

    def prepare(self, launch: Launch) -> None:
        """Compile `launch`, so that executing it can only fail for its own faults.

        Raises:
            KernelError: the kernel does not compile.
        """
        ...

    def execute(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Execution:
        """Run `launch`; results are in the arguments' tensors when it returns.

        Raises:
            KernelError: the kernel does not compile, or does something wrong when it runs.
            UsageError: an argument that the target cannot take.
        """
        ...


def runtime_arguments(launch: Launch, values: Sequence[Any]) -> list[Argument]:
    """Return the arguments that reach the compiled kernel: all but the constexprs.

    `values` holds one value for each of the kernel function's parameters, in order.
    """
    source: Any = launch.source
    names = source.function.arg_names
    return [
        Argument(name, str(source.signature[name]), value)
        for name, value in zip(names, values, strict=True)
        if source.signature[name] != "constexpr"
    ]


def units_of(launch: Launch, passes: Sequence[PlacedPass]) -> Sequence[Launch]:
    """Return what is compiled for a launch: itself, or its two parts if none of `passes` merges."""
    merges = any(placed.instance.merges_launches for placed in passes)
    return (launch,) if merges or not launch.parts else launch.parts


def parts_of(
    launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
) -> list[tuple[Launch, tuple[int, int, int], list[Argument]]]:
    """Return the two launches that one stands for, with their grids and arguments."""
    source: Any = launch.source
    grids = (grid, source.follow_up.second.grid)
    rest = list(arguments)
    parts = []
    for part, part_grid in zip(launch.parts, grids, strict=True):
        own: Any = part.source
        names = [n for n in own.function.arg_names if own.signature[n] != "constexpr"]
        given, rest = rest[: len(names)], rest[len(names) :]
        named = [replace(a, name=name) for name, a in zip(names, given, strict=True)]
        parts.append((part, part_grid, named))
    return parts
