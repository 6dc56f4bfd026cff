"""Count the ops of a module."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from flagc.ir.module import Module
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class CountOps(Pass):
    """Print a table of how often each op occurs in the module, most frequent first."""

    name = "count-ops"
    level = "any"

    def run(self, module: Module, context: PassContext) -> None:
        """Count ops by name; equal counts are sorted by name."""
        counts = Counter(op.name for op in module.walk())
        rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        rows.append(("total", sum(counts.values())))
        context.table(f"ops in {context.stage}", ("op", "count"), rows)
