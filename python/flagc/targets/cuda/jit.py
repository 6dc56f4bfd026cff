"""flagc's passes in the stages that Triton's NVIDIA backend runs for a JIT launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flagc.errors import UsageError, nearest
from flagc.pipeline.manager import PassManager
from flagc.pipeline.pipeline_text import PlacedPass
from flagc.pipeline.places import check_places, passes_at_end
from flagc.pipeline.triton_hook import register_stage_wrapper
from flagc.targets.cuda.facts import facts_of_capability
from flagc.targets.cuda.stages import LEVELS, TritonStage


def wrap_stages(
    backend: Any,
    stages: dict[str, Callable[..., Any]],
    options: Any,
    passes: Sequence[PlacedPass],
    report: Callable[[Any, str], None],
) -> None:
    """Replace the stage functions in `stages` by ones that run `passes` at their places.

    Raises:
        UsageError: a pass is placed in a stage that the backend does not have.
    """
    for placed in passes:
        name = placed.anchor.stage if placed.anchor else placed.stage
        if name is not None and name not in stages:
            raise UsageError(f"'{placed}': unknown stage '{name}'; {nearest(name, list(stages))}")
        if name is None and placed.instance.level not in ("any", *stages):
            raise UsageError(f"'{placed}' works on {placed.instance.level}, no level of CUDA")
    facts = facts_of_capability(int(backend.target.arch))
    for name in [name for name in stages if name in LEVELS]:
        stages[name] = _wrapped(name, stages[name], facts, options, passes, report)


def _wrapped(
    name: str,
    function: Callable[..., Any],
    facts: Any,
    options: Any,
    passes: Sequence[PlacedPass],
    report: Callable[[Any, str], None],
) -> Callable[..., Any]:
    def run(module: Any, metadata: dict[str, Any]) -> Any:
        stage = TritonStage(name, function, module.context, metadata)
        anchored = [p for p in passes if p.anchor is not None and p.anchor.stage == name]
        at_end = passes_at_end(passes, stage)
        if not anchored and not at_end:
            return function(module, metadata)
        check_places([*anchored, *(p for p in at_end if p.anchor is None)], [stage])
        kernel = module.get_entry_func_name()
        manager = PassManager(passes, facts, dict(vars(options)))
        try:
            return manager.run_stage(stage, module)
        finally:
            report(manager.findings, kernel)

    return run


register_stage_wrapper("cuda", wrap_stages)
