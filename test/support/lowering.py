"""TTIR of Triton kernels, made in this process."""

import importlib.util
import sys
from pathlib import Path

from flagc.ir.module import Module
from flagc.pipeline.target import KernelSource
from flagc.targets.registry import target_by_name

ROOT = Path(__file__).resolve().parents[2]


def python_file(path: str):
    """Return a file of the checkout as a module, e.g. `examples/gemm.py`."""
    name = "checkout_" + path.removesuffix(".py").replace("/", "_")
    if name not in sys.modules:
        specification = importlib.util.spec_from_file_location(name, ROOT / path)
        sys.modules[name] = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def lowered(function, types: str, constants: dict[str, object]) -> Module:
    """Return the TTIR of a kernel.

    `types` gives the types of the arguments that are not in `constants`, in order; `i32:16` is one
    that 16 divides.
    """
    names = function.arg_names
    signature = dict.fromkeys(names, "constexpr")
    attributes = {}
    runtime = [name for name in names if name not in constants]
    for name, kind in zip(runtime, types.split(), strict=True):
        signature[name], _, divisor = kind.partition(":")
        if divisor:
            attributes[(names.index(name),)] = [["tt.divisibility", int(divisor)]]
    values = {(names.index(name),): value for name, value in constants.items()}
    source = KernelSource(function, signature, values, attributes)
    compilation = target_by_name("cuda:sm90").begin(source, {})
    stage = compilation.stages[0]
    return stage.export(stage.run(compilation.payload, None))
