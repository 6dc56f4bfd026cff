"""Launches on the emulated AI Core, with tensors in host memory."""

from __future__ import annotations

import ctypes
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from triton.runtime.jit import mangle_type

from flagc.aicore import EmulatedKernel, KernelFault, RunReport
from flagc.aicore.arguments import pointer_and_extent
from flagc.aicore.runner import MAX_BLOCKS
from flagc.aicore.timing.model import Timing, time_launch
from flagc.errors import KernelError, UsageError
from flagc.frontend.execution import Argument, Execution, Instruction
from flagc.frontend.launch import Launch
from flagc.ir.launch_plan import Grid
from flagc.ir.locations import SourceLocation
from flagc.pipeline import cache
from flagc.pipeline.compiler import CompileRequest, CompileResult
from flagc.pipeline.diagnostics import Diagnostic
from flagc.pipeline.fingerprint import flagc_digest
from flagc.pipeline.pipeline_text import PlacedPass
from flagc.pipeline.target import KernelSource
from flagc.targets.ascend.llvm_stage import LlvmStage, final_to_llvm
from flagc.targets.ascend.lowered_arguments import lowered_arguments
from flagc.targets.ascend.npu_executor import why_no_npu
from flagc.targets.ascend.planned_launch import planned
from flagc.targets.ascend.target import AscendTarget

Compile = Callable[[CompileRequest], CompileResult]


@dataclass
class EmulatedExecutor:
    """Compiles launches up to the final module and runs that on the emulated AI Core.

    Attributes:
        compile: compiles a request; the caller decides about isolation and caching.
        options: compile options that replace the launches' own.
        checks: whether the emulator checks what hardware does not (see docs/ascend-emulator.md);
            a launch that it finds at fault leaves its tensors as they were.
        threads: host threads for the blocks of a launch; None uses all.
        trace: whether executions carry their instructions.
        warn: told what is suspicious about a kernel and no error, once for each kernel.
    """

    target: AscendTarget
    passes: Sequence[PlacedPass]
    compile: Compile
    options: Mapping[str, Any] = field(default_factory=dict)
    checks: bool = True
    threads: int | None = None
    trace: bool = False
    warn: Callable[[Diagnostic], None] = field(default=lambda _: None)
    _kernels: dict[str, tuple[EmulatedKernel, Mapping[str, Any]]] = field(default_factory=dict)
    _warned: set[tuple[str, str]] = field(default_factory=set)

    def prepare(self, launch: Launch) -> None:
        """Compile a launch; see `flagc.frontend.execution.Executor`."""
        self._kernel(launch)

    def execute(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Execution:
        """Run one launch; see `flagc.frontend.execution.Executor`."""
        kernel, launched, names, values = self._launch(launch, grid, arguments)
        before = _memories(values) if self.checks else []
        started = time.perf_counter()
        try:
            report = kernel.run(
                launched,
                values,
                names=names,
                threads=self.threads,
                checks=self.checks,
                trace=self.trace,
            )
        except KernelFault as fault:
            for address, saved in before:
                ctypes.memmove(address, saved, len(saved))
            raise KernelError(_placed(fault, launch)) from fault
        seconds = time.perf_counter() - started
        trace = tuple(_instruction(record) for record in report.trace)
        if report.speculative_reads:
            self._warn_of(report, launch)
        return Execution(
            grid,
            report.blocks,
            report.instructions,
            seconds,
            device=f"the emulated {self.target.facts.short_name}",
            reason=f"no NPU: {why_no_npu()}" if why_no_npu() else "",
            trace=trace,
            speculative_reads=report.speculative_reads,
        )

    def _warn_of(self, report: RunReport, launch: Launch) -> None:
        """Say that a kernel reads outside its tensors, and where it does so first."""
        file = _file(launch)
        if (file, launch.source.name) in self._warned:
            return
        self._warned.add((file, launch.source.name))
        effect = "no result depends on" if self.checks else "without checks nobody follows"
        self.warn(
            Diagnostic(
                "warning",
                f"{launch.source.name}: the compiled code {report.speculative_text}; "
                f"{report.speculative_reads} such reads in this launch. Where a mask is false the "
                f"vendor's compiler still reads; {effect} what it reads there",
                location=SourceLocation(file, report.speculative_line, 0) if file else None,
            )
        )

    def time(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Timing:
        """Time one launch by the timing model; its tensors stay as they are.

        Raises:
            KernelError: the kernel does not compile, or makes all blocks wait for each other.
            UsageError: an argument that the target cannot take, or a chip that cannot be timed.
        """
        kernel, launched, names, values = self._launch(launch, grid, arguments)
        data = False
        try:
            recorded = kernel.record(launched, values, names=names)
        except KernelFault as fault:
            if fault.fault.kind != "needs-data":
                raise KernelError(_placed(fault, launch)) from fault
            data = True
            recorded = self._executed(kernel, launch, launched, names, values)
        return time_launch(recorded, self.target.facts, with_data=data, trace=self.trace)

    def _executed(
        self,
        kernel: EmulatedKernel,
        launch: Launch,
        grid: tuple[int, int, int],
        names: list[str],
        values: list[Any],
    ) -> Any:
        before = _memories(values)
        try:
            return kernel.record(grid, values, names=names, data=True)
        except KernelFault as fault:
            raise KernelError(_placed(fault, launch)) from fault
        finally:
            for address, saved in before:
                ctypes.memmove(address, saved, len(saved))

    def _launch(
        self, launch: Launch, grid: Grid, arguments: Sequence[Argument]
    ) -> tuple[EmulatedKernel, Grid, list[str], list[Any]]:
        """The compiled kernel, its own grid, and names and values of its own arguments."""
        if min(grid) < 0:
            size = "x".join(map(str, grid))
            name = launch.source.name
            raise UsageError(f"kernel '{name}': the grid {size} has a negative size")
        for argument in arguments:
            _refuse_tensor(argument)
        kernel, metadata = self._kernel(launch)
        launched, arguments = planned(metadata, grid, arguments, "cpu")
        _refuse_blocks(launch.source.name, launched, kernel.facts.blocks_of(launched))
        parts = [part for argument in arguments for part in lowered_arguments(argument)]
        return kernel, launched, [name for name, _, _ in parts], [value for _, _, value in parts]

    def _kernel(self, launch: Launch) -> tuple[EmulatedKernel, Mapping[str, Any]]:
        """The compiled kernel, and what its compilation noted."""
        request = CompileRequest(
            launch.source,
            self.target,
            {**launch.options, **self.options},
            self.passes,
            stop_after="final",
        )
        key = request.key
        if key not in self._kernels:
            result = self.compile(request)
            final = result.artifact("final").content
            assert isinstance(final, str)
            kernel = EmulatedKernel(_linked(final), self.target.facts)
            self._kernels[key] = (kernel, result.metadata)
        return self._kernels[key]


def _instruction(record: Any) -> Instruction:
    return Instruction(
        name=record.name,
        pipe=str(record.pipe),
        core="AIC" if record.cube else f"AIV{record.sub_block}",
        block=record.block,
        operands=tuple(record.operands),
        bytes_read=record.bytes_read,
        bytes_written=record.bytes_written,
        macs=record.macs,
    )


def _linked(final: str) -> LlvmStage:
    """Return the final module linked for emulation, from the cache where possible."""
    key = hashlib.sha256(f"emulated|{flagc_digest()}|{final}".encode()).hexdigest()
    stage = cache.load(key)
    if not isinstance(stage, LlvmStage):
        stage = final_to_llvm(final, note_lines=True)
        cache.store(key, stage)
    return stage


def _refuse_tensor(argument: Argument) -> None:
    """Raise UsageError for a tensor that is not in host memory, or of another type."""
    tensor = getattr(argument.value, "base", argument.value)  # of a descriptor
    if not hasattr(tensor, "data_ptr"):
        return
    if tensor.device.type != "cpu":
        raise UsageError(
            f"argument '{argument.name}': the emulated AI Core takes CPU tensors, not one on "
            f"{tensor.device}; pass {argument.name}.cpu()"
        )
    wanted, given = argument.type.replace("*k", "*"), mangle_type(argument.value)
    if wanted.startswith("*") and given != wanted:
        raise UsageError(
            f"argument '{argument.name}': the kernel was compiled for a tensor of type "
            f"{wanted.removeprefix('*')}, not {given.removeprefix('*')}"
        )


def _refuse_blocks(kernel: str, grid: Grid, blocks: int) -> None:
    """Raise UsageError for more blocks than an AI Core takes; a launch without any does nothing."""
    if blocks > MAX_BLOCKS:
        raise UsageError(
            f"kernel '{kernel}': the grid {'x'.join(map(str, grid))} has {blocks} blocks; an "
            f"Ascend launch takes at most {MAX_BLOCKS}: let each block do more"
        )


def _memories(values: Sequence[Any]) -> list[tuple[int, bytes]]:
    """Return address and contents of all memory that a kernel may write: each tensor's extent.

    Read as memory, because whatever has `data_ptr`, shape and strides may stand for a tensor.
    """
    extents = [pointer_and_extent(value) for value in values if hasattr(value, "data_ptr")]
    return [(begin, ctypes.string_at(begin, size)) for _, begin, size in extents]


def _file(launch: Launch) -> str:
    """Return the kernel's source file, '' when there is none."""
    if not isinstance(launch.source, KernelSource):
        return ""
    return str(launch.source.function.fn.__code__.co_filename)


def _placed(fault: KernelFault, launch: Launch) -> str:
    """Return the fault as an error at the kernel's source line."""
    file = _file(launch)
    place = f"{file}:{fault.fault.line}: " if file and fault.fault.line else ""
    return f"{place}error: {fault}"
