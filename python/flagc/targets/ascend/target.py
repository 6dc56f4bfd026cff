"""The Ascend target: Triton's frontend, then the vendor's open toolchain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import triton
from triton.backends.compiler import GPUTarget, Language
from triton.compiler.compiler import ASTSource, make_backend

from flagc import mlir
from flagc.errors import UsageError, nearest
from flagc.pipeline.diagnostics import Diagnostic
from flagc.pipeline.stages import Stage
from flagc.pipeline.target import Compilation, KernelSource, Source, Target
from flagc.targets.ascend import toolchain
from flagc.targets.ascend.chips import chip as find_chip
from flagc.targets.ascend.lowerings import (
    NEEDED_PASSES,
    PIPELINES,
    STAGED_PASSES,
    VENDOR_INSTEAD,
)
from flagc.targets.ascend.staged_stage import StagedStage
from flagc.targets.ascend.stages import (
    FinalStage,
    HivmStage,
    LinalgStage,
    LlvmStage,
    ObjectStage,
)
from flagc.targets.cuda.stages import TritonStage
from flagc.targets.triton_frontend import new_context, ttir_of_kernel

# Triton's frontend needs some backend for language details. The NVIDIA one for sm90 keeps tensor
# descriptors and fp8 types in TTIR, which flagc's own passes and the vendor's then deal with.
_FRONTEND_TARGET = GPUTarget("cuda", 90, 32)


class AscendTarget(Target):
    """A Huawei Ascend NPU of the 910B or 910_93 family. No NPU and no CANN is needed to compile."""

    # In this order: control flow, then addresses and masks, then values, then what is left over.
    # `split-large-blocks` is not among them: a block that does not fit is the author's to choose.
    default_passes = ",".join(
        (
            "structured-early-return",
            "unsigned-to-signed",
            "unwrap-modulo-offsets",
            "merge-mask-bounds",
            "select-values-not-pointers",
            "sum-single-lane-offsets",
            "split-welford-reduce",
            "load-then-broadcast",
            "every-second-as-column",
            "while-to-for",
            "fp8-to-f16",
            "fp8-stores-as-bits",
            "bounds-before-conditions",
            "explicit-other",
            "libdevice-to-math",
            "int8-arithmetic-in-i32",
            "keep-casts-to-integers",
            "compare-f16-as-f32",
            "drop-assume",
            "drop-cache-hints",
            "descriptors-to-pointers",
            "split-accumulators",
        )
    )

    needed_passes = NEEDED_PASSES

    def __init__(self, chip: str, pipeline: str = "auto") -> None:
        self.facts = find_chip(chip)
        self.name = f"ascend:{self.facts.short_name}"
        self.pipeline = pipeline
        self.lowering_passes = "" if pipeline == "vendor" else ",".join(STAGED_PASSES)

    def with_pipeline(self, name: str) -> AscendTarget:
        """Return this chip with the lowering called `name`: auto, flagc or vendor.

        Raises:
            UsageError: there is no such lowering.
        """
        if name not in PIPELINES:
            raise UsageError(f"unknown pipeline '{name}'; {nearest(name, list(PIPELINES))}")
        return AscendTarget(self.facts.short_name, name)

    def triton_target(self) -> GPUTarget:
        """Return the target whose backend serves as frontend."""
        return _FRONTEND_TARGET

    def executor(self, **settings: Any) -> Any:
        """Return what runs launches: on the NPU if their tensors are there, else emulated.

        `settings` are the fields of `EmulatedExecutor`.
        """
        from flagc.targets.ascend.emulated import EmulatedExecutor
        from flagc.targets.ascend.executor import AscendExecutor
        from flagc.targets.ascend.npu_executor import NpuExecutor

        npu = NpuExecutor(
            self, settings["passes"], settings["compile"], settings.get("options", {})
        )
        return AscendExecutor(EmulatedExecutor(self, **settings), npu)

    def model(self) -> str:
        """Name the timing model, with its version and the chip."""
        from flagc.aicore.timing.costs import cost_table

        return f"the timing model (version {cost_table().version}) of {self.facts.short_name}"

    def tensor_device(self) -> str:
        """Return `npu` where launches can run on one, else `cpu`."""
        from flagc.targets.ascend.npu_executor import why_no_npu

        return "cpu" if why_no_npu() else "npu"

    def device_properties(self) -> dict[str, int]:
        """Return core counts and the vector cores' memory, under triton-ascend's names."""
        return {
            "num_aicore": self.facts.cube_cores,
            "num_vectorcore": self.facts.vector_cores,
            "multiprocessor_count": self.facts.cube_cores,
            "max_shared_mem": self.facts.ub_bytes,
        }

    def key(self) -> str:
        """Return target, lowering and toolchain versions, and whether hivmc is there."""
        versions = {**toolchain.versions(), "triton": triton.__version__, "mlir": mlir.version()}
        return f"{self.name}|{self.pipeline}|{sorted(versions.items())}|{toolchain.hivmc()}"

    def stages(self) -> list[Stage]:
        """Return the stages with default options."""
        return self._stages({}, {}, [])[0]

    def begin(self, source: Source, options: Mapping[str, Any]) -> Compilation:
        """Prepare `source`; a kernel's TTIR comes from Triton's frontend."""
        metadata: dict[str, Any] = {"target": self.name}
        notes: list[Diagnostic] = []
        stages, backend, parsed, context = self._stages(options, metadata, notes)
        payload = None
        if isinstance(source, KernelSource):
            ast = ASTSource(
                source.function, dict(source.signature), source.constexprs, source.attributes
            )
            payload = ttir_of_kernel(ast, _FRONTEND_TARGET, backend, parsed, context)
            metadata["name"] = source.name
        return Compilation(stages, payload, dict(vars(parsed)), metadata, notes)

    def _stages(
        self, options: Mapping[str, Any], metadata: dict[str, Any], notes: list[Diagnostic]
    ) -> tuple[list[Stage], Any, Any, Any]:
        backend = make_backend(_FRONTEND_TARGET)
        parsed = backend.parse_options(dict(options))
        context = new_context(backend)
        functions: dict[str, Any] = {}
        backend.add_stages(functions, parsed, Language.TRITON)
        stages: list[Stage] = [
            TritonStage("ttir", functions["ttir"], context, metadata),
            *self._lowerings(metadata, notes),
            FinalStage(self.facts, metadata, notes),
            LlvmStage(metadata),
            ObjectStage(self.facts, notes),
        ]
        return stages, backend, parsed, context

    def _lowerings(self, metadata: dict[str, Any], notes: list[Diagnostic]) -> list[Stage]:
        """Return the stages between TTIR and the final module."""
        vendor: list[Stage] = [
            LinalgStage(self.facts, metadata, notes),
            HivmStage(self.facts, metadata, notes),
        ]
        if self.pipeline == "flagc":
            return [StagedStage(None)]
        if self.pipeline == "vendor":
            return vendor
        return [StagedStage(VENDOR_INSTEAD), *vendor]
