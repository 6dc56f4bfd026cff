"""What executes a script's launches, as `--run`, `--check` and `--bench` ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flagc.bench.outcome import BenchedLaunch
from flagc.check.outcome import CheckedLaunch
from flagc.cli.settings import Settings
from flagc.cli.watch import JournalingExecutor, LaunchJournal
from flagc.errors import UsageError
from flagc.frontend.execution import Executor
from flagc.pipeline.compiler import CompileRequest, CompileResult
from flagc.pipeline.defaults import build_pipeline
from flagc.pipeline.pipeline_text import PlacedPass
from flagc.pipeline.target import Target


@dataclass
class Executing:
    """An executor, None where launches are only recorded, and what it notes as launches run."""

    executor: Executor | None = None
    checked: list[CheckedLaunch] = field(default_factory=list)
    benched: list[BenchedLaunch] = field(default_factory=list)


def executing(
    settings: Settings,
    target: Target,
    passes: list[PlacedPass],
    compile: Callable[[CompileRequest], CompileResult],
    journal: LaunchJournal | None,
) -> Executing:
    """Return what executes launches; they are noted in `journal`.

    Raises:
        UsageError: a flag without the one that it needs, or nothing that could be executed.
    """
    if not settings.run and not settings.bench:
        for flag, given in (("--trace", settings.trace is not None), ("--check", settings.check)):
            if given:
                raise UsageError(f"{flag} needs --run")
        return Executing()
    if settings.kernel is not None or (settings.path and settings.path.suffix != ".py"):
        raise UsageError(
            "--run needs a script that launches its kernels on tensors; so does --bench"
        )

    def compiling(passes: list[PlacedPass], options: dict[str, int]) -> Any:
        return target.executor(
            passes=passes,
            options=options,
            compile=compile,
            checks=settings.checks,
            threads=settings.threads,
            trace=settings.trace is not None,
        )

    checked: list[CheckedLaunch] = []
    benched: list[BenchedLaunch] = []
    executor = compiling(passes, settings.option_overrides)
    if settings.bench:
        from flagc.bench.executor import BenchingExecutor

        device, plain = target.bench_device(), None
        if settings.passes or settings.option_overrides:
            plain = compiling(build_pipeline(target, "", (), settings.without), {})
        executor = BenchingExecutor(executor, plain, device, settings.tolerance, benched=benched)
    if settings.check:
        from flagc.check.executor import CheckingExecutor

        executor = CheckingExecutor(executor, settings.tolerance, checked)
    if journal is not None:
        executor = JournalingExecutor(executor, journal, checked)
    return Executing(executor, checked, benched)
