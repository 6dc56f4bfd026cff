"""Launches on this machine's NVIDIA GPU, with tensors that torch put there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flagc.errors import EnvironmentProblem, KernelError, UsageError
from flagc.frontend.execution import Argument, Execution, parts_of, units_of
from flagc.frontend.launch import Launch
from flagc.pipeline.compiler import CompileRequest, CompileResult
from flagc.pipeline.pipeline_text import PlacedPass
from flagc.pipeline.scratch_memory import torch_scratch
from flagc.targets.cuda.driver_api import CudaDriver, cuda_driver
from flagc.targets.cuda.kernel_image import KernelImage

if TYPE_CHECKING:
    from flagc.targets.cuda.target import CudaTarget

Compile = Callable[[CompileRequest], CompileResult]

# From this capability on, a cubin runs on exactly the capability it was made for (sm_90a, sm_100a).
_EXACT_FROM = 90


def why_no_gpu() -> str:
    """Return what is missing here for launches on a GPU, or '' when they are possible."""
    import torch

    if torch.cuda.is_available():
        return ""
    if torch.version.cuda is None:
        return f"this PyTorch ({torch.__version__}) was built without CUDA"
    return "PyTorch sees no NVIDIA GPU"


def require_gpu(capability: int, target: str) -> None:
    """Make sure that kernels compiled for `target` can run on the current GPU.

    Raises:
        EnvironmentProblem: there is no GPU.
        UsageError: the GPU is another one.
    """
    import torch

    if why := why_no_gpu():
        raise EnvironmentProblem(
            f"cannot run on a GPU: {why}; without one, `flagc kernel.py --target {target} -o DIR` "
            "writes a bundle that `flagc-bundle DIR` runs on a machine with one"
        )
    major, minor = torch.cuda.get_device_capability()
    found = 10 * major + minor
    same_family = found // 10 == capability // 10 and found >= capability
    if found != capability and not (capability < _EXACT_FROM and same_family):
        name = torch.cuda.get_device_name()
        raise UsageError(f"this machine's {name} is sm{found}, not {target}: use cuda:sm{found}")


@dataclass
class CudaExecutor:
    """Compiles launches to cubins, and launches them on torch's current stream.

    `options` override those of the launches (`num_warps`, `num_stages`).
    """

    target: CudaTarget
    passes: Sequence[PlacedPass]
    compile: Compile
    options: Mapping[str, Any] = field(default_factory=dict)
    driver: Callable[[], CudaDriver] = cuda_driver
    _images: dict[str, KernelImage] = field(default_factory=dict)

    def prepare(self, launch: Launch) -> None:
        """Compile a launch; see `flagc.frontend.execution.Executor`."""
        for part in units_of(launch, self.passes):
            self.image(part)

    def execute(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Execution:
        """Run one launch and wait for it; see `flagc.frontend.execution.Executor`."""
        import torch

        call = self.call(launch, grid, arguments)
        started = time.perf_counter()
        call()
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:  # what torch raises for a fault on the device
            raise KernelError(f"error: kernel '{launch.source.name}': {error}") from error
        seconds = time.perf_counter() - started
        blocks = grid[0] * grid[1] * grid[2]
        return Execution(grid, blocks, 0, seconds, device=torch.cuda.get_device_name())

    def call(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Callable[[], None]:
        """Compile and load `launch`; return what puts it on torch's current stream.

        Two launches that no pass merges go there one after the other.
        """
        import torch

        if launch not in units_of(launch, self.passes):
            calls = [self.call(*part) for part in parts_of(launch, grid, arguments)]

            def enqueue_all() -> None:
                for call in calls:
                    call()

            return enqueue_all
        image, driver = self.image(launch), self.driver()
        image.load(driver)

        def enqueue() -> None:
            stream = torch.cuda.current_stream().cuda_stream
            image.launch(driver, grid, arguments, stream, torch_scratch)

        return enqueue

    def image(self, launch: Launch) -> KernelImage:
        """Return the compiled kernel of `launch`, from this executor's memory where possible."""
        options = {**launch.options, **self.options}
        request = CompileRequest(launch.source, self.target, options, self.passes)
        key = request.key
        if key not in self._images:
            self._images[key] = KernelImage.of(self.compile(request))
        return self._images[key]
