"""Executing recorded launches: what an executor is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from flagc.frontend.launch import Launch


@dataclass(frozen=True)
class Argument:
    """A runtime argument of a launch: `type` is Triton's type text, `value` what was passed."""

    name: str
    type: str
    value: Any


@dataclass(frozen=True)
class Execution:
    """One launch that ran: its grid, and what the device counted.

    `seconds` is the host's time for it, not the modelled device's.
    """

    grid: tuple[int, int, int]
    blocks: int
    instructions: int
    seconds: float


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
