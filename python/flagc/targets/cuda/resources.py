"""What a compiled CUDA kernel uses: registers, spills, shared memory, occupancy, matrix units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flagc.errors import UsageError
from flagc.ir import triton_bridge
from flagc.ir.analysis.dots import dots
from flagc.ir.locations import source_location
from flagc.pipeline.compiler import CompileResult
from flagc.pipeline.diagnostics import Table
from flagc.targets.cuda.cubin_reader import CubinFacts, read_cubin
from flagc.targets.cuda.facts import CudaFacts
from flagc.targets.cuda.matrix_instructions import MatrixInstruction, matrix_instructions
from flagc.targets.cuda.occupancy import Occupancy, occupancy
from flagc.targets.cuda.ptx_reader import read_instructions

# From this capability on, a cubin counts the system's share as the kernel's own shared memory.
_COUNTS_RESERVED = 90
_SPILLS = ("LDL", "STL")


@dataclass(frozen=True)
class DotReport:
    """A dot at `file:line` and the matrix instructions that its line became; none means FMA."""

    file: str
    line: int
    instructions: tuple[MatrixInstruction, ...]


@dataclass(frozen=True)
class Resources:
    """The resources of one kernel.

    Attributes:
        shared_memory: bytes per block, static and dynamic.
        spill_instructions: loads and stores of local memory in SASS.
        sass: how often each SASS opcode occurs.
    """

    kernel: str
    cubin: CubinFacts
    warps: int
    shared_memory: int
    tensor_memory: int
    occupancy: Occupancy
    dots: tuple[DotReport, ...]

    @property
    def spill_instructions(self) -> int:
        """Loads and stores of local memory in SASS."""
        return self.cubin.count(*_SPILLS)

    def describe(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "registers": self.cubin.registers,
            "stack_bytes": self.cubin.stack,
            "local_bytes": self.cubin.local,
            "spill_instructions": self.spill_instructions,
            "shared_memory": self.shared_memory,
            "tensor_memory_columns": self.tensor_memory,
            "warps_per_block": self.warps,
            "occupancy": {**asdict(self.occupancy), "share": round(self.occupancy.share, 4)},
            "dots": [asdict(dot) for dot in self.dots],
            "sass": dict(self.cubin.opcodes.most_common()),
        }

    def tables(self) -> list[Table]:
        """Return the report as tables."""
        tables = [self._usage_table()]
        if self.dots:
            tables.append(self._dot_table())
        return tables

    def _usage_table(self) -> Table:
        fit = self.occupancy
        spilled = f"{self.cubin.stack + self.cubin.local} bytes"
        if self.spill_instructions:
            spilled += f", {self.spill_instructions} loads and stores"
        rows: list[tuple[str, str]] = [
            ("registers per thread", str(self.cubin.registers)),
            ("local memory per thread (spills)", spilled),
            ("shared memory per block", f"{self.shared_memory} bytes"),
            ("threads per block", str(self.warps * 32)),
            ("blocks per multiprocessor", f"{fit.blocks}, limited by {' and '.join(fit.limits)}"),
            ("occupancy", f"{fit.warps} of {fit.most_warps} warps ({fit.share:.0%})"),
        ]
        if self.tensor_memory:
            rows.insert(3, ("tensor memory per block", f"{self.tensor_memory} columns"))
        return Table(f"resources of {self.kernel}", ("resource", "use"), tuple(rows), "", "cubin")

    def _dot_table(self) -> Table:
        rows: list[tuple[str | int | float, ...]] = []
        for dot in self.dots:
            place = f"{dot.file}:{dot.line}"
            for m in dot.instructions:
                types = f"{m.a or '?'} * {m.b or '?'} -> {m.accumulator or '?'}"
                rows.append((place, m.family, m.shape or "?", types, m.count))
            if not dot.instructions:
                rows.append((place, "none: FMA", "", "", ""))
        columns = ("dot", "instruction", "shape", "types", "in PTX")
        return Table(f"dots of {self.kernel}", columns, tuple(rows), "", "ptx")


def resources_of(result: CompileResult, facts: CudaFacts, context: Any) -> Resources:
    """Return what the kernel of a complete compilation uses.

    `context` is a libtriton context with the backend's dialects.

    Raises:
        UsageError: the compilation stopped before the cubin.
        EnvironmentProblem: the tools that read a cubin are missing or fail.
    """
    contents = {artifact.stage: artifact.content for artifact in result.artifacts}
    if "cubin" not in contents:
        raise UsageError("a resource report needs the cubin; leave out --emit")
    metadata, cubin = result.metadata, contents["cubin"]
    assert isinstance(cubin, bytes)
    read = read_cubin(cubin, metadata["name"])
    static = read.shared
    if facts.capability >= _COUNTS_RESERVED:
        static = max(0, static - facts.reserved_shared_memory)
    shared = int(metadata.get("shared", 0)) + static
    tensor_memory = int(metadata.get("tmem_size", 0))
    fit = occupancy(
        facts,
        registers=read.registers,
        warps=metadata["num_warps"],
        shared_memory=shared,
        tensor_memory=tensor_memory,
    )
    ttgir, ptx = contents.get("ttgir"), contents.get("ptx")
    places = _dot_places(ttgir, context) if isinstance(ttgir, str) else []
    found = matrix_instructions(read_instructions(ptx)) if isinstance(ptx, str) else []
    return Resources(
        result.name,
        read,
        metadata["num_warps"],
        shared,
        tensor_memory,
        fit,
        _by_dot(places, found),
    )


def _dot_places(ttgir: str, context: Any) -> list[tuple[str, int]]:
    module = triton_bridge.export(triton_bridge.import_text(ttgir, context), "ttgir")
    places: list[tuple[str, int]] = []
    for dot in dots(module):
        at = source_location(dot.op.location)
        place = (Path(at.file).name, at.line) if at is not None else ("", 0)
        if place not in places:
            places.append(place)
    return places


def _by_dot(
    places: Sequence[tuple[str, int]], found: Sequence[MatrixInstruction]
) -> tuple[DotReport, ...]:
    """Return one report for each line with dots or matrix instructions."""
    lines = [*places]
    lines += [place for m in found if (place := (m.file, m.line)) not in lines]
    unique = dict.fromkeys(lines)
    return tuple(
        DotReport(file, line, tuple(m for m in found if (m.file, m.line) == (file, line)))
        for file, line in unique
    )
