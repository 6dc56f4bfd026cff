"""Where a launch runs: on the NPU when its tensors are there, else on the emulated AI Core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flagc.aicore.timing.model import Timing
from flagc.frontend.execution import Argument, Execution
from flagc.frontend.launch import Launch
from flagc.targets.ascend.emulated import EmulatedExecutor
from flagc.targets.ascend.npu_executor import NpuExecutor


@dataclass
class AscendExecutor:
    """Runs each launch where its tensors are."""

    emulated: EmulatedExecutor
    npu: NpuExecutor

    def prepare(self, launch: Launch) -> None:
        """Compile a launch; see `flagc.frontend.execution.Executor`."""
        self.emulated.prepare(launch)

    def execute(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Execution:
        """Run one launch; see `flagc.frontend.execution.Executor`."""
        executor = self.npu if any(_on_npu(a.value) for a in arguments) else self.emulated
        return executor.execute(launch, grid, arguments)

    def time(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Timing:
        """Time one launch by the timing model; see `EmulatedExecutor.time`."""
        return self.emulated.time(launch, grid, arguments)


def _on_npu(value: object) -> bool:
    tensor = getattr(value, "base", value)  # of a tensor descriptor
    return getattr(getattr(tensor, "device", None), "type", "") == "npu"
