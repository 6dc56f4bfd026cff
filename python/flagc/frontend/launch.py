"""A recorded launch of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flagc.frontend.execution import Execution
from flagc.pipeline.target import KernelSource, PairSource, Source


@dataclass(eq=False)
class Launch:
    """One kernel specialisation and the grids it was launched with.

    Attributes:
        source: the specialised kernel, or IR read from a file.
        options: compile options (`num_warps`, `num_stages`, ...) as Triton's launcher gave them.
        grids: the grid of each launch, three numbers each; empty when it was only warmed up.
        note: what the user should know about how the specialisation was chosen.
        alternatives: of an autotuned kernel, the same launch with its other configs in order; the
            first that compiles may take the place of one that does not.
        executions: what each launch did, where launches are executed and not only recorded.
        parts: of a launch that stands for two, which a pass merges: those two.
        unwritten: arguments of such a launch that the two would write, and their merger does not.
    """

    source: Source
    options: Mapping[str, Any]
    grids: list[tuple[int, int, int]] = field(default_factory=list)
    note: str = ""
    alternatives: list[Launch] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    parts: tuple[Launch, ...] = ()
    unwritten: frozenset[str] = frozenset()

    def describe(self) -> dict[str, Any]:
        """Return the launch as plain data, for `--format json`."""
        described: dict[str, Any] = {"kernel": self.source.name, "grids": [*map(list, self.grids)]}
        if self.parts:
            described["merged"] = [part.source.name for part in self.parts]
        if isinstance(self.source, (KernelSource, PairSource)):
            names = self.source.function.arg_names
            attributes = list(self.source.attributes.items())
            described["signature"] = {k: str(v) for k, v in self.source.signature.items()}
            described["constexprs"] = {
                ".".join([names[path[0]], *map(str, path[1:])]): str(value)
                for path, value in self.source.constexprs.items()
            }
            divisors, values = (
                {
                    names[path[0]]: dict(notes)[kind]
                    for path, notes in attributes
                    if kind in dict(notes)
                }
                for kind in ("tt.divisibility", "flagc.value")
            )
            described["divisible_by_16"] = [n for n, by in divisors.items() if by % 16 == 0]
            if values:
                described["values"] = values
        described["options"] = {
            name: self.options[name]
            for name in ("num_warps", "num_stages", "num_ctas", "maxnreg")
            if self.options.get(name) is not None
        }
        if self.executions:
            described["executions"] = [execution.describe() for execution in self.executions]
        return described
