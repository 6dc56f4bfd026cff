"""Where the passes of a pipeline run: at the end of stages, inside them, beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from flagc.errors import UsageError, nearest
from flagc.pipeline.pipeline_text import Anchor, PlacedPass
from flagc.pipeline.stages import Stage, number_repeats


def passes_at_end(passes: Sequence[PlacedPass], stage: Stage) -> list[PlacedPass]:
    """Return those of `passes` that run at the end of `stage`, in running order.

    A pass that is anchored at one of them stands before or after it.
    """
    ordered: list[PlacedPass] = []
    at_end = _unanchored(passes, stage)
    for name, placed in zip(_names(at_end), at_end, strict=True):
        anchored = [
            other
            for other in passes
            if other.anchor is not None
            and (other.anchor.stage, other.anchor.step) == (stage.name, name)
        ]
        ordered += [other for other in anchored if other.anchor and other.anchor.side == "before"]
        ordered.append(placed)
        ordered += [other for other in anchored if other.anchor and other.anchor.side == "after"]
    return ordered


def names_at_end(passes: Sequence[PlacedPass], stage: Stage) -> list[str]:
    """Return the names of the Python passes at which others can be anchored, in running order."""
    return _names(_unanchored(passes, stage))


def _names(placed: Sequence[PlacedPass]) -> list[str]:
    return number_repeats([entry.instance.name for entry in placed])


def _unanchored(passes: Sequence[PlacedPass], stage: Stage) -> list[PlacedPass]:
    if stage.level is None:
        return []
    return [
        placed
        for placed in passes
        if placed.anchor is None
        and (
            placed.stage == stage.name
            or (placed.stage is None and placed.instance.level in (stage.level, "any"))
        )
    ]


def check_places(passes: Sequence[PlacedPass], stages: Sequence[Stage]) -> None:
    """Check that every pass of a pipeline has a place among `stages`.

    Raises:
        UsageError: unknown stage or step (naming the nearest), a pass of another level, or an
            ambiguous step.
    """
    by_name = {stage.name: stage for stage in stages}
    levels = {stage.level for stage in stages if stage.level}
    for placed in passes:
        instance = placed.instance
        stage_name = placed.anchor.stage if placed.anchor else placed.stage
        if stage_name is None:
            if instance.level != "any" and instance.level not in levels:
                raise UsageError(
                    f"pass '{instance.name}' works on {instance.level}, which this target does "
                    f"not have; its levels: {', '.join(sorted(levels))}"
                )
            continue
        stage = by_name.get(stage_name)
        if stage is None:
            raise UsageError(f"unknown stage '{stage_name}'; {nearest(stage_name, list(by_name))}")
        level = _level_at(placed.anchor, stage, passes) if placed.anchor else stage.level
        if level is None:
            raise UsageError(
                f"'{placed}': Python passes cannot run "
                + (f"inside stage '{stage_name}'" if placed.anchor else f"after '{stage_name}'")
            )
        if instance.level not in ("any", level):
            raise UsageError(
                f"pass '{instance.name}' works on {instance.level}, not on {level} "
                f"(written at '{placed}')"
            )


def _level_at(anchor: Anchor, stage: Stage, passes: Sequence[PlacedPass]) -> str | None:
    """Return the IR level at an anchor; None where no pass can run inside the stage.

    Raises:
        UsageError: there is no such step, or several.
    """
    python = names_at_end(passes, stage)
    if anchor.step in python:
        return stage.level
    if stage.inner_level is None and not python:
        return None
    steps = [*stage.steps(), *python] if stage.inner_level else python
    if anchor.step not in steps:
        repeats = [name for name in steps if name.split("#")[0] == anchor.step]
        if repeats:
            raise UsageError(
                f"'{anchor.step}' runs {len(repeats)} times in stage {stage.name}; say which: "
                + ", ".join(f"'{name}'" for name in repeats)
            )
        raise UsageError(
            f"stage {stage.name} has no pass '{anchor.step}'; {nearest(anchor.step, steps)}"
        )
    return stage.inner_level
