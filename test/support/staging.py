"""Kernels of Triton as modules of level staged."""

import tempfile
from pathlib import Path

from flagc.pipeline.compiler import CompileRequest, compile_kernel
from flagc.pipeline.loading import load_installed_passes
from flagc.pipeline.pipeline_text import parse_pipeline
from flagc.pipeline.target import KernelSource
from flagc.targets.ascend.staged_stage import StagedStage
from flagc.targets.registry import target_by_name

PASSES = ("stage-loads", "stage-dot-on-cube", "stage-store")


def staged(function, types, constants, passes=PASSES):
    """Return a kernel after the target's TTIR passes and `passes`, verified.

    `types` gives the types of the arguments that are not in `constants`, in order.

    Raises:
        Declined: one of the passes cannot do the kernel.
    """
    load_installed_passes()
    names = function.arg_names
    runtime = [name for name in names if name not in constants]
    signature = dict.fromkeys(names, "constexpr")
    signature |= dict(zip(runtime, types.split(), strict=True))
    values = {(names.index(name),): value for name, value in constants.items()}
    source = KernelSource(function, signature, values, {})
    target = target_by_name("ascend:910B3", "flagc")
    pipeline = parse_pipeline(",".join((target.default_passes, *passes)))
    result = compile_kernel(CompileRequest(source, target, {}, pipeline, stop_after="staged"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.mlir"
        path.write_text(result.artifact("staged").content)
        return StagedStage(None).read(path)
