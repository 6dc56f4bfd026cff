"""Targets by name: `cuda:sm90`, `ascend:910B3`."""

from __future__ import annotations

from collections.abc import Callable

from flagc.errors import UsageError, nearest
from flagc.pipeline.target import Target


def _cuda(chip: str) -> Target:
    from flagc.targets.cuda.facts import DEFAULT_CHIP
    from flagc.targets.cuda.target import CudaTarget

    return CudaTarget(chip or DEFAULT_CHIP)


def _ascend(chip: str) -> Target:
    from flagc.targets.ascend.chips import DEFAULT_CHIP
    from flagc.targets.ascend.target import AscendTarget

    return AscendTarget(chip or DEFAULT_CHIP)


_TARGETS: dict[str, Callable[[str], Target]] = {"ascend": _ascend, "cuda": _cuda}


def target_by_name(text: str, pipeline: str | None = None) -> Target:
    """Return the target that `text` names, `family[:chip]`, with the lowering `pipeline`.

    Raises:
        UsageError: unknown family, chip or lowering; the message names the nearest.
    """
    family, _, chip = text.partition(":")
    if family not in _TARGETS:
        raise UsageError(f"unknown target '{text}'; {nearest(family, list(_TARGETS))}")
    target = _TARGETS[family](chip)
    return target if pipeline is None else target.with_pipeline(pipeline)
