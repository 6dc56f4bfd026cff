"""A compiled CUDA kernel with what its launch needs; made by a compilation, or read from files."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flagc.frontend.execution import Argument
from flagc.ir.launch_plan import METADATA, LaunchPlan
from flagc.pipeline.compiler import CompileResult
from flagc.targets.cuda.counters import take_counters
from flagc.targets.cuda.described_tensors import described_tensors
from flagc.targets.cuda.driver_api import CudaDriver, LaunchShape
from flagc.targets.cuda.parameters import parameters

# Returns a buffer with `data_ptr()` on the GPU of so many bytes.
Allocate = Callable[[int], Any]

_LAUNCH_FACTS = (
    "name",
    "shared",
    "num_warps",
    "num_ctas",
    "global_scratch_size",
    "profile_scratch_size",
    "tensordesc_meta",
    "launch_cooperative_grid",
    "launch_pdl",
    METADATA,
)


@dataclass
class KernelImage:
    """A cubin and the facts of its launch.

    `facts` are those of Triton's metadata that a launch needs: the symbol's `name`, `shared`
    memory and scratch sizes in bytes, `num_warps`, and so on.
    """

    cubin: bytes
    facts: Mapping[str, Any]
    _handles: dict[int, int] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, result: CompileResult) -> KernelImage:
        """Return the image of a complete compilation."""
        cubin = result.artifact("cubin").content
        assert isinstance(cubin, bytes)
        return cls(cubin, {name: result.metadata.get(name) for name in _LAUNCH_FACTS})

    def load(self, driver: CudaDriver) -> int:
        """Return the kernel's handle, loading the cubin the first time."""
        key = id(driver)
        if key not in self._handles:
            facts = self.facts
            self._handles[key] = driver.load(
                self.cubin, facts["name"], facts["shared"], facts["num_ctas"]
            )
        return self._handles[key]

    def launch(
        self,
        driver: CudaDriver,
        grid: tuple[int, int, int],
        arguments: Sequence[Argument],
        stream: int,
        allocate: Allocate,
    ) -> None:
        """Put one launch on `stream`. An empty grid launches nothing.

        Args:
            grid: the script's; a pass may have changed what is launched for it.
            allocate: gives scratch memory, which must live until the launch has ended; a caching
                allocator that is ordered by `stream` does.

        Raises:
            UsageError: an argument that cannot be launched.
            EnvironmentProblem: the driver refuses.
        """
        facts = self.facts
        function = self.load(driver)
        packed = parameters(arguments, facts["tensordesc_meta"] or (), driver)
        shared: list[Any] = []
        if (description := facts.get(METADATA)) is not None:
            plan = LaunchPlan.of(description)
            packed += [ctypes.c_int32(size) for size in grid]
            size, tiles = plan.memory(grid)
            if plan.workspace:
                shared = [allocate(size), take_counters(tiles, stream)]
                packed += [ctypes.c_uint64(buffer.data_ptr()) for buffer in shared]
            made = [
                Argument("a tensor descriptor", planned.signature, tensor)
                for planned, tensor in zip(
                    plan.descriptors,
                    described_tensors(plan, [argument.value for argument in arguments]),
                    strict=True,
                )
            ]
            packed += parameters(made, facts["tensordesc_meta"] or (), driver)
            grid = plan.launched(grid)
        programs = grid[0] * grid[1] * grid[2]
        if not programs:
            return
        scratch = []
        for name in ("global_scratch_size", "profile_scratch_size"):
            size = (facts[name] or 0) * programs * facts["num_ctas"]
            buffer = allocate(size) if size else None
            scratch.append(buffer)
            packed.append(ctypes.c_uint64(buffer.data_ptr() if buffer is not None else 0))
        shape = LaunchShape(
            grid,
            facts["num_warps"],
            facts["num_ctas"],
            facts["shared"],
            bool(facts["launch_cooperative_grid"]),
            bool(facts["launch_pdl"]),
        )
        driver.launch(function, shape, stream, packed)
