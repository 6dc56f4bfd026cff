"""From cases to kernels: import libraries, find wrappers, lower recorded launches to TTIR."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_device
import intercept
from cases import Arguments

Call = tuple[Callable[..., Any], Callable[[], Arguments], contextlib.AbstractContextManager[Any]]
NAMESPACES = {
    "nvidia": ("flag_gems.ops", "flag_gems.fused"),
    "hopper": ("hopper.ops", "_nvidia.ops", "_nvidia.fused", "_nvidia.hopper.grouped_topk"),
    "ascend": ("_ascend.ops", "_ascend.fused"),
}
ASCEND_MODULES = {"fused.FLA": "_ascend.fla"}
ASCEND_FILES = (
    "matmul_bf16",
    "matmul_int8",
    "hadamard_transform",
    "sort",
    "index_add",
    "gather",
    "multinomial",
    "randperm",
    "unique",
)


def load_set(name: str) -> list[tuple[str, Call]]:
    """Every case of a set that has a wrapper there, as (operator, call)."""
    intercept.use_fake_driver()
    capability = (9, 0) if name == "hopper" else (8, 0)
    mode = fake_device.pose("npu" if name == "ascend" else "cuda", capability)
    if name == "tutorials":
        tutorials = importlib.import_module("tutorials")
        intercept.record_launches(lambda launch, tuning: None)
        return [(op, (fn, make, mode)) for op, fn, make in tutorials.CALLS]
    import_flaggems("ascend" if name == "ascend" else "nvidia")
    table = importlib.import_module("flaggems_ops").CASES
    calls: list[tuple[str, Call]] = []
    for case in table:
        positional = case.make if case.op == "backward_of" else None
        op = named_operator(case) if positional else case.op
        wrapper = find_wrapper(op, name)
        if wrapper is None:
            continue
        if positional:
            wrapper = functools.partial(backward_of, wrapper)
            op = f"{op} (backward)"
        calls.append((op, (wrapper, case.make, mode)))
    return calls


def named_operator(case: Any) -> str:
    """The operator that a `backward_of` case differentiates."""
    (op, *_), _ = case.make()
    return str(op)


def backward_of(wrapper: Callable[..., Any], op: str, positional: Any, named: Any) -> None:
    """Run `wrapper` forward, then backward with a gradient of ones."""
    import torch

    result = wrapper(*positional, **named)
    first = result[0] if isinstance(result, tuple) else result
    first.backward(torch.ones_like(first))


def import_flaggems(vendor: str) -> None:
    """Import FlagGems as it would be imported on `vendor`'s device."""
    os.environ["GEMS_VENDOR"] = vendor
    os.environ["FLAGGEMS_CACHE_DIR"] = tempfile.mkdtemp(prefix="flaggems-")
    if vendor == "ascend":
        libdevice = importlib.import_module("triton.language.extra.cuda.libdevice")
        package = types.ModuleType("triton.language.extra.cann")
        package.libdevice = libdevice  # type: ignore[attr-defined]
        sys.modules["triton.language.extra.cann"] = package
        sys.modules["triton.language.extra.cann.libdevice"] = libdevice
    importlib.import_module("flag_gems")


def find_wrapper(op: str, name: str) -> Callable[..., Any] | None:
    """Look an operator up in the set's own modules, then, for the common set, by dotted path."""
    for namespace in NAMESPACES[name]:
        with contextlib.suppress(ImportError):
            found = getattr(importlib.import_module(namespace), op, None)
            if callable(found):
                return found  # type: ignore[no-any-return]
    if name == "ascend":
        for general, special in ASCEND_MODULES.items():
            if op.startswith(general):
                return by_path(special + op[len(general) :])
        for file in ASCEND_FILES:
            if (found := by_path(f"_ascend.ops.{file}.{op}")) is not None:
                return found
    if name == "nvidia" and "." in op:
        return by_path(f"flag_gems.{op}") or by_path(f"flag_gems.ops.{op}")
    return None


def by_path(path: str) -> Callable[..., Any] | None:
    """The callable at `module.name`, or None."""
    module, _, attribute = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return None
    return found if callable(found) else None


class Collector:
    """Lowers each kernel the first time it is launched and hands out its record."""

    def __init__(self, known: set[str], folder: Path, emit: Callable[[str, Any], None]) -> None:
        self.known = known
        self.folder = folder
        self.emit = emit
        self.small: dict[str, intercept.Launch] = {}
        self.rejected: dict[str, Any] = {}

    def run(self, call: Call) -> None:
        """Make one call with its launches recorded."""
        wrapper, make, mode = call
        intercept.record_launches(self.take)
        try:
            with mode:
                positional, named = make()
                wrapper(*positional, **named)
        except intercept.RejectedConfig:
            self.emit("kernel", self.rejected)

    def take(self, launch: intercept.Launch, tuning: intercept.Tuning) -> None:
        """Record one launch; a kernel already known only counts."""
        source = launch.kernel.src
        digest = hashlib.sha256(source.encode()).hexdigest()
        key = f"{launch.kernel.__name__}:{digest}"
        if tuning.role == "smallest":
            self.small[key] = launch
            return
        if key in self.known:
            self.emit("launch", key)
            return
        file = f"{launch.kernel.__name__}.{digest[:8]}"
        error = write_ttir(launch, self.folder / f"{file}.ttir")
        record = {
            "key": key,
            "kernel": launch.kernel.__name__,
            "file": file,
            "module": launch.kernel.module,
            **describe(launch),
            "used_config": tuning.used,
            "configs": list(tuning.configs),
            "smallest": None,
            "launches": 1,
            "error": error,
        }
        if error and tuning.role == "first":
            self.rejected = record
            raise intercept.RejectedConfig(error)
        small = self.small.get(key)
        if small and not write_ttir(small, self.folder / f"{file}.small.ttir"):
            record["smallest"] = describe(small)
        self.known.add(key)
        self.emit("kernel", record)


def describe(launch: intercept.Launch) -> dict[str, Any]:
    """A launch as plain data."""
    return {
        "signature": {name: str(type_) for name, type_ in launch.signature.items()},
        "constexprs": {str(key): repr(value) for key, value in launch.constexprs.items()},
        "attrs": {str(key): str(value) for key, value in launch.attrs.items()},
        "options": {key: launch.options[key] for key in ("num_warps", "num_stages", "num_ctas")},
        "grid": list(launch.grid),
    }


def write_ttir(launch: intercept.Launch, path: Path) -> str:
    """Lower a launch with Triton's frontend and `make_ttir`; the result is the error, or ''."""
    try:
        text = lower(launch)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:2000]
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.rename(path)
    return ""


def lower(launch: intercept.Launch) -> str:
    """TTIR of a launch for the capture's target, with source locations."""
    from triton._C.libtriton import ir
    from triton.compiler import ASTSource, make_backend

    backend = make_backend(intercept.TARGET)
    source = ASTSource(launch.kernel, launch.signature, launch.constexprs, launch.attrs)
    options = backend.parse_options({**launch.options, **source.parse_options()})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    functions = backend.get_codegen_implementation(options)
    module = source.make_ir(intercept.TARGET, options, functions, backend.get_module_map(), context)
    metadata: dict[str, Any] = {}
    return str(backend.make_ttir(module, metadata, options, 90))
