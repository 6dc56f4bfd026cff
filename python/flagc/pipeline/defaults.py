"""The pipeline of a compilation: the user's passes, then the target's default ones."""

from __future__ import annotations

from collections.abc import Sequence

from flagc.errors import UsageError, nearest
from flagc.pipeline.loading import load_installed_passes, load_pass_files
from flagc.pipeline.pipeline_text import PlacedPass, parse_pipeline
from flagc.pipeline.target import Target


def build_pipeline(
    target: Target, passes: str, load: Sequence[str], without: Sequence[str]
) -> list[PlacedPass]:
    """Return the user's passes followed by the target's default ones that are not left out.

    Raises:
        UsageError: see `parse_pipeline`; or `without` names no default pass.
    """
    load_installed_passes()
    load_pass_files(load)
    defaults = parse_pipeline(target.default_passes)
    names = [placed.instance.name for placed in defaults]
    left_out = [name for item in without for name in item.split(",") if name]
    for name in left_out:
        if name not in names:
            raise UsageError(
                f"--without {name}: no default pass of {target.name}; {nearest(name, names)}"
            )
    kept = [placed for placed in defaults if placed.instance.name not in left_out]
    return [*parse_pipeline(passes), *kept]
