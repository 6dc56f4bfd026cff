"""From a Triton kernel to TTIR, by Triton's own frontend. Shared by all targets."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from triton._C.libtriton import ir as triton_ir
from triton.compiler.compiler import filter_traceback
from triton.compiler.errors import CompilationError

from flagc.errors import KernelError
from flagc.ir import triton_bridge
from flagc.ir.follow_up import pair_of
from flagc.ir.module import Module
from flagc.pipeline.target import Compilation, KernelSource, PairSource


def new_context(backend: Any) -> Any:
    """Return a libtriton context with Triton's dialects and the backend's loaded."""
    context = triton_ir.context()
    triton_ir.load_dialects(context)
    backend.load_dialects(context)
    return context


def ttir_of_kernel(source: Any, target: Any, backend: Any, options: Any, context: Any) -> Any:
    """Return the kernel's TTIR, before any pass, as a libtriton module.

    Raises:
        KernelError: the kernel does not compile; the message shows the user's line.
    """
    codegen = backend.get_codegen_implementation(options)
    try:
        return source.make_ir(target, options, codegen, backend.get_module_map(), context)
    except CompilationError as error:
        raise KernelError(compilation_message(error, source.fn)) from error
    except Exception as error:
        filter_traceback(error)
        raise KernelError(
            f"error: Triton's frontend failed on kernel '{source.name}' with "
            f"{type(error).__name__}: {error}"
        ) from error


def ttir_of_pair(
    source: PairSource, begin: Callable[[KernelSource], Compilation], context: Any
) -> Any:
    """Return both kernels, after the target's own passes on each, in one libtriton module.

    Raises:
        KernelError: one does not compile, or calls functions that are not inlined.
    """

    def lowered(kernel: KernelSource) -> Module:
        compilation = begin(kernel)
        stage = compilation.stages[0]
        return stage.export(stage.run(compilation.payload, None))

    pair = pair_of(lowered(source.first), lowered(source.second), source.follow_up)
    return triton_bridge.import_module(pair, context)


def compilation_message(error: CompilationError, function: Any) -> str:
    """Return Triton's compilation error as `file:line:column: error: ...` with the source line.

    The line of a kernel's error counts from the kernel's own first line; it is shown as the file's.
    """
    chain = [error]
    while isinstance(chain[-1].__cause__, CompilationError):
        chain.append(chain[-1].__cause__)
    text = _error_text(chain[-1])
    for link in reversed(chain):  # the innermost call that is the user's, not Triton's library's
        callee = _user_function(function, link)
        if callee is not None:
            return _at_line(callee, link.node, text)
    return f"error: {text}"


def _user_function(kernel: Any, error: CompilationError) -> Any:
    """Return the user's JIT function that `error` lies in, or None."""
    if error.node is None:
        return None
    callee = _function_with_source(kernel, error.src)
    if callee is None or "/triton/language/" in callee.fn.__code__.co_filename:
        return None
    if error.node.lineno > callee.src.count("\n") + 1:
        return kernel  # Triton names the callee's source for some errors at the call
    return callee


def _at_line(function: Any, node: Any, text: str) -> str:
    first_line = function.starting_line_number + _lines_before_def(function)
    line_text = function.src.split("\n")[node.lineno - 1]
    location = f"{function.fn.__code__.co_filename}:{first_line + node.lineno - 1}"
    caret = " " * node.col_offset + "^"
    return f"{location}:{node.col_offset + 1}: error: {text}\n{line_text}\n{caret}"


def _error_text(error: CompilationError) -> str:
    """Return what is wrong; for a bare `assert` of Triton's, the condition that did not hold."""
    text = str(error.error_message or error.__cause__ or "").strip()
    if text:
        return text
    cause = error.__cause__ or error
    frames = traceback.extract_tb(cause.__traceback__)
    condition = frames[-1].line if frames else ""
    return f"{type(cause).__name__} in Triton's frontend: {condition}"


def _function_with_source(function: Any, source: str | None) -> Any:
    """Return the JIT function, `function` or one it calls, that has the text `source`."""
    seen: set[int] = set()
    queue = [function]
    while queue:
        candidate = queue.pop()
        if id(candidate) in seen or not hasattr(candidate, "starting_line_number"):
            continue
        seen.add(id(candidate))
        if source is None or candidate.src == source:
            return candidate
        queue += [
            value for value in candidate.get_capture_scope().values() if hasattr(value, "src")
        ]
    return None


def _lines_before_def(function: Any) -> int:
    """Return how many decorator lines precede the `def` line in the function's raw source."""
    for index, line in enumerate(function.raw_src):
        if line.lstrip().startswith("def "):
            return index
    return 0
