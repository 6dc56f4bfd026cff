"""Reach between the passes that Triton's NVIDIA backend adds to its pass managers.

Triton's backend builds one pass manager a stage and runs it. Here, the names `ir`, `passes`,
`nvidia` and `llvm` in the backend's module are replaced by proxies: while a recording is active in
the current thread they note the `add_*` calls, and `pm.run` hands the list to the recording, which
runs each pass, or groups of them, in real pass managers. Without an active recording the proxies
forward every call unchanged. Nothing of the backend is copied.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import triton.backends.nvidia.compiler as backend_module
from triton._C.libtriton import ir as triton_ir

from flagc.pipeline.stages import Payload, StepObserver, number_repeats

_PROXIED_NAMES = ("ir", "passes", "nvidia", "llvm")


@dataclass(frozen=True)
class RecordedPass:
    """One `add_*` call on a pass manager: `add(pass_manager, *arguments, **named)`."""

    name: str
    add: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: dict[str, Any]


class ModuleHandle:
    """Stands for a libtriton module that may be replaced while a stage runs."""

    def __init__(self, module: Any) -> None:
        self.current = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.current, name)


class StepsListed(Exception):
    """Ends a stage after its passes were listed, before any of them ran."""

    def __init__(self, steps: list[str]) -> None:
        super().__init__()
        self.steps = steps


class Recording:
    """What to do with the passes that a stage adds: list them, or run them for an observer."""

    def __init__(self, observer: StepObserver | None, first_step: str | None) -> None:
        self._observer = observer
        self._first_step = first_step

    def run(self, handle: ModuleHandle, recorded: list[RecordedPass], stage_name: str) -> None:
        """Take the place of `pm.run(module)`."""
        names = number_repeats([entry.name for entry in recorded])
        if self._observer is None:
            raise StepsListed(names)
        start = names.index(self._first_step) if self._first_step else 0
        group: list[RecordedPass] = []
        for name, entry in zip(names[start:], recorded[start:], strict=True):
            if not self._observer.wants(name):
                group.append(entry)
                continue
            _run_passes(handle, group, stage_name)
            group = []
            handle.current = self._observer.before(name, handle.current)
            _run_passes(handle, [entry], stage_name)
            handle.current = self._observer.after(name, handle.current)
        _run_passes(handle, group, stage_name)


def _run_passes(handle: ModuleHandle, group: list[RecordedPass], stage_name: str) -> None:
    if not group:
        return
    manager = triton_ir.pass_manager(handle.current.context)
    manager.enable_debug()
    for entry in group:
        entry.add(manager, *entry.arguments, **entry.named)
    manager.run(handle.current, stage_name)


class _PassManagerProxy:
    """Collects passes; hands them to the active recording when run."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.recorded: list[RecordedPass] = []

    def enable_debug(self) -> Any:
        return triton_ir.pass_manager(self._context).enable_debug()

    def run(self, handle: ModuleHandle, name: str = "") -> None:
        _active.recording.run(handle, self.recorded, name)


class _NamespaceProxy:
    """Forwards a libtriton submodule; records `add_*` calls made on a pass manager proxy."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        if _active.recording is None:
            return value
        if type(value).__name__ == "module":
            return _NamespaceProxy(value)
        if self._real is triton_ir and name == "pass_manager":
            return _PassManagerProxy
        if not callable(value) or isinstance(value, type):
            return value

        def call(*arguments: Any, **named: Any) -> Any:
            if arguments and isinstance(arguments[0], _PassManagerProxy):
                entry = RecordedPass(name.removeprefix("add_"), value, arguments[1:], named)
                arguments[0].recorded.append(entry)
                return None
            real = [a.current if isinstance(a, ModuleHandle) else a for a in arguments]
            return value(*real, **named)

        return call


class _Active(threading.local):
    recording: Any = None


_active = _Active()


def _install_proxies() -> None:
    for name in _PROXIED_NAMES:
        real = getattr(backend_module, name)
        if not isinstance(real, _NamespaceProxy):
            setattr(backend_module, name, _NamespaceProxy(real))


@contextmanager
def recording(observer: StepObserver | None, first_step: str | None = None) -> Iterator[None]:
    """Record the passes that Triton's NVIDIA backend runs in this thread during the block.

    With an observer, they run around its calls; without, the first `pm.run` raises `StepsListed`.
    """
    _install_proxies()
    _active.recording = Recording(observer, first_step)
    try:
        yield
    finally:
        _active.recording = None


def run_observed(
    stage: Callable[..., Payload],
    module: Any,
    metadata: dict[str, Any],
    observer: StepObserver,
    first_step: str | None,
) -> Payload:
    """Run one of the backend's stage functions on `module` with `observer` between its passes.

    With `first_step`, the passes before it are left out.
    """
    with recording(observer, first_step):
        result = stage(ModuleHandle(module), metadata)
    return result.current if isinstance(result, ModuleHandle) else result


def list_steps(stage: Callable[..., Payload], module: Any) -> list[str]:
    """Return the names of the passes that `stage` would run, without running them."""
    try:
        with recording(None):
            stage(ModuleHandle(module), {})
    except StepsListed as listed:
        return listed.steps
    return []
