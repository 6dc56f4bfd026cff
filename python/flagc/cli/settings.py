"""The command line of `flagc` as data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flagc.pipeline.instrumentation import InstrumentationOptions


@dataclass(frozen=True)
class Settings:
    """The command line, as given."""

    path: Path | None
    script_arguments: tuple[str, ...]
    target: str
    pipeline: str | None
    dump_ir: str | None
    output: Path | None
    passes: str
    without: tuple[str, ...]
    load: tuple[str, ...]
    print_ir_after_all: bool
    print_ir_after_change: bool
    time_passes: bool
    resources: bool
    emit: str | None
    output_format: str
    kernel: str | None
    signature: str
    definitions: tuple[str, ...]
    grid: str
    num_warps: int | None
    num_stages: int | None
    config: int | None
    time_limit: float
    in_process: bool
    no_cache: bool
    run: bool
    checks: bool
    threads: int | None
    trace: Path | None
    check: bool
    bench: bool
    check_each: bool
    compare: str | None
    tolerance: float | None
    list_passes: bool
    list_anchors: bool

    @property
    def option_overrides(self) -> dict[str, int]:
        """Compile options that replace those of the launches."""
        given = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def instrumentation(self) -> InstrumentationOptions:
        """What the compilation has to record."""
        return InstrumentationOptions.from_flags(
            after_all=self.print_ir_after_all,
            after_change=self.print_ir_after_change,
            time_passes=self.time_passes,
        )
