"""Compile kernels for Ascend and load them into the emulator, each specialisation once."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from flagc.aicore import EmulatedKernel
from flagc.pipeline.compiler import CompileRequest, compile_kernel
from flagc.pipeline.defaults import build_pipeline
from flagc.pipeline.target import KernelSource
from flagc.targets.ascend.llvm_stage import LlvmStage, final_to_llvm
from flagc.targets.registry import target_by_name

DTYPES = {
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
}
INPUTS = Path(__file__).resolve().parents[1] / "ascend" / "inputs"


def _load(name: str) -> Any:
    path = INPUTS / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"aicore_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


kernels = _load("kernels")


@dataclass(frozen=True)
class Lowering:
    """How kernels are lowered: the target's pipeline, and what the command line would say."""

    pipeline: str = "vendor"
    passes: str = ""
    without: tuple[str, ...] = ()
    num_stages: int = 3


VENDOR = Lowering()
OURS = Lowering("flagc")


def lowered(
    function: Any,
    types: dict[str, str],
    constants: dict[str, Any],
    even: str,
    how: Lowering = VENDOR,
) -> LlvmStage:
    """LLVM IR of one specialisation; arguments named in `even` are multiples of 16."""
    names = function.arg_names
    source = KernelSource(
        function,
        {name: types.get(name, "constexpr") for name in names},
        {(names.index(name),): value for name, value in constants.items()},
        {(names.index(name),): [["tt.divisibility", 16]] for name in even.split()},
    )
    target = target_by_name("ascend:910B3", how.pipeline)
    passes = build_pipeline(target, how.passes, [], how.without)
    options = {"num_stages": how.num_stages}
    request = CompileRequest(source, target, options, passes, stop_after="final")
    result = compile_kernel(request)
    final = result.artifact("final").content
    assert isinstance(final, str)
    return final_to_llvm(final, note_lines=True)


_loaded: dict[str, EmulatedKernel] = {}


def emulated(
    function: Any,
    types: dict[str, str],
    constants: dict[str, Any],
    even: str = "",
    how: Lowering = VENDOR,
) -> EmulatedKernel:
    key = repr(
        (
            function.__module__,
            function.__name__,
            sorted(types.items()),
            sorted(constants.items()),
            even,
            how,
        )
    )
    if key not in _loaded:
        _loaded[key] = EmulatedKernel(lowered(function, types, constants, even, how))
    return _loaded[key]
