"""Record Triton launches without a device: the one replaceable piece of the corpus capture.

`record_launches` is the whole interface.  It installs a fake active driver and replaces
`JITFunction.run` and the autotuner's `run`, so that a launch is bound by Triton's own binder and
handed to a callback instead of being compiled and executed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from flagc.frontend.recorder import RecordingDriver
from flagc.targets.registry import target_by_name

TARGET = GPUTarget("cuda", 90, 32)


@dataclass(frozen=True)
class Launch:
    """One bound launch, as flagc.frontend describes it."""

    kernel: JITFunction
    signature: dict[str, Any]
    constexprs: dict[Any, Any]
    attrs: dict[Any, Any]
    options: dict[str, Any]
    grid: tuple[int, ...]


@dataclass(frozen=True)
class Tuning:
    """Which autotune configuration a launch used, out of which ones."""

    role: str = "only"
    used: dict[str, Any] = field(default_factory=dict)
    configs: tuple[dict[str, Any], ...] = ()


Callback = Callable[[Launch, Tuning], None]


class RejectedConfig(Exception):
    """Raised by a callback for a tuned launch that does not compile; the next one is tried."""


class CorpusDriver(RecordingDriver):
    """flagc's driver without a device, with what FlagGems asks for beyond it."""

    def __init__(self) -> None:
        super().__init__(target_by_name("cuda:sm90"), executing=False)
        self.utils = self

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """Answer for a GPU and an NPU at once, with an H200's clocks."""
        npu = target_by_name("ascend").device_properties()
        gpu = target_by_name("cuda:sm90").device_properties()
        clocks = {"sm_clock_rate": 1980000, "mem_clock_rate": 2619000, "mem_bus_width": 5120}
        return {**npu, **gpu, **clocks}

    def get_device_interface(self) -> Any:
        """Triton asks for `torch.cuda`, which the fake torch device replaces."""
        import torch

        return torch.cuda


class LaunchedKernel:
    """Stands for a compiled kernel: relaunching it does nothing."""

    n_regs = 64
    n_spills = 0

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        return lambda *args, **kwargs: None


def use_fake_driver() -> None:
    """Give Triton an active driver; libraries ask it for properties while they are imported."""
    driver.set_active(CorpusDriver())


def config_size(config: triton.Config) -> int:
    """Product of a configuration's numeric tile sizes, for choosing the smallest one."""
    sizes = [v for v in config.kwargs.values() if type(v) is int and v > 1]
    return math.prod(sizes)


def record_launches(callback: Callback) -> None:
    """From now on hand every launch in this process to `callback` and execute none.

    Call it after the libraries that derive their own autotuner have been imported.
    """
    use_fake_driver()
    tuning: list[Tuning] = []

    def run(self: JITFunction, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        kwargs["debug"] = kwargs.get("debug", self.debug) or False
        kwargs["instrumentation_mode"] = ""
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        _, _, _, backend, binder = self.device_caches[0]
        bound, specialization, options = binder(*args, **kwargs)
        options, signature, constexprs, attrs = self._pack_args(
            backend, kwargs, bound, specialization, options
        )
        size = grid(bound) if callable(grid) else grid
        grid_sizes = tuple(int(n) for n in size) if size is not None else ()
        launch = Launch(self, signature, constexprs, attrs, dict(options.__dict__), grid_sizes)
        callback(launch, tuning[-1] if tuning else Tuning())
        return LaunchedKernel()

    def run_tuned(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        configs = list(self.configs)
        if len(configs) > 1:
            configs = list(self.prune_configs(kwargs)) or configs
        smallest = min(configs, key=config_size)
        chosen = [("smallest", smallest)] if smallest is not configs[0] else []
        chosen += [("first", config) for config in configs]
        seen = tuple(config.all_kwargs() for config in self.configs)
        result = None
        for role, config in chosen:
            self.best_config = config
            if config.pre_hook is not None:
                config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
            tuning.append(Tuning(role, config.all_kwargs(), seen))
            try:
                result = self.fn.run(*args, **{**kwargs, **config.all_kwargs()})
            except RejectedConfig:
                if config is configs[-1] and role == "first":
                    raise
                continue
            finally:
                tuning.pop()
            if role == "first":
                break
        self.nargs = None
        return result

    JITFunction.run = run
    Autotuner.run = run_tuned
    for subclass in subclasses(Autotuner):
        subclass.run = run_tuned


def subclasses(cls: type) -> list[Any]:
    """All subclasses, however deep: FlagGems derives its tuner from Triton's."""
    direct: list[Any] = cls.__subclasses__()
    return [*direct, *(deep for child in direct for deep in subclasses(child))]
