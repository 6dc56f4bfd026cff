"""Launches on an NPU, for tensors that torch_npu put there. Never run on hardware by us."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from flagc.errors import EnvironmentProblem, UsageError
from flagc.frontend.execution import Argument, Execution
from flagc.frontend.launch import Launch
from flagc.pipeline.compiler import CompileRequest, CompileResult
from flagc.pipeline.pipeline_text import PlacedPass
from flagc.targets.ascend import toolchain
from flagc.targets.ascend.cann_runtime import RuntimeFunction, cann_runtime
from flagc.targets.ascend.final_lowering import blocks_of
from flagc.targets.ascend.lowered_arguments import lowered_arguments
from flagc.targets.ascend.planned_launch import planned
from flagc.targets.ascend.target import AscendTarget

Compile = Callable[[CompileRequest], CompileResult]

# How triton-ascend's launcher packs a scalar of Triton's type: format and alignment in bytes.
# 16-bit floats travel as fp32.
_SCALARS = {
    **dict.fromkeys(("i1", "i32"), ("<i", 4)),
    **dict.fromkeys(("u1", "u32"), ("<I", 4)),
    **dict.fromkeys(("fp16", "bf16", "fp32", "f32"), ("<f", 4)),
    **{"i8": ("<b", 4), "u8": ("<B", 4), "i16": ("<h", 4), "u16": ("<H", 4)},
    **{"i64": ("<q", 8), "u64": ("<Q", 8), "fp64": ("<d", 8)},
}
_POINTER = ("<Q", 8)


@cache
def why_no_npu() -> str:
    """Return what is missing here for launches on an NPU, or '' when they are possible."""
    try:
        import torch
        import torch_npu  # type: ignore[import-not-found] # noqa: F401
    except ImportError:
        return "torch_npu is not installed"
    if not torch.npu.is_available():
        return "torch_npu sees no NPU"
    if toolchain.hivmc() is None:
        return "hivmc of CANN is not on PATH"
    return ""


def pack(values: Sequence[tuple[str, Any]]) -> bytes:
    """Return the argument block of values with Triton's types, pointers as integers.

    Each field begins at a multiple of its alignment, as in triton-ascend's packed struct.
    """
    block = bytearray()
    for kind, value in values:
        form, alignment = _POINTER if kind.startswith("*") else _SCALARS[kind]
        block.extend(bytes(-len(block) % alignment))
        block += struct.pack(form, value)
    return bytes(block)


@dataclass
class NpuExecutor:
    """Compiles launches to kernel objects with CANN's hivmc, and launches them on the NPU."""

    target: AscendTarget
    passes: Sequence[PlacedPass]
    compile: Compile
    options: Mapping[str, Any] = field(default_factory=dict)
    _kernels: dict[str, tuple[RuntimeFunction, dict[str, Any]]] = field(default_factory=dict)

    def prepare(self, launch: Launch) -> None:
        """Compile a launch; see `flagc.frontend.execution.Executor`."""
        self._kernel(launch)

    def execute(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Execution:
        """Put one launch on the current stream and wait for it."""
        import torch

        function, facts = self._kernel(launch)
        script_grid, (grid, arguments) = grid, planned(facts, grid, arguments, "npu")
        blocks = blocks_of(grid, facts["max_blocks"], facts["blocks_per_program"])
        started = time.perf_counter()
        if blocks:
            stream = torch.npu.current_stream()
            scratch = _scratch(facts, blocks)
            leading = [("*i64", cann_runtime().cross_core_flags())]
            leading += [("*i8", 0 if tensor is None else tensor.data_ptr()) for tensor in scratch]
            trailing = [("i32", size) for size in grid]
            block = pack([*leading, *_packable(arguments), *trailing])
            cann_runtime().launch(function, blocks, block, stream.npu_stream)
            stream.synchronize()
        seconds = time.perf_counter() - started
        return Execution(script_grid, blocks, 0, seconds, device=f"NPU ({self.target.name})")

    def _kernel(self, launch: Launch) -> tuple[RuntimeFunction, dict[str, Any]]:
        options = {**launch.options, **self.options}
        request = CompileRequest(launch.source, self.target, options, self.passes)
        key = request.key
        if key not in self._kernels:
            if toolchain.hivmc() is None:
                raise EnvironmentProblem(f"cannot launch on an NPU: {why_no_npu()}")
            result = self.compile(request)
            binary = result.artifact("object").content
            assert isinstance(binary, bytes)
            cores = list(result.metadata["entries"])
            core = "mix" if len(cores) > 1 else cores[0]
            function = cann_runtime().register(launch.source.name, binary, core)
            self._kernels[key] = (function, result.metadata)
        return self._kernels[key]


def _scratch(facts: dict[str, Any], blocks: int) -> tuple[Any, Any]:
    """Return the lock words and the workspace on the NPU, None where the kernel has none."""
    import torch

    words, workspace = facts["lock_words"], facts["workspace_bytes"]
    lock = None
    if words:
        lock = torch.full((words,), facts["lock_initial"] or 0, dtype=torch.int64, device="npu")
    if not workspace:
        return lock, None
    return lock, torch.empty(blocks * workspace, dtype=torch.uint8, device="npu")


def _packable(arguments: Sequence[Argument]) -> list[tuple[str, Any]]:
    packable = []
    for argument in arguments:
        for name, kind, value in lowered_arguments(argument):
            if kind.startswith("*"):
                if value.device.type != "npu":
                    raise UsageError(
                        f"argument '{name}' is on {value.device}, other tensors of the launch are "
                        "on the NPU; put all of them in one place"
                    )
                packable.append((kind, value.data_ptr()))
            else:
                packable.append((kind, value))
    return packable
