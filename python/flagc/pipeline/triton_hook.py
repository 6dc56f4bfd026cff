"""Run passes inside Triton's own compilations, through its stage inspection hook.

Triton has one slot for such a hook and, up to 3.6, leaves it out of its cache keys. So flagc keeps
a stack of pipelines behind one hook, calls a hook that was there before, and puts a digest of the
active pipelines into the keys of Triton's two caches: the one on disk and each kernel's in memory.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import triton.compiler.compiler as triton_compiler
import triton.runtime.jit as triton_jit
from triton import knobs

from flagc.pipeline.fingerprint import pipeline_fingerprint
from flagc.pipeline.pipeline_text import PlacedPass

# Puts passes into the stages of one backend: (backend, stages, options, passes, report).
StageWrapper = Callable[[Any, dict[str, Any], Any, Sequence[PlacedPass], Any], None]

_wrappers: dict[str, StageWrapper] = {}


def register_stage_wrapper(backend_name: str, wrapper: StageWrapper) -> None:
    """Say how passes get into the stages of Triton's backend `backend_name` (`cuda`)."""
    _wrappers[backend_name] = wrapper


@dataclass(eq=False)
class Installation:
    """Passes that run in every Triton compilation of this process until they are removed.

    Attributes:
        passes: the passes with their places.
        report: called with the `Findings` and kernel name after each stage in which passes ran.
        fingerprint: digest of the passes, their options and sources.
    """

    passes: Sequence[PlacedPass]
    report: Callable[[Any, str], None]
    fingerprint: str = ""

    def __post_init__(self) -> None:
        self.fingerprint = pipeline_fingerprint(self.passes)


class _Hook:
    """The callable in Triton's slot, and the patches of Triton's cache keys."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._stack: list[Installation] = []
        self._key = ""
        self._digest = ""
        self._previous: Any = None
        self._original_environment: Any = None
        self._original_jit_key: Any = None

    def push(self, installation: Installation) -> None:
        with self._lock:
            if not self._stack:
                self._attach()
            self._stack.append(installation)
            self._update()

    def remove(self, installation: Installation) -> None:
        with self._lock:
            if installation not in self._stack:
                return
            self._stack.remove(installation)
            self._update()
            if not self._stack:
                self._detach()

    def __call__(self, *arguments: Any) -> Any:
        if not arguments:  # Triton from 3.7 on asks for (key, hash) at every launch
            return self._key, self._digest
        if self._previous is not None:
            self._previous(*arguments)
        backend, stages, options = arguments[:3]
        wrapper = _wrappers.get(backend.target.backend)
        if wrapper is not None:
            for installation in self._stack:
                wrapper(backend, stages, options, installation.passes, installation.report)
        return None

    def _update(self) -> None:
        parts = [installation.fingerprint for installation in self._stack]
        if self._previous is not None and self._answers_key:
            parts += [str(part) for part in self._previous()]
        self._digest = hashlib.sha256("|".join(parts).encode()).hexdigest()
        self._key = f"flagc-{self._digest}"

    @property
    def _answers_key(self) -> bool:
        """Whether this Triton asks its hook for a key, so that a previous hook answers."""
        return "inspect_stages_key" in triton_compiler.compile.__code__.co_varnames

    def _attach(self) -> None:
        self._previous = knobs.runtime.add_stages_inspection_hook
        knobs.runtime.add_stages_inspection_hook = self
        self._original_environment = triton_compiler.get_cache_invalidating_env_vars
        self._original_jit_key = triton_jit.compute_cache_key

        def environment() -> dict[str, str]:
            return {**self._original_environment(), "FLAGC_PASSES": self._digest}

        def jit_key(kernel_key_cache: Any, specialization: Any, options: Any) -> str:
            key = self._original_jit_key(kernel_key_cache, specialization, options)
            return f"{key}{self._key}"

        triton_compiler.get_cache_invalidating_env_vars = environment
        triton_jit.get_cache_invalidating_env_vars = environment  # asynchronous compilation
        triton_jit.compute_cache_key = jit_key

    def _detach(self) -> None:
        triton_compiler.get_cache_invalidating_env_vars = self._original_environment
        triton_jit.get_cache_invalidating_env_vars = self._original_environment
        triton_jit.compute_cache_key = self._original_jit_key
        if knobs.runtime.add_stages_inspection_hook is self:
            knobs.runtime.add_stages_inspection_hook = self._previous
        self._previous = None


_hook = _Hook()


def add(installation: Installation) -> None:
    """Make the passes of `installation` run in Triton's compilations from now on."""
    _hook.push(installation)


def remove(installation: Installation) -> None:
    """Stop running the passes of `installation`; kernels compiled with them are not used again."""
    _hook.remove(installation)
