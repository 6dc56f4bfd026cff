"""Launches for CUDA, executed on the CPU: their TTIR after passes, in the numpy interpreter."""

from contextlib import contextmanager

from flagc.frontend.execution import Execution
from flagc.frontend.pairs import merging
from flagc.frontend.recorder import LaunchRecorder, recording
from flagc.pipeline.compiler import CompileRequest, compile_kernel
from flagc.pipeline.defaults import build_pipeline
from flagc.targets.registry import target_by_name
from support import ttir_interpreter
from support.running import parsed


class NumpyExecutor:
    """Executes launches on contiguous CPU tensors; `ran` has the names of kernels in order."""

    def __init__(self, target, passes):
        self.target = target
        self.passes = passes
        self.ran = []

    def prepare(self, launch):
        self._module(launch)

    def execute(self, launch, grid, arguments):
        values = [a.value.numpy() if a.type[0] == "*" else a.value for a in arguments]
        ttir_interpreter.run(self._module(launch), values, grid)
        self.ran.append(launch.source.name)
        return Execution(grid, 0, 0, 0.0, "numpy")

    def _module(self, launch):
        request = CompileRequest(
            launch.source, self.target, launch.options, self.passes, stop_after="ttir"
        )
        return parsed(compile_kernel(request).artifact("ttir").content)


@contextmanager
def numpy_launches(passes):
    """Execute the block's launches with `passes`; gives the recorder."""
    target = target_by_name("cuda:sm90")
    pipeline = build_pipeline(target, passes, (), ())
    executor = NumpyExecutor(target, pipeline)
    merge = merging(compile_kernel, target, pipeline)
    recorder = LaunchRecorder(target, executor=executor, merge=merge)
    # Tensors live on the CPU: Triton asks the driver, which asks the target.
    target.tensor_device = lambda: "cpu"
    with recording(recorder):
        yield recorder
