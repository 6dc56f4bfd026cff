"""What the timing model says about the cases, from the vendor's compilation of the same kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from cases import Case, all_cases
from rows import Row

from flagc.aicore import EmulatedKernel
from flagc.aicore.timing.model import Timing, time_launch
from flagc.pipeline.compiler import CompileRequest, compile_kernel
from flagc.pipeline.loading import load_installed_passes
from flagc.pipeline.pipeline_text import parse_pipeline
from flagc.pipeline.target import KernelSource
from flagc.targets.ascend.llvm_stage import final_to_llvm
from flagc.targets.registry import target_by_name


def compiled(case: Case, chip: str) -> EmulatedKernel:
    """The case's kernel as flagc compiles it by default, for the emulator."""
    load_installed_passes()
    names = case.kernel.arg_names
    runtime = [name for name in names if name not in case.constants]
    numbers = dict(zip(runtime[len(case.tensors) :], case.numbers, strict=True))
    aligned = [name for name in runtime if numbers.get(name, 0) % 16 == 0]
    source = KernelSource(
        case.kernel,
        {name: case.types.get(name, "constexpr") for name in names},
        {(names.index(name),): value for name, value in case.constants.items()},
        {(names.index(name),): [["tt.divisibility", 16]] for name in aligned},
    )
    target: Any = target_by_name(f"ascend:{chip}", "vendor")
    passes = parse_pipeline(target.default_passes)
    result = compile_kernel(CompileRequest(source, target, passes=passes, stop_after="final"))
    final = result.artifact("final").content
    assert isinstance(final, str)
    return EmulatedKernel(final_to_llvm(final, note_lines=True), target.facts)


def predicted(case: Case, chip: str) -> Timing:
    """The model's time of a case; tensors are never touched."""
    kernel = compiled(case, chip)
    arguments = case.arguments(lambda shape, dtype: torch.empty(shape, dtype=dtype))
    return time_launch(kernel.record(case.grid, arguments), kernel.chip)


def compare(rows: Sequence[Row]) -> list[tuple[Row, Timing]]:
    """Each measured row with the model's time for it."""
    cases = {(case.group, case.name): case for case in all_cases()}
    return [(row, predicted(cases[row.group, row.name], row.chip)) for row in rows]
