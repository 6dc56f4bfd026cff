"""`--list-passes` and `--list-anchors`."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Sequence

from flagc.pipeline.diagnostics import Table
from flagc.pipeline.passes import options_of, registered_passes
from flagc.pipeline.pipeline_text import PlacedPass, parse_pipeline
from flagc.pipeline.places import names_at_end
from flagc.pipeline.target import Target
from flagc.report.terminal import print_table


def list_passes(target: Target, output_format: str) -> None:
    """Print every registered pass with its level, options and first line of documentation."""
    own = parse_pipeline(target.default_passes) + parse_pipeline(target.lowering_passes)
    defaults = {placed.instance.name for placed in own}
    rows = []
    for name, pass_class in registered_passes().items():
        options = " ".join(
            f"{option.name}={option.default or '<' + option.type + '>'}"
            for option in options_of(pass_class)
        )
        summary = (inspect.getdoc(pass_class) or "").split("\n\n")[0].replace("\n", " ")
        runs = "yes" if name in defaults else ""
        rows.append((name, pass_class.level, options, runs, summary))
    if output_format == "json":
        keys = ("name", "level", "options", "default", "summary")
        json.dump([dict(zip(keys, row, strict=True)) for row in rows], sys.stdout, indent=2)
        print()
        return
    columns = ("pass", "level", "options", f"default for {target.name}", "what it does")
    print_table(Table("passes", columns, tuple(rows)))


def list_anchors(target: Target, passes: Sequence[PlacedPass], output_format: str) -> None:
    """Print the places at which passes can be inserted, stage by stage, in running order.

    They are the target's own passes, then those of `passes` that run at the end of a stage.
    """
    anchors: dict[str, list[str]] = {}
    for stage in target.stages():
        own = list(stage.steps()) if stage.inner_level else []
        if steps := [*own, *names_at_end(passes, stage)]:
            anchors[stage.name] = steps
    if output_format == "json":
        json.dump(anchors, sys.stdout, indent=2)
        print()
        return
    for name, steps in anchors.items():
        rows = tuple((f"{name}@after({step})",) for step in steps)
        print_table(Table(f"{name}: {len(steps)} passes", ("anchor",), rows))
