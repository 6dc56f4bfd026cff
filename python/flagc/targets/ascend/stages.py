"""The vendor's Ascend chain as flagc stages: linalg, hivm, final, llvm, object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flagc.errors import KernelError, UsageError
from flagc.ir import triton_bridge
from flagc.ir.module import Module
from flagc.pipeline.diagnostics import Diagnostic, StepCrash
from flagc.pipeline.instrumentation import heartbeat
from flagc.pipeline.stages import Payload, Stage, StepObserver, number_repeats
from flagc.pipeline.stderr_capture import captured_stderr
from flagc.targets.ascend import toolchain
from flagc.targets.ascend.adapter_stage import ttir_to_linalg_with_mode
from flagc.targets.ascend.chips import AscendChip
from flagc.targets.ascend.culprit import find_culprit
from flagc.targets.ascend.diagnose import diagnose
from flagc.targets.ascend.hivm_object import compile_object
from flagc.targets.ascend.llvm_stage import final_to_llvm
from flagc.targets.ascend.pass_text import VendorPass
from flagc.targets.ascend.pass_trace import trace_passes
from flagc.targets.ascend.vendor_driver import FINAL_PASS, compile_linalg
from flagc.targets.ascend.vendor_pipeline import ATTEMPTS, is_overflow, run_passes, vendor_passes
from flagc.targets.ascend.vendor_process import VendorError

_SPACE = "#hivm.address_space<"


@dataclass(frozen=True)
class VendorText:
    """A module as the vendor's tools print it.

    `final` is what the driver already made of a `hivm` module, None once a pass changed it.
    """

    text: str
    final: str | None = None


class VendorStage(Stage):
    """A stage whose result is a module that bishengir-opt reads and prints."""

    export_consumes = False

    def __init__(self, chip: AscendChip, metadata: dict[str, Any], notes: list[Diagnostic]) -> None:
        self.chip = chip
        self._metadata = metadata
        self._notes = notes

    def text(self, payload: Payload, *, debug: bool = True) -> str:
        """Return the module's text; without locations it is printed anew by bishengir-opt."""
        if debug:
            return str(payload.text)
        return run_passes(payload.text, [], locations=False)

    def export(self, payload: Payload) -> Module:
        """Return the module for Python passes.

        The builtin memref type takes no memory space of an unregistered dialect, so HIVM's are
        carried as strings.
        """
        generic = run_passes(payload.text, [], generic_out=True)
        return Module.parse(_quote_spaces(generic), str(self.level or self.inner_level))

    def import_module(self, module: Module) -> VendorText:
        """Return the module as vendor text, verified by bishengir-opt."""
        try:
            return VendorText(run_passes(_unquote_spaces(module.text()), []))
        except VendorError as error:
            raise RuntimeError(_first_message(error)) from error

    def read(self, path: Path) -> VendorText:
        """Read a module of this stage and have bishengir-opt verify it."""
        content = path.read_text()
        try:
            run_passes(content, [])
        except VendorError as error:
            first = next((d for d in error.diagnostics if d.severity == "error"), None)
            where = f"{path}:{first.line}:{first.column}" if first and first.line else str(path)
            message = f"{where}: error: not valid {self.name} IR: {_first_message(error)}"
            raise UsageError(message) from error
        return VendorText(content)

    def fail(
        self, error: VendorError, *, linalg: str | None = None, ttir: str | None = None
    ) -> KernelError:
        """Return the failure of a vendor tool in terms of the kernel."""
        heartbeat()  # finding the pass or the op takes about as long as failing did
        found = diagnose(error, self.chip.name, linalg_text=linalg, ttir_text=ttir)
        place = f"{found.file}:{found.line}: " if found.file and found.line else ""
        text = f"{place}error: {found.message} [stage {self.name}]"
        if found.kind not in ("crash", "timeout"):
            return KernelError(text)
        step_input = linalg if linalg is not None else ttir
        step = self.steps()[0] if self.steps() else ""
        if found.reproducer is not None:
            step_input = found.reproducer.module_text
            step = self._step_named(str(found.failing_pass))
        return StepCrash(text, self.name, step, step_input or "")

    def _step_named(self, anchor: str) -> str:
        """Return the step that the vendor pipeline calls `anchor`, where `#1` may be left out."""
        return anchor if anchor in self.steps() else f"{anchor}#1"


def _quote_spaces(text: str) -> str:
    return "".join(_exchange(text, _SPACE, '"' + _SPACE, ">", '>"'))


def _unquote_spaces(text: str) -> str:
    return "".join(_exchange(text, '"' + _SPACE, _SPACE, '>"', ">"))


def _exchange(text: str, start: str, new_start: str, end: str, new_end: str) -> list[str]:
    """Return the pieces of `text` with every `start...end` rewritten as `new_start...new_end`."""
    head, *rest = text.split(start)
    pieces = [head]
    for part in rest:
        name, _, tail = part.partition(end)
        pieces += [new_start, name, new_end, tail]
    return pieces


def _first_message(error: VendorError) -> str:
    errors = [d.text for d in error.diagnostics if d.severity == "error"]
    return errors[0] if errors else str(error)


class LinalgStage(VendorStage):
    """TTIR to linalg, memref and scf, by the vendor's triton-adapter-opt."""

    name, suffix, level = "linalg", ".linalg.mlir", "linalg"

    def run(
        self, payload: Payload, observer: StepObserver | None, first_step: str | None = None
    ) -> VendorText:
        """Lower libtriton's TTIR module."""
        ttir = str(payload)
        try:
            text, mode = ttir_to_linalg_with_mode(ttir)
        except VendorError as error:
            failure = self.fail(error, ttir=ttir)
            if error.kind == "crash" and isinstance(failure, StepCrash):
                failure = self._with_culprit(failure, payload)
            raise failure from error
        self._metadata["mix_mode"] = mode
        return VendorText(text)

    def _with_culprit(self, failure: StepCrash, payload: Payload) -> StepCrash:
        """Add the op that the adapter's crash depends on, found by taking ops out."""

        def crashes(module: Module) -> bool:
            try:
                text = str(triton_bridge.import_module(module, payload.context))
                ttir_to_linalg_with_mode(text, timeout=10.0)
            except VendorError as error:
                return error.kind != "error"
            except RuntimeError:
                return True
            return False

        with captured_stderr():
            culprit = find_culprit(triton_bridge.export_text(payload), crashes)
        if culprit is None:
            return failure
        place = f"{culprit.location}: " if culprit.location else ""
        text = str(failure).removeprefix("error: ")
        return StepCrash(
            f"{place}error: {text}; it does not crash without {culprit}",
            failure.stage,
            failure.step,
            failure.step_input,
        )


class HivmStage(VendorStage):
    """Linalg to HIVM with addresses, flags and pipes: all of the vendor's passes but the last."""

    name, suffix, level, inner_level = "hivm", ".hivm.mlir", "hivm", "hivm"

    def steps(self) -> Sequence[str]:
        """Return the vendor's passes of the first attempt."""
        return number_repeats([entry.name for entry in self._passes(1)])

    def run(
        self, payload: Payload, observer: StepObserver | None, first_step: str | None = None
    ) -> VendorText:
        """Run the vendor's passes; with an observer in segments, else in one go."""
        try:
            if observer is None:
                result = compile_linalg(payload.text, self.chip.name)
                self._note_attempt(result.attempt)
                return VendorText(result.hivm, result.final)
            return self._run_segments(payload.text, observer, first_step)
        except VendorError as error:
            raise self.fail(error, linalg=payload.text) from error

    def _passes(self, attempt: int) -> list[VendorPass]:
        passes = vendor_passes(self.chip.name, attempt)
        return [entry for entry in passes if entry.name != FINAL_PASS]

    def _run_segments(
        self, text: str, observer: StepObserver, first_step: str | None
    ) -> VendorText:
        """Run pass by pass where the observer looks, with the driver's retries on overflow."""
        for attempt in ATTEMPTS:
            try:
                result = self._run_attempt(text, attempt, observer, first_step)
            except VendorError as error:
                if attempt == ATTEMPTS[-1] or not is_overflow(error):
                    raise
            else:
                self._note_attempt(attempt)
                return result
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _run_attempt(
        self, text: str, attempt: int, observer: StepObserver, first_step: str | None
    ) -> VendorText:
        passes = self._passes(attempt)
        names = number_repeats([entry.name for entry in passes])
        start = names.index(first_step) if first_step else 0
        if not observer.replaces:
            return self._traced(text, names[start:], passes[start:], observer)
        segment: list[VendorPass] = []
        for name, entry in zip(names[start:], passes[start:], strict=True):
            if not observer.wants(name):
                segment.append(entry)
                continue
            text = run_passes(text, segment) if segment else text
            segment = []
            text = observer.before(name, VendorText(text)).text
            text = run_passes(text, [entry])
            text = observer.after(name, VendorText(text)).text
        return VendorText(run_passes(text, segment) if segment else text)

    def _traced(
        self, text: str, names: list[str], passes: list[VendorPass], observer: StepObserver
    ) -> VendorText:
        """Run all passes in one process, and show the observer each module and time after it."""
        for name, trace in zip(names, trace_passes(text, passes), strict=True):
            observer.before(name, VendorText(text))
            text = trace.text
            observer.after(name, VendorText(text), trace.seconds)
        return VendorText(text)

    def _note_attempt(self, attempt: int) -> None:
        self._metadata["vendor_attempt"] = attempt
        if attempt > 1:
            given_up = "code motion" if attempt == 2 else "code motion and multi-buffering"
            self._notes.append(
                Diagnostic(
                    "remark",
                    f"the vendor's memory plan fits only without {given_up} (attempt {attempt})",
                    stage=self.name,
                )
            )


class FinalStage(VendorStage):
    """HIVM to the module that hivmc takes: calls of the device library, and few hivm.hir ops."""

    name, suffix, level = "final", ".final.mlir", "final"

    def run(
        self, payload: Payload, observer: StepObserver | None, first_step: str | None = None
    ) -> VendorText:
        """Run the vendor's last pass, unless the driver did so already; emit staged IR."""
        if isinstance(payload, Module):
            from flagc.targets.ascend.emission import emit

            return self.import_module(emit(payload, self.chip))
        if payload.final is not None:
            return VendorText(payload.final)
        last = [entry for entry in vendor_passes(self.chip.name) if entry.name == FINAL_PASS]
        try:
            return VendorText(run_passes(payload.text, last))
        except VendorError as error:
            raise self.fail(error) from error


@dataclass(frozen=True)
class LlvmTexts:
    """LLVM IR by core kind (`aic`, `aiv`), and the final module it came from."""

    texts: dict[str, str]
    final: str


class LlvmStage(Stage):
    """The final module as LLVM IR, linked with the device functions that it calls."""

    name, suffix = "llvm", ".ll"

    def __init__(self, metadata: dict[str, Any]) -> None:
        self._metadata = metadata

    def run(
        self, payload: Payload, observer: StepObserver | None, first_step: str | None = None
    ) -> LlvmTexts:
        """Lower and link; notes what a launcher needs in the metadata."""
        result = final_to_llvm(payload.text)
        self._metadata["entries"] = result.facts.entries
        self._metadata["task_type"] = result.facts.task_type
        self._metadata["workspace_bytes"] = result.facts.workspace_bytes
        self._metadata["lock_words"] = result.facts.lock_words
        self._metadata["lock_initial"] = result.facts.lock_initial
        self._metadata["max_blocks"] = result.facts.max_blocks
        self._metadata["blocks_per_program"] = result.facts.blocks_per_program
        return LlvmTexts(result.texts, payload.text)

    def text(self, payload: Payload, *, debug: bool = True) -> str:
        """Return the LLVM IR; of a mix kernel, the cube core's."""
        return str(next(iter(payload.texts.values())))

    def files(self, payload: Payload) -> dict[str, str | bytes]:
        """Return one file for each core kind."""
        return {f".{core}.ll": text for core, text in payload.texts.items()}


class ObjectStage(Stage):
    """The kernel object, which only CANN's closed hivmc makes."""

    name, suffix = "object", ".o"

    def __init__(self, chip: AscendChip, notes: list[Diagnostic]) -> None:
        self._chip = chip
        self._notes = notes

    def run(
        self, payload: Payload, observer: StepObserver | None, first_step: str | None = None
    ) -> bytes | None:
        """Run hivmc on the final module; without hivmc say so, and return None."""
        if toolchain.hivmc() is None:
            self._notes.append(
                Diagnostic(
                    "remark",
                    "no kernel object: that needs hivmc of Huawei's CANN on PATH; the last stage "
                    "is llvm, linked with the device functions",
                    stage=self.name,
                )
            )
            return None
        try:
            return compile_object(payload.final, self._chip.name)
        except VendorError as error:
            raise KernelError(f"error: {_first_message(error)} [stage object]") from error

    def text(self, payload: Payload, *, debug: bool = True) -> bytes:
        """Return the object file."""
        assert isinstance(payload, bytes)
        return payload
