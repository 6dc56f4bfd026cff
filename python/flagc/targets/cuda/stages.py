"""Triton's NVIDIA stages as flagc stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from triton._C.libtriton import llvm, nvidia

from flagc.errors import FlagcError, KernelError, UsageError
from flagc.ir import triton_bridge
from flagc.ir.checks import find_malformed
from flagc.ir.follow_up import MERGED, merged_of
from flagc.ir.launch_arguments import plan_of
from flagc.ir.launch_plan import METADATA
from flagc.ir.locations import source_location
from flagc.ir.module import Module
from flagc.pipeline.stages import Payload, Stage, StepObserver
from flagc.pipeline.stderr_capture import captured_stderr, compiler_messages
from flagc.targets.cuda.pass_recorder import list_steps, run_observed

# The level between the passes of a stage, and of its result.
LEVELS = {"ttir": ("ttir", "ttir"), "ttgir": ("ttgir", "ttgir"), "llir": ("llvm-dialect", None)}


class TritonStage(Stage):
    """One stage of Triton's NVIDIA backend, run by the backend's own function.

    `context` is the libtriton context that modules live in; `metadata` is the backend's.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[Any, dict[str, Any]], Any],
        context: Any,
        metadata: dict[str, Any],
    ) -> None:
        self.name = name
        self.suffix = f".{name}"
        self.inner_level, self.level = LEVELS.get(name, (None, None))
        self._function = function
        self._context = context
        self._metadata = metadata

    def run(
        self, payload: Payload, observer: StepObserver | None, first_step: str | None = None
    ) -> Payload:
        """Run the backend's function, with `observer` between its passes if given."""
        if observer is None or self.inner_level is None:
            return self._function(payload, self._metadata)
        return run_observed(self._function, payload, self._metadata, observer, first_step)

    def steps(self) -> Sequence[str]:
        """Return the names of the backend's passes in this stage."""
        if self.inner_level is None:
            return ()
        empty = triton_bridge.import_text("module {}", self._context)
        return list_steps(self._function, empty)

    def text(self, payload: Payload, *, debug: bool = True) -> str | bytes:
        """Return a module's text, assembly text, or the binary."""
        if isinstance(payload, (str, bytes)):
            return payload
        return str(payload) if debug else str(payload.str_nodebug())

    def export(self, payload: Payload) -> Module:
        """Return libtriton's module for Python passes; consumes it."""
        return triton_bridge.export(payload, self.level or str(self.inner_level))

    def import_module(self, module: Module) -> Payload:
        """Return the module as libtriton's, verified by Triton; note how it is launched."""
        for function in module.functions():
            if (plan := plan_of(function)) is not None:
                self._metadata[METADATA] = plan.describe()
            if (merged := merged_of(function)) is not None:
                self._metadata[MERGED] = merged.describe()
        return triton_bridge.import_module(module, self._context)

    def read(self, path: Path) -> Payload:
        """Parse IR of this stage; LLVM IR and PTX are taken as they are."""
        if self.level is None:
            prepare_llvm()
            return path.read_text()
        return read_triton_ir(path, self.name, self._context)


def prepare_llvm() -> None:
    """Set LLVM's process-wide state as Triton's LLIR stage does, when that stage is skipped."""
    llvm.init_targets()
    if hasattr(nvidia, "set_short_ptr"):  # a flag of each call from Triton 3.7 on
        nvidia.set_short_ptr()


def read_triton_ir(path: Path, level: str, context: Any) -> Any:
    """Parse the file at `path` as TTIR or TTGIR.

    Raises:
        UsageError: empty, not parsable, without a kernel, or of the other level.
        KernelError: the verifier rejects an op.
    """
    if not path.read_text().strip():
        # libtriton's parser segfaults on an empty file.
        raise UsageError(f"{path}: error: the file is empty; expected {level}")
    failure: Exception | None = None
    with captured_stderr() as captured:
        try:
            module = triton_bridge.import_file(path, context)
        except Exception as error:
            failure = error
    if failure is not None:
        raise rejected(path, level, captured.text, failure) from failure
    is_ttgir = module.get_int_attr("ttg.num-warps") is not None
    if is_ttgir != (level == "ttgir"):
        found = "ttgir" if is_ttgir else "ttir"
        raise UsageError(f"{path}: error: the file holds {found}, not {level}; name it '.{found}'")
    if not has_kernel(module):
        raise UsageError(f"{path}: error: the file defines no public kernel function (tt.func)")
    generic = triton_bridge.export(module, level)
    if malformed := find_malformed(generic):
        op, text = malformed
        raise KernelError(f"{source_location(op.location)}: error: '{op.name}' op {text}")
    return triton_bridge.import_module(generic, context)


def rejected(path: Path, level: str, stderr: str, failure: Exception) -> FlagcError:
    """Return the error for IR that a parser or verifier rejected, with its first diagnostic."""
    messages = [m for m in compiler_messages(stderr) if m.severity == "error"]
    if not messages:
        return UsageError(f"{path}: error: not valid {level}: {failure}")
    first = messages[0]
    where = str(first.location) if first.location else str(path)
    # MLIR words what it finds in a well-formed op as "'dialect.op' op ...".
    if first.message.startswith("'"):
        return KernelError(f"{where}: error: {first.message}")
    return UsageError(f"{where}: error: not valid {level}: {first.message}")


def has_kernel(module: Any) -> bool:
    """Tell whether a libtriton module has a public function."""
    try:
        return bool(module.get_entry_func_name())
    except RuntimeError:
        return False
