"""Launches for CUDA, executed on the CPU: their TTIR after passes, in the numpy interpreter."""

from contextlib import contextmanager

from flagc.frontend.execution import Execution, parts_of, units_of
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
        self._modules = {}

    def prepare(self, launch):
        self._module(launch)

    def execute(self, launch, grid, arguments):
        self.call(launch, grid, arguments)()
        return Execution(grid, 0, 0, 0.0, "numpy")

    def call(self, launch, grid, arguments):
        parts = [(launch, grid, arguments)]
        if launch not in units_of(launch, self.passes):
            parts = parts_of(launch, grid, arguments)

        def run():
            for part, part_grid, part_arguments in parts:
                values = [a.value.numpy() if a.type[0] == "*" else a.value for a in part_arguments]
                ttir_interpreter.run(self._module(part), values, part_grid)
                self.ran.append(part.source.name)

        return run

    def _module(self, launch):
        request = CompileRequest(
            launch.source, self.target, launch.options, self.passes, stop_after="ttir"
        )
        if request.key not in self._modules:
            text = compile_kernel(request).artifact("ttir").content
            self._modules[request.key] = parsed(text)
        return self._modules[request.key]


@contextmanager
def numpy_launches(passes, wrap=lambda executor: executor):
    """Execute the block's launches with `passes`; gives the recorder.

    `wrap` makes an executor of one, to check or time what it executes.
    """
    executor = numpy_executor(passes)
    merge = merging(compile_kernel, executor.target, executor.passes)
    recorder = LaunchRecorder(executor.target, executor=wrap(executor), merge=merge)
    with recording(recorder):
        yield recorder


def numpy_executor(passes):
    """Return what executes launches with `passes`."""
    target = target_by_name("cuda:sm90")
    return NumpyExecutor(target, build_pipeline(target, passes, (), ()))
