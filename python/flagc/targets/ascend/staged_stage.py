"""Stage staged: TTIR as a module that flagc's own passes lower to the AI Core's memories."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from flagc.errors import KernelError, UsageError
from flagc.ir import triton_bridge
from flagc.ir.checks import find_malformed
from flagc.ir.locations import SourceLocation, source_location
from flagc.ir.module import Module
from flagc.ir.staged.operations import PASSES_RUN
from flagc.ir.staged.verify import find_problem
from flagc.mlir import ir
from flagc.pipeline.diagnostics import Declined, Diagnostic
from flagc.pipeline.stages import Alternative, InvalidModule, Payload, Stage, StepObserver
from flagc.targets.ascend.generic_ir import full_context

_DOTS = ("tt.dot", "tt.dot_scaled")


class StagedStage(Stage):
    """TTIR in a `Module`; the stage's passes lower it (`flagc.ir.staged`).

    Its text shows upstream ops (arith, scf, ...) in their own form and all others generically.
    """

    name, suffix, level = "staged", ".staged.mlir", "staged"
    export_consumes = False

    def __init__(self, alternative: Alternative | None) -> None:
        self.alternative = alternative

    @cached_property
    def _upstream(self) -> Any:
        """A context that knows upstream ops, to print, read and verify."""
        return full_context()

    def applies(self, payload: Payload) -> bool:
        """Tell whether the TTIR multiplies matrices, which is what the staged passes lower."""
        return _has_dot(payload)

    def run(
        self, payload: Payload, observer: StepObserver | None, first_step: str | None = None
    ) -> Module:
        """Return a copy of libtriton's TTIR module.

        Raises:
            Declined: the kernel has no tl.dot.
        """
        if not _has_dot(payload):
            text = "the kernel has no tl.dot, and flagc's pipeline lowers only those that have"
            raise Declined(Diagnostic("error", text, stage=self.name))
        # Exporting consumes the module, which the vendor's pipeline may need yet.
        copy = triton_bridge.import_text(str(payload), payload.context)
        return triton_bridge.export(copy, self.level)

    def text(self, payload: Payload, *, debug: bool = True) -> str:
        """Return the module's text, which `read` takes."""
        module = ir.Module.parse(payload.text(debug=debug), self._upstream)
        return str(module.operation.get_asm(enable_debug_info=debug))

    def export(self, payload: Payload) -> Module:
        """Return the module itself."""
        assert isinstance(payload, Module)
        return payload

    def import_module(self, module: Module) -> Module:
        """Return the module, verified: upstream ops by MLIR, those of the dialect by its rules.

        Raises:
            InvalidModule: an op breaks a rule.
        """
        if problem := find_malformed(module) or find_problem(module):
            op, text = problem
            raise InvalidModule(op.name, text, source_location(op.location))
        try:
            ir.Module.parse(module.text(), self._upstream)
        except ir.MLIRError as error:
            message, location = _first(error)
            raise InvalidModule("", message, location) from error
        return module

    def note_run(self, module: Module, name: str) -> bool:
        """Add `name` to the passes that the module lists (attribute `staged.passes`)."""
        names = ", ".join(f'"{run}"' for run in [*_passes_run(module), name])
        module.operation.attributes[PASSES_RUN] = module.attribute(f"[{names}]")
        return True

    def has_run(self, payload: Payload, name: str) -> bool:
        """Tell whether the module lists the pass."""
        return name in _passes_run(payload)

    def read(self, path: Path) -> Module:
        """Read a module of this stage, in the form that `text` has or in generic form."""
        if not path.read_text().strip():
            raise UsageError(f"{path}: error: the file is empty; expected staged IR")
        try:
            parsed = ir.Module.parseFile(str(path), self._upstream)
        except ir.MLIRError as error:
            message, location = _first(error)
            where = location or path
            # MLIR words what it finds in a well-formed op as "'dialect.op' op ...".
            if message.startswith("'"):
                raise KernelError(f"{where}: error: {message}") from error
            raise UsageError(f"{where}: error: not valid staged IR: {message}") from error
        generic = parsed.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
        try:
            return self.import_module(Module.parse(generic, self.level))
        except InvalidModule as problem:
            raise KernelError(f"{problem.location or path}: error: {problem}") from problem


def _passes_run(module: Module) -> list[str]:
    attributes = module.operation.attributes
    if PASSES_RUN not in attributes:
        return []
    return [str(ir.StringAttr(name).value) for name in ir.ArrayAttr(attributes[PASSES_RUN])]


def _has_dot(triton_module: Any) -> bool:
    found = False

    def visit(op: Any) -> None:
        nonlocal found
        found = found or op.get_name() in _DOTS

    triton_module.walk(visit)
    return found


def _first(error: Any) -> tuple[str, SourceLocation | None]:
    """Return the message and place of the first diagnostic of MLIR."""
    first = error.error_diagnostics[0]
    # The location of a diagnostic is of the base class; this gives it its own.
    location = ir.Location.from_attr(first.location.attr, first.location.context)
    return str(first.message), source_location(location)
