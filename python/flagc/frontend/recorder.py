"""Record the launches of a running Triton program instead of executing them.

Triton's own launcher runs unchanged (specialisation, caching, checks of globals). What is replaced
is what it would need a device for: the driver, `compile`, and the autotuner's benchmark.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import triton.compiler
from triton.backends.driver import DriverBase
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver

from flagc.errors import UsageError
from flagc.frontend.launch import Launch
from flagc.pipeline.target import KernelSource, Target


class LaunchRecorder:
    """Collects launches; one `Launch` for each kernel specialisation, in order of first launch."""

    def __init__(self, target: Target, autotune_config: int = 0) -> None:
        self.target = target
        self.launches: list[Launch] = []
        self.autotune_config = autotune_config
        self.autotune_note = ""
        self.functions: set[Any] = set()
        self._by_key: dict[str, Launch] = {}

    def specialise(self, source: Any, options: dict[str, Any]) -> _RecordedKernel:
        """Take the place of `triton.compile` for one specialisation."""
        self.functions.add(source.fn)
        kernel = KernelSource(source.fn, source.signature, source.constants, source.attrs)
        key = kernel.key() + repr(sorted((k, str(v)) for k, v in options.items()))
        launch = self._by_key.get(key)
        if launch is None:
            launch = Launch(kernel, options, note=self.autotune_note)
            self._by_key[key] = launch
            self.launches.append(launch)
        return _RecordedKernel(launch)


class UnknownKernelProperty(UsageError, AttributeError):
    """The script reads a property of a compiled kernel that recording does not know.

    An AttributeError too, because Triton's launcher probes for properties with `hasattr`.
    """


class _RecordedKernel:
    """Stands for a compiled kernel: launching it notes the grid."""

    function = None
    packed_metadata = None

    def __init__(self, launch: Launch) -> None:
        self._launch = launch

    def launch_metadata(self, grid: Any, stream: Any, *arguments: Any) -> None:
        return None

    def run(self, grid_x: int, grid_y: int, grid_z: int, *rest: Any) -> None:
        self._launch.grids.append((int(grid_x), int(grid_y), int(grid_z)))

    def __getattr__(self, name: str) -> Any:
        raise UnknownKernelProperty(
            f"the script asks the compiled kernel '{self._launch.source.name}' for '{name}', "
            "which is not known while launches are only recorded; take it from a fixed value, or "
            "name the kernel with --kernel and --signature"
        )


class RecordingDriver(DriverBase):  # type: ignore[misc]
    """A Triton driver without a device. Tensors live on the CPU."""

    def __init__(self, target: Target) -> None:
        self._target = target
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

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        import torch

        return torch.cpu

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

        return torch.empty(1, dtype=torch.int)

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

    def choose_config(autotuner: Any, *arguments: Any, config: Any, **named: Any) -> list[float]:
        # The autotuner takes the fastest: the wanted config, else the closest one not pruned.
        distance = abs(autotuner.configs.index(config) - recorder.autotune_config)
        return [float(distance)] * 3

    original_compile, original_bench = triton.compiler.compile, Autotuner._bench
    original_run = Autotuner.run

    def run_autotuned(autotuner: Any, *arguments: Any, **named: Any) -> Any:
        count = len(autotuner.configs)
        if count > 1:
            chosen = min(recorder.autotune_config, count - 1)
            recorder.autotune_note = (
                f"autotuned over {count} configs; compiled with config {chosen} "
                "(--config N takes another)"
            )
        try:
            return original_run(autotuner, *arguments, **named)
        finally:
            recorder.autotune_note = ""

    triton.compiler.compile = record_compile
    Autotuner._bench, Autotuner.run = choose_config, run_autotuned
    driver.set_active(RecordingDriver(recorder.target))
    try:
        yield
    finally:
        triton.compiler.compile = original_compile
        Autotuner._bench, Autotuner.run = original_bench, original_run
        driver._active = None
        # The JIT functions' in-memory caches hold recorded kernels, which nothing can run.
        for function in recorder.functions:
            function.device_caches.clear()
