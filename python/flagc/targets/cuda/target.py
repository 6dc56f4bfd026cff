"""The CUDA target."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import triton
from triton import knobs
from triton._C.libtriton import get_cache_invalidating_env_vars
from triton._C.libtriton import ir as triton_ir
from triton.backends.compiler import GPUTarget, Language
from triton.compiler.compiler import ASTSource, make_backend

from flagc import mlir
from flagc.errors import UsageError
from flagc.frontend.launch import Launch
from flagc.pipeline.compiler import CompileResult
from flagc.pipeline.stages import Stage
from flagc.pipeline.target import Compilation, IrSource, KernelSource, PairSource, Source, Target
from flagc.targets.cuda.bundle import launch_document
from flagc.targets.cuda.executor import CudaExecutor, require_gpu
from flagc.targets.cuda.facts import DEFAULT_CHIP, cuda_facts
from flagc.targets.cuda.resources import Resources, resources_of
from flagc.targets.cuda.stages import TritonStage, read_triton_ir
from flagc.targets.triton_frontend import new_context, ttir_of_kernel, ttir_of_pair

_WARP_SIZE = 32


class CudaTarget(Target):
    """An NVIDIA GPU. Compiles anywhere; no GPU or driver is needed."""

    takes_pairs = True

    def __init__(self, chip: str = DEFAULT_CHIP) -> None:
        self.facts = cuda_facts(chip)
        self.name = f"cuda:{chip}"

    def triton_target(self) -> GPUTarget:
        """Return Triton's description of the chip."""
        return GPUTarget("cuda", self.facts.capability, _WARP_SIZE)

    def key(self) -> str:
        """Return target and toolchain versions; the assembler is told by size and time."""
        capability = self.facts.capability
        tool = knobs.nvidia.ptxas_blackwell if capability >= 100 else knobs.nvidia.ptxas
        assembler = os.stat(tool.path)
        return "|".join(
            (
                self.name,
                f"triton {triton.__version__}",
                f"mlir {mlir.version()}",
                f"ptxas {assembler.st_size} {assembler.st_mtime_ns}",
                repr(sorted(get_cache_invalidating_env_vars().items())),
            )
        )

    def executor(self, **settings: Any) -> CudaExecutor:
        """Return what launches kernels on this machine's GPU.

        Raises:
            EnvironmentProblem: there is no GPU here.
            UsageError: the GPU is not of this chip, or a trace is asked for.
        """
        if settings.get("trace"):
            raise UsageError("--trace is for ascend: a GPU's instructions cannot be traced")
        require_gpu(self.facts.capability, self.name)
        return CudaExecutor(
            self, settings["passes"], settings["compile"], settings.get("options", {})
        )

    def launch_document(self, launch: Launch, result: CompileResult, name: str) -> dict[str, Any]:
        """Return what `flagc-bundle` needs to launch `NAME.cubin`; {} without a cubin."""
        if all(artifact.stage != "cubin" for artifact in result.artifacts):
            return {}
        return launch_document(launch, result, f"{name}.cubin")

    def bench_device(self) -> Any:
        """Return what times launches on this machine's GPU."""
        from flagc.targets.cuda.bench_device import CudaBenchDevice

        require_gpu(self.facts.capability, self.name)
        return CudaBenchDevice()

    def tensor_device(self) -> str:
        """Return torch's name of the GPU."""
        return "cuda"

    def device_properties(self) -> dict[str, int]:
        """Return the chip's limits under the names that Triton's NVIDIA driver uses."""
        return {
            "max_shared_mem": self.facts.shared_memory,
            "max_num_regs": self.facts.registers,
            "multiprocessor_count": self.facts.multiprocessors,
            "warpSize": _WARP_SIZE,
        }

    def resources(self, result: CompileResult) -> Resources:
        """Return registers, spills, shared memory, occupancy and matrix instructions.

        Raises:
            UsageError: the compilation stopped before the cubin.
        """
        backend = make_backend(self.triton_target())
        return resources_of(result, self.facts, new_context(backend))

    def stages(self) -> list[Stage]:
        """Return the stages with default options."""
        backend = make_backend(self.triton_target())
        return _stages(backend, backend.parse_options({}), new_context(backend), {})

    def begin(self, source: Source, options: Mapping[str, Any]) -> Compilation:
        """Prepare `source`: kernels get TTIR from Triton's frontend, IR files are parsed later."""
        target = self.triton_target()
        backend = make_backend(target)
        context = new_context(backend)
        if isinstance(source, KernelSource):
            parsed = backend.parse_options(dict(options))
            ast = ASTSource(
                source.function, dict(source.signature), source.constexprs, source.attributes
            )
            payload = ttir_of_kernel(ast, target, backend, parsed, context)
        elif isinstance(source, PairSource):
            parsed = backend.parse_options(dict(options))
            payload = ttir_of_pair(source, lambda part: self.begin(part, options), context)
        else:
            payload = None
            parsed = backend.parse_options({**_options_of(source, context), **options})
        metadata: dict[str, Any] = {"target": self.name, **vars(parsed)}
        stages = _stages(backend, parsed, context, metadata)
        return Compilation(stages, payload, dict(vars(parsed)), metadata)


def _stages(backend: Any, options: Any, context: Any, metadata: dict[str, Any]) -> list[Stage]:
    functions: dict[str, Any] = {}
    # A hook that is installed for JIT launches wraps stages with its own passes, not wanted here.
    hook = knobs.runtime.add_stages_inspection_hook
    knobs.runtime.add_stages_inspection_hook = None
    try:
        backend.add_stages(functions, options, Language.TRITON)
    finally:
        knobs.runtime.add_stages_inspection_hook = hook
    return [TritonStage(name, run, context, metadata) for name, run in functions.items()]


def _options_of(source: IrSource, context: triton_ir.context) -> dict[str, Any]:
    """Return the compile options that TTGIR carries in itself."""
    if source.stage != "ttgir":
        return {}
    module = read_triton_ir(source.path, "ttgir", context)
    options = {"num_warps": module.get_int_attr("ttg.num-warps")}
    if (ctas := module.get_int_attr("ttg.num-ctas")) is not None:
        options["num_ctas"] = ctas
    return options
