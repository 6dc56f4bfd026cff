"""Compile one kernel for one target: every stage in order, with passes at their places."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from flagc.errors import KernelError, UsageError, nearest
from flagc.ir.follow_up import MERGED
from flagc.pipeline import cache
from flagc.pipeline.diagnostics import Declined, Findings
from flagc.pipeline.fingerprint import pipeline_fingerprint
from flagc.pipeline.instrumentation import (
    NO_INSTRUMENTATION,
    InstrumentationOptions,
    Journal,
    Records,
)
from flagc.pipeline.manager import PassManager
from flagc.pipeline.passes import Pass
from flagc.pipeline.pipeline_text import Anchor, PlacedPass, parse_pipeline
from flagc.pipeline.places import check_places, passes_at_end
from flagc.pipeline.sequence import StageSequence
from flagc.pipeline.stages import Payload, Stage
from flagc.pipeline.target import Compilation, IrSource, PairSource, Source, Target


@dataclass(frozen=True)
class Artifact:
    """A file that one stage produced: `content` is IR or assembly text, or a binary.

    `seconds` is the wall-clock time of the stage with its passes. A stage has one file, except
    where the two halves of an Ascend mix kernel go apart.
    """

    stage: str
    suffix: str
    content: str | bytes
    seconds: float


@dataclass
class CompileResult:
    """Everything that one compilation produced. Picklable."""

    name: str
    target: str
    artifacts: list[Artifact]
    metadata: dict[str, Any]
    findings: Findings
    records: Records
    cached: bool = False
    seconds: float = 0.0

    def artifact(self, stage: str) -> Artifact:
        """Return the result of `stage`; of two files, the first.

        Raises:
            UsageError: the stage was not reached, or does not exist.
        """
        for artifact in self.artifacts:
            if artifact.stage == stage:
                return artifact
        produced = [artifact.stage for artifact in self.artifacts]
        raise UsageError(f"no stage '{stage}' was produced; {nearest(stage, produced)}")


@dataclass(frozen=True)
class CompileRequest:
    """What to compile, and how.

    Attributes:
        options: compile options such as `num_warps`; those left out get the target's defaults.
        stop_after: the last stage to run; None runs all.
        debug_info: print source locations in IR (only `run_passes_on_ir` can leave them out).
    """

    source: Source
    target: Target
    options: Mapping[str, Any] = field(default_factory=dict)
    passes: Sequence[PlacedPass] = ()
    instrumentation: InstrumentationOptions = NO_INSTRUMENTATION
    stop_after: str | None = None
    debug_info: bool = True

    @cached_property
    def key(self) -> str:
        """The digest under which the result is cached."""
        parts = (
            self.source.key(),
            self.target.key(),
            repr(sorted((name, str(value)) for name, value in self.options.items())),
            pipeline_fingerprint(self.passes),
            str(self.stop_after),
        )
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()

    @property
    def cacheable(self) -> bool:
        """False when observations are asked for that only a real run can make."""
        return not self.instrumentation.every_step


def cached_result(request: CompileRequest) -> CompileResult | None:
    """Return the cached result of `request`, if there is one."""
    if not request.cacheable:
        return None
    started = time.perf_counter()
    result = cache.load(request.key)
    if not isinstance(result, CompileResult):
        return None
    return replace(result, cached=True, seconds=time.perf_counter() - started)


def compile_kernel(request: CompileRequest, journal: Journal | None = None) -> CompileResult:
    """Compile in this process, and keep the result in the cache.

    Raises:
        KernelError, PassFailure: the kernel, a pass or a stage failed.
        UsageError: a pass has no place in this target, or `stop_after` is no stage.
    """
    started = time.perf_counter()
    journal = journal or Journal()
    journal.enter("frontend", "")
    compilation, manager = _begin(request, journal)
    _check_stage_name(request.stop_after, compilation.stages)
    artifacts = _run_stages(request, compilation, manager)
    result = _result(request, compilation, manager, artifacts, started)
    if request.cacheable:
        cache.store(request.key, result)
    return result


def run_passes_on_ir(
    request: CompileRequest, resume: Anchor | None = None, journal: Journal | None = None
) -> CompileResult:
    """Run only the passes of `request` on its IR; with `resume`, also the target's from there.

    The passes placed at the end of the source's stage run, and those without a place whose level
    fits. With `resume` (`stage@before(step)`), the rest of that stage's own passes run first.

    Raises:
        UsageError: the source is no IR, or a place does not exist.
        KernelError, PassFailure: the IR, a pass or the stage failed.
    """
    source = request.source
    if not isinstance(source, IrSource):
        raise UsageError("passes alone run on IR, not on kernels")
    started = time.perf_counter()
    journal = journal or Journal()
    journal.enter(source.stage, "parse", ir=lambda: source.content)
    compilation, manager = _begin(request, journal)
    stage = next(s for s in compilation.stages if s.name == source.stage)
    payload = stage.read(source.path)
    if resume is not None:
        _check_resume(resume, stage)
        payload = manager.run_stage(stage, payload, first_step=resume.step)
    else:
        at_end = [placed.instance for placed in passes_at_end(manager.passes, stage)]
        payload = manager.run_passes(at_end, stage, payload)
    text = stage.text(payload, debug=request.debug_info)
    artifact = Artifact(stage.name, stage.suffix, text, time.perf_counter() - started)
    return _result(request, compilation, manager, [artifact], started)


def _begin(request: CompileRequest, journal: Journal) -> tuple[Compilation, PassManager]:
    """Prepare the target's compilation and the pass manager that runs its stages."""
    compilation = request.target.begin(request.source, request.options)
    check_places(request.passes, compilation.stages)
    manager = PassManager(
        request.passes,
        request.target.facts,
        compilation.options,
        request.instrumentation,
        journal,
        Findings(diagnostics=compilation.diagnostics),
    )
    return compilation, manager


def _result(
    request: CompileRequest,
    compilation: Compilation,
    manager: PassManager,
    artifacts: list[Artifact],
    started: float,
) -> CompileResult:
    return CompileResult(
        name=request.source.name,
        target=request.target.name,
        artifacts=artifacts,
        metadata=compilation.metadata,
        findings=manager.findings,
        records=manager.records,
        seconds=time.perf_counter() - started,
    )


def _check_resume(resume: Anchor, stage: Stage) -> None:
    steps = list(stage.steps())
    if resume.stage != stage.name or resume.side != "before" or resume.step not in steps:
        raise UsageError(
            f"cannot resume at '{resume}'; write {stage.name}@before(pass), "
            f"{nearest(resume.step, steps)}"
        )


def _run_stages(
    request: CompileRequest, compilation: Compilation, manager: PassManager
) -> list[Artifact]:
    artifacts: list[Artifact] = []
    payload: Payload = compilation.payload
    stages = compilation.stages
    source = request.source
    started = time.perf_counter()
    if isinstance(source, IrSource):
        index = [stage.name for stage in stages].index(source.stage)
        first, stages = stages[index], stages[index + 1 :]
        manager.journal.enter(first.name, "parse", ir=lambda: source.content)
        payload = first.read(source.path)
        payload = manager.run_passes(_still_to_run(request, first, payload), first, payload)
        artifacts += _artifacts(first, payload, started)
        if request.stop_after == first.name:
            return artifacts
        if first.alternative is not None:
            stages = [stage for stage in stages if stage.name not in first.alternative.stages]
    sequence = StageSequence(stages, payload, request.passes, request.stop_after, manager.findings)
    while (stage := sequence.next_stage()) is not None:
        started = time.perf_counter()
        try:
            payload = manager.run_stage(stage, sequence.payload)
        except Declined as declined:
            dropped = sequence.fall_back(declined)
            artifacts = [artifact for artifact in artifacts if artifact.stage not in dropped]
            continue
        if payload is None:  # the stage's tool is missing; its diagnostic says so
            break
        if isinstance(source, PairSource) and MERGED not in compilation.metadata:
            raise KernelError(_why_apart(request, manager.findings))
        sequence.payload = payload
        artifacts += _artifacts(stage, payload, started)
    sequence.finish()
    return artifacts


def _why_apart(request: CompileRequest, findings: Findings) -> str:
    """Return what the passes that merge kernels say of why they have not."""
    names = [p.instance.name for p in request.passes if p.instance.merges_launches]
    said = [str(d) for d in findings.diagnostics if d.pass_name in names]
    return said[-1] if said else f"no pass merges kernels ({request.source.name})"


def _still_to_run(request: CompileRequest, stage: Stage, payload: Payload) -> list[Pass]:
    """Return the passes at the end of `stage`, without lowering passes that have run on `payload`.

    A user's pass of the same name runs, unless it is the target's own in every option.
    """
    own = parse_pipeline(request.target.lowering_passes) if request.passes else []
    return [
        placed.instance
        for placed in passes_at_end(request.passes, stage)
        if placed not in own or not stage.has_run(payload, placed.instance.name)
    ]


def _artifacts(stage: Stage, payload: Payload, started: float) -> list[Artifact]:
    seconds = time.perf_counter() - started
    files = stage.files(payload)
    return [Artifact(stage.name, suffix, content, seconds) for suffix, content in files.items()]


def _check_stage_name(name: str | None, stages: Sequence[Stage]) -> None:
    names = [stage.name for stage in stages]
    if name is not None and name not in names:
        raise UsageError(f"unknown stage '{name}'; {nearest(name, names)}")
