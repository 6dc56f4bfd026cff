"""What executes a script's launches, as `--run`, `--check` and `--bench` ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flagc.bench.modelled import ModelledLaunch, ModellingExecutor
from flagc.bench.outcome import BenchedLaunch
from flagc.check.each import CheckEachExecutor, CheckedSteps, Prefix
from flagc.check.outcome import CheckedLaunch
from flagc.cli.settings import Settings
from flagc.cli.watch import JournalingExecutor, LaunchJournal
from flagc.errors import UsageError
from flagc.frontend.execution import Executor
from flagc.pipeline.compiler import CompileRequest, CompileResult
from flagc.pipeline.defaults import assemble, build_pipeline
from flagc.pipeline.pipeline_text import PlacedPass, parse_pipeline
from flagc.pipeline.target import Target
from flagc.report import terminal


@dataclass
class Executing:
    """An executor, None where launches are only recorded, and what it notes as launches run."""

    executor: Executor | None = None
    checked: list[CheckedLaunch] = field(default_factory=list)
    benched: list[BenchedLaunch] = field(default_factory=list)
    steps: list[CheckedSteps] = field(default_factory=list)
    modelled: list[ModelledLaunch] = field(default_factory=list)


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
        given = {
            "--trace": settings.trace is not None,
            "--check": settings.check,
            "--check-each": settings.check_each,
        }
        for flag in (flag for flag, is_given in given.items() if is_given):
            raise UsageError(f"{flag} needs --run")
        if settings.compare is not None:
            raise UsageError("--compare needs --bench")
        return Executing()
    if settings.check_each and (settings.bench or settings.trace is not None):
        raise UsageError("--check-each makes many runs of a launch: leave out --bench and --trace")
    if settings.check_each and any(placed.instance.merges_launches for placed in passes):
        raise UsageError(
            "--check-each looks at one launch at a time, and fuse-epilogue makes one of two: "
            "leave it out, or take --check"
        )
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
            warn=terminal.print_diagnostic,
        )

    checked: list[CheckedLaunch] = []
    benched: list[BenchedLaunch] = []
    steps: list[CheckedSteps] = []
    executor: Any = None
    if settings.check_each:
        user = parse_pipeline(settings.passes)
        executor = CheckEachExecutor(
            [
                Prefix(name, compiling(part, settings.option_overrides))
                for name, part in _prefixes(target, user, settings.without)
            ],
            incomplete=not user,
            tolerance=settings.tolerance,
            checked=checked,
            steps=steps,
        )
    else:
        executor = compiling(passes, settings.option_overrides)
    other, other_name = _compared_with(settings)

    def compared() -> Any:
        return compiling(build_pipeline(target, other or "", settings.load, settings.without), {})

    modelled: list[ModelledLaunch] = []
    if settings.bench and target.model():
        plain = compared() if other is not None else None
        executor = _modelling(settings, target, executor, {other_name: plain}, modelled)
    elif settings.bench:
        from flagc.bench.executor import BenchingExecutor

        device, plain = target.bench_device(), None
        if other is not None:
            plain = compared()
        executor = BenchingExecutor(executor, plain, device, settings.tolerance, benched=benched)
    if settings.check and not settings.check_each:
        from flagc.check.executor import CheckingExecutor

        executor = CheckingExecutor(executor, settings.tolerance, checked)
    if journal is not None:
        executor = JournalingExecutor(executor, journal, checked)
    return Executing(executor, checked, benched, steps, modelled)


def _modelling(
    settings: Settings,
    target: Target,
    executor: Any,
    others: dict[str, Any],
    modelled: list[ModelledLaunch],
) -> ModellingExecutor:
    """Time launches by the target's model; execute them only with --run."""
    if settings.check and not settings.run:
        raise UsageError("--check needs --run: --bench alone executes nothing here")
    compared = {name: other for name, other in others.items() if other is not None}
    candidates = {"with passes" if compared else "kernel": executor, **compared}
    running = executor if settings.run else None
    return ModellingExecutor(candidates, running, target.model(), modelled)


def _compared_with(settings: Settings) -> tuple[str | None, str]:
    """Return the passes that --bench compares with, None for nothing, and what to call them."""
    if settings.compare is not None:
        return settings.compare, f"with {settings.compare or 'no passes'}"
    return ("" if settings.passes or settings.option_overrides else None), "without passes"


def _prefixes(
    target: Target, user: list[PlacedPass], without: Sequence[str]
) -> list[tuple[str, list[PlacedPass]]]:
    """Return growing pipelines, each with the name of the pass that it adds.

    The user's passes come one by one, always with the target's own passes around them; without
    any, the target's default ones do, then those lowering passes that a kernel can do without.
    """
    if user:
        start = ("(without your passes)", assemble(target, [], without))
        return [start] + [
            (str(user[k - 1]), assemble(target, user[:k], without)) for k in range(1, len(user) + 1)
        ]
    own = assemble(target, [], without)
    lowering = {placed.instance.name for placed in parse_pipeline(target.lowering_passes)}
    added = [p for p in own if p.instance.name not in lowering]
    added += [p for p in own if p.instance.name in lowering - target.needed_passes]
    return [
        (str(added[k - 1]) if k else "(no pass)", [p for p in own if p not in added[k:]])
        for k in range(len(added) + 1)
    ]
