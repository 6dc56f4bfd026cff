"""`flagc.use`: from now on, Triton launches run on a target, an emulated one or a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

from flagc.frontend.pairs import merging
from flagc.frontend.recorder import LaunchRecorder, recording
from flagc.pipeline.compiler import CompileRequest, CompileResult, cached_result, compile_kernel
from flagc.pipeline.defaults import build_pipeline
from flagc.report import terminal
from flagc.targets.registry import target_by_name

# Sessions that are open; one that nobody holds must not end when it is collected.
_open: list[Session] = []


class Session:
    """Launches of this process run on the target until `close`, or to the end of a `with`.

    `recorder.launches` holds what was launched, with what each execution did.
    """

    def __init__(self, recorder: LaunchRecorder) -> None:
        self.recorder = recorder
        self._stack = ExitStack()
        self._stack.enter_context(recording(recorder))
        _open.append(self)

    def close(self) -> None:
        """Give Triton's launches back to Triton."""
        self._stack.close()
        if self in _open:
            _open.remove(self)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def use(
    target: str,
    passes: str = "",
    *,
    load: Sequence[str] = (),
    without: Sequence[str] = (),
    pipeline: str | None = None,
    checks: bool = True,
    threads: int | None = None,
) -> Session:
    """Run every `kernel[grid](...)` on `target`; `ascend` takes CPU tensors, `cuda` GPU tensors.

    Args:
        passes, load, without: as `--passes`, `--load` and `--without` on the command line.
        pipeline: as `--pipeline`: `auto`, `flagc` or `vendor` (ascend).
        checks: whether the emulator checks what hardware does not (ascend).
        threads: host threads for the blocks of an emulated launch; None uses all.

    Raises:
        UsageError: unknown target or pass, or a GPU of another chip.
        EnvironmentProblem: a CUDA target on a machine without a GPU.
    """
    chosen = target_by_name(target, pipeline)
    placed = build_pipeline(chosen, passes, load, without)
    executor = chosen.executor(
        passes=placed,
        compile=_compile,
        checks=checks,
        threads=threads,
        warn=terminal.print_diagnostic,
    )
    merge = merging(_compile, chosen, placed)
    return Session(LaunchRecorder(chosen, executor=executor, passes=placed, merge=merge))


def _compile(request: CompileRequest) -> CompileResult:
    return cached_result(request) or compile_kernel(request)
