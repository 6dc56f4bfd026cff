"""The pipeline of a compilation: the user's passes and the target's own ones, in order."""

from __future__ import annotations

from collections.abc import Sequence

from flagc.errors import UsageError, nearest
from flagc.pipeline.loading import load_installed_passes, load_pass_files
from flagc.pipeline.pipeline_text import PlacedPass, parse_pipeline
from flagc.pipeline.target import Target


def build_pipeline(
    target: Target, passes: str, load: Sequence[str], without: Sequence[str]
) -> list[PlacedPass]:
    """Return the pipeline of the user's passes, given as text, and the target's; see `assemble`.

    Raises:
        UsageError: see `parse_pipeline`; or `without` names no default pass.
    """
    load_installed_passes()
    load_pass_files(load)
    return assemble(target, parse_pipeline(passes), without)


def assemble(
    target: Target, user: Sequence[PlacedPass], without: Sequence[str] = ()
) -> list[PlacedPass]:
    """Return the target's lowering passes, the user's, and the target's default ones.

    A user's pass that has the name of a lowering pass, and no place, replaces it where it stands.

    Raises:
        UsageError: `without` names no pass of the target.
    """
    lowering = parse_pipeline(target.lowering_passes)
    defaults = parse_pipeline(target.default_passes)
    left_out = {name for item in without for name in item.split(",") if name}
    names = [placed.instance.name for placed in [*defaults, *lowering]]
    for name in sorted(left_out.difference(names)):
        raise UsageError(
            f"--without {name}: no default pass of {target.name}; {nearest(name, names)}"
        )

    def kept(passes: Sequence[PlacedPass]) -> list[PlacedPass]:
        return [placed for placed in passes if placed.instance.name not in left_out]

    lowering, replacements = kept(lowering), {}
    for placed in lowering:
        name = placed.instance.name
        replacements[name] = [
            other
            for other in user
            if other.instance.name == name and other.stage is None and other.anchor is None
        ]
    replacing = [other for others in replacements.values() for other in others]
    pipeline = [other for p in lowering for other in replacements[p.instance.name] or [p]]
    pipeline += [placed for placed in user if not any(placed is other for other in replacing)]
    return pipeline + kept(defaults)
