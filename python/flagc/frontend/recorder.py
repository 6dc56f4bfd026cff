"""Record the launches of a running Triton program instead of executing them.

Triton's own launcher runs unchanged (specialisation, caching, checks of globals). What is replaced
is what it would need a device for: the driver, `compile`, and the autotuner's benchmark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import triton.compiler
from triton.backends.driver import DriverBase
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from flagc.errors import KernelError, UsageError
from flagc.frontend.argument_notes import noting
from flagc.frontend.execution import Argument, Executor, runtime_arguments
from flagc.frontend.launch import Launch
from flagc.frontend.pairs import Merge, Pairing
from flagc.pipeline.pipeline_text import PlacedPass
from flagc.pipeline.target import KernelSource, Target

# What Triton's launcher passes between the grid and the kernel's own arguments: stream, function,
# two kinds of metadata, two hooks.
_LAUNCHER_ARGUMENTS = 6


class LaunchRecorder:
    """Collects launches; one `Launch` for each kernel specialisation, in order of first launch.

    `autotune_config` picks the config of autotuned kernels; None takes the first one, and keeps
    the others as its alternatives. With an `executor`, launches are executed as they
    come, and of an autotuned kernel the first config that compiles is taken. `passes` are those of
    the launches' compilations: some tell kernels apart by the values of arguments. With `merge`,
    launches that follow one another may become one (`flagc.frontend.pairs`).
    """

    def __init__(
        self,
        target: Target,
        autotune_config: int | None = None,
        executor: Executor | None = None,
        passes: Sequence[PlacedPass] = (),
        merge: Merge | None = None,
    ) -> None:
        self.target = target
        self.passes = passes
        self.executor = executor
        self.launches: list[Launch] = []
        self.made: list[Launch] = []  # as the script made them, before any are merged
        self.autotune_config = autotune_config
        self.functions: set[Any] = set()
        self.pairing = Pairing(self._take, merge) if merge is not None else None
        self._by_key: dict[str, Launch] = {}
        self._tried: list[Launch] | None = None
        self._found_config = False

    def specialise(self, source: Any, options: dict[str, Any]) -> _RecordedKernel:
        """Take the place of `triton.compile` for one specialisation."""
        self.functions.add(source.fn)
        kernel = KernelSource(source.fn, source.signature, source.constants, source.attrs)
        key = kernel.key() + repr(sorted((k, str(v)) for k, v in options.items()))
        launch = self._by_key.setdefault(key, Launch(kernel, options))
        return _RecordedKernel(launch, self)

    def launched(
        self, launch: Launch, grid: tuple[int, int, int] | None, values: Sequence[Any] = ()
    ) -> None:
        """Note a launch, or (grid None) that a kernel was only compiled ahead; maybe execute it.

        `values` are those of all the kernel function's parameters.
        """
        if self._tried is not None:
            if launch not in self._tried:
                self._tried.append(launch)
            return
        if launch not in self.made:
            self.made.append(launch)
        if grid is None:
            self._note(launch)
            return
        arguments = runtime_arguments(launch, values)
        if self.pairing is not None:
            self.pairing.launched(launch, grid, arguments)
        else:
            self._take(launch, grid, arguments)

    def _note(self, launch: Launch) -> None:
        if launch not in self.launches:
            self.launches.append(launch)

    def _take(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> None:
        """Record a launch, and execute it if there is what does so."""
        self._note(launch)
        launch.grids.append(grid)
        if 0 in grid:
            empty = f"a launch with the empty grid {'x'.join(map(str, grid))} did nothing"
            launch.note = "; ".join(filter(None, [launch.note, empty]))
        if self.executor is not None:
            launch.executions.append(self.executor.execute(launch, grid, arguments))

    def config_compiles(self) -> bool:
        """Tell whether the config tried last can be taken: where launches run, it must compile.

        Once one does, the others are not compiled; nor when the config was asked for.
        """
        if self.executor is None or self.autotune_config is not None or self._found_config:
            return True
        if not self._tried:  # tried by a tuner of the program's own, which takes what it likes
            return True
        try:
            self.executor.prepare(self._tried[-1])
        except KernelError:
            return False
        self._found_config = True
        return True

    @contextmanager
    def trying_configs(self) -> Iterator[list[Launch]]:
        """Collect the launches of the block, which an autotuner only tries."""
        tried: list[Launch] = []
        self._tried = tried
        self._found_config = False
        try:
            yield tried
        finally:
            self._tried = None


class UnknownKernelProperty(UsageError, AttributeError):
    """The script reads a property of a compiled kernel that recording does not know.

    An AttributeError too, because Triton's launcher probes for properties with `hasattr`.
    """


class _RecordedKernel:
    """Stands for a compiled kernel: launching it notes the grid."""

    function = None
    packed_metadata = None

    def __init__(self, launch: Launch, recorder: LaunchRecorder) -> None:
        self._launch = launch
        self._recorder = recorder

    def launch_metadata(self, grid: Any, stream: Any, *arguments: Any) -> None:
        return None

    def run(self, grid_x: int, grid_y: int, grid_z: int, *rest: Any) -> None:
        values = rest[_LAUNCHER_ARGUMENTS:]
        self._recorder.launched(self._launch, (int(grid_x), int(grid_y), int(grid_z)), values)

    def __getitem__(self, grid: Any) -> Any:
        """Launch as Triton's compiled kernels do, with the values of all parameters."""
        sizes = [*map(int, grid), 1, 1]

        def launch(*values: Any, stream: Any = None) -> None:
            self._recorder.launched(self._launch, (sizes[0], sizes[1], sizes[2]), values)

        return launch

    def compiled_ahead(self) -> None:
        self._recorder.launched(self._launch, None)

    def __getattr__(self, name: str) -> Any:
        raise UnknownKernelProperty(
            f"the script asks the compiled kernel '{self._launch.source.name}' for '{name}', "
            "which is not known while launches are only recorded; take it from a fixed value, or "
            "name the kernel with --kernel and --signature"
        )


class RecordingDriver(DriverBase):  # type: ignore[misc]
    """A Triton driver for launches that are recorded, or executed by flagc.

    Tensors live on the CPU, or where launches are executed.
    """

    def __init__(self, target: Target, *, executing: bool) -> None:
        self._target = target
        self._executing = executing
        self.utils = _DeviceProperties(target)

    @classmethod
    def is_active(cls) -> bool:
        return False

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> Any:
        return self._target.triton_target()

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device(self._target.tensor_device() if self._executing else "cpu")

    def get_device_interface(self) -> Any:
        import torch

        return getattr(torch, self.get_active_torch_device().type)

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        return None

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_benchmarker(self) -> Any:
        return lambda call, quantiles=(), **_: [0.0] * max(1, len(quantiles))

    def get_empty_cache_for_benchmark(self) -> Any:
        import torch

        return torch.empty(1, dtype=torch.int, device=self.get_active_torch_device())

    def clear_cache(self, cache: Any) -> None:
        return None


class _DeviceProperties:
    """Answers `get_device_properties` from the target's facts."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def get_device_properties(self, device: int) -> dict[str, int]:
        return self._target.device_properties()


@contextmanager
def recording(recorder: LaunchRecorder) -> Iterator[None]:
    """Record every Triton launch made in this process during the block."""

    def record_compile(source: Any, target: Any = None, options: Any = None, **_: Any) -> Any:
        return recorder.specialise(source, dict(options or {}))

    def try_config(autotuner: Any, *arguments: Any, config: Any, **named: Any) -> list[float]:
        wanted = recorder.autotune_config or 0
        autotuner.__dict__["do_bench"] = lambda call, quantiles: call()
        original_bench(autotuner, *arguments, config=config, **named)
        if not recorder.config_compiles():
            return [math.inf] * 3
        # The autotuner takes the fastest: the wanted config, else the closest one not pruned.
        return [float(abs(autotuner.configs.index(config) - wanted))] * 3

    def run_autotuned(autotuner: Any, *arguments: Any, **named: Any) -> Any:
        if len(autotuner.configs) < 2:
            return original_run(autotuner, *arguments, **named)
        known = list(recorder.made)
        with recorder.trying_configs() as tried:
            original_run(autotuner, *arguments, **named)
        result = original_run(autotuner, *arguments, **named)  # from the autotuner's cache
        for launch in recorder.made:
            if launch not in known and launch in tried:
                _note_configs(launch, tried, autotuner, recorder.autotune_config)
        return result

    def warm_up(function: Any, *arguments: Any, grid: Any, **named: Any) -> Any:
        kernel = original_warmup(function, *arguments, grid=grid, **named)
        kernel.compiled_ahead()
        return kernel

    original_compile, original_bench = triton.compiler.compile, Autotuner._bench
    original_run, original_warmup = Autotuner.run, JITFunction.warmup
    triton.compiler.compile = record_compile
    Autotuner._bench, Autotuner.run = try_config, run_autotuned
    JITFunction.warmup = warm_up
    driver.set_active(RecordingDriver(recorder.target, executing=recorder.executor is not None))
    try:
        with noting(recorder.passes), watching(recorder):
            yield
    finally:
        triton.compiler.compile = original_compile
        Autotuner._bench, Autotuner.run = original_bench, original_run
        JITFunction.warmup = original_warmup
        driver._active = None
        # The JIT functions' in-memory caches hold recorded kernels, which nothing can run.
        for function in recorder.functions:
            function.device_caches.clear()


@contextmanager
def watching(recorder: LaunchRecorder) -> Iterator[None]:
    """Let the recorder see PyTorch's ops, if it merges launches, and at the end make the last."""
    if recorder.pairing is None:
        yield
        return
    try:
        with recorder.pairing:
            yield
    except BaseException:
        recorder.pairing.finish(failed=True)
        raise
    recorder.pairing.finish()


def _note_configs(launch: Launch, tried: list[Launch], autotuner: Any, wanted: int | None) -> None:
    """Say which config of an autotuned kernel `launch` is, and keep the others."""
    count = len(autotuner.configs)
    chosen = autotuner.configs.index(autotuner.best_config)
    launch.note = f"autotuned over {count} configs; config {chosen} (--config N takes another)"
    if wanted is None:
        launch.alternatives = [other for other in tried if other is not launch]
