"""What is recorded about passes while they run: IR dumps, times, changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class InstrumentationOptions:
    """Which observations a compilation makes beyond its result.

    Attributes:
        print_ir: print the IR after every pass, or after every pass that changed it.
        time_passes: time every pass of the target and of the user on its own.
    """

    print_ir: Literal["never", "all", "change"] = "never"
    time_passes: bool = False

    @classmethod
    def from_flags(
        cls, *, after_all: bool, after_change: bool, time_passes: bool
    ) -> InstrumentationOptions:
        """Return what the command line's flags ask for; `after_all` wins over `after_change`."""
        if after_all:
            return cls("all", time_passes)
        return cls("change" if after_change else "never", time_passes)

    @property
    def every_step(self) -> bool:
        """True when each of the target's passes has to run on its own."""
        return self.print_ir != "never" or self.time_passes


NO_INSTRUMENTATION = InstrumentationOptions()


@dataclass(frozen=True)
class PassTiming:
    """Wall-clock `seconds` of one pass; `native` tells a target's own pass from a Python pass."""

    stage: str
    name: str
    seconds: float
    native: bool


@dataclass(frozen=True)
class PrintedIr:
    """IR after one pass, for `--print-ir-after-*`."""

    stage: str
    name: str
    text: str


@dataclass
class Records:
    """What instrumentation recorded in one compilation. Picklable."""

    timings: list[PassTiming] = field(default_factory=list)
    printed: list[PrintedIr] = field(default_factory=list)


_listeners: list[Callable[[], None]] = []


def heartbeat() -> None:
    """Tell whoever limits the time of a step that it is getting on, though in the same step."""
    for listener in _listeners:
        listener()


def on_heartbeat(listener: Callable[[], None]) -> None:
    """Call `listener` at every heartbeat of this process."""
    _listeners.append(listener)


class Journal:
    """Notes where a compilation is, so that a parent process can tell where it died.

    The base class notes nothing; `flagc.pipeline.isolation` has the one that writes to disk.
    """

    def enter(
        self,
        stage: str,
        step: str,
        *,
        native: bool = True,
        ir: Callable[[], str | bytes] | None = None,
    ) -> None:
        """Note that `step` of `stage` begins; `ir` gives the IR it runs on, when asked for."""

    def changed(self, pass_name: str, summary: str) -> None:
        """Note what a Python pass changed, before the result is verified."""

    @property
    def detailed(self) -> bool:
        """True when every step must be entered on its own, with its IR."""
        return False
