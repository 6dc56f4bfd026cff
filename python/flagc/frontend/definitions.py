"""A launch from the command line: `--kernel`, `--signature`, `-D` and `--grid`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flagc.errors import UsageError, nearest
from flagc.frontend.launch import Launch
from flagc.frontend.script import defined_kernels
from flagc.pipeline.target import KernelSource

_SCALARS = (
    *("i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64"),
    *("fp16", "bf16", "fp32", "f32", "fp64", "f64"),
    *("fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16", "fp8e4b15"),
)
_DIMENSIONS = 3


def launch_from_flags(
    path: Path,
    kernel: str,
    signature: str,
    definitions: Sequence[str],
    grid: str,
    options: Mapping[str, Any],
) -> Launch:
    """Return the launch that the flags describe.

    Args:
        signature: `name=type[:16]` or `type[:16]`, comma separated; `:16` promises divisibility
            by 16; a number in the type's place (`stride=1`) fixes the argument to it.
        definitions: `NAME=value` for each constexpr argument.
        grid: one to three numbers, `32,32`; empty for none.

    Raises:
        UsageError: an unknown kernel, argument or type, or an argument without a type.
    """
    kernels = defined_kernels(path)
    if kernel not in kernels:
        raise UsageError(f"{path} defines no kernel '{kernel}'; {nearest(kernel, list(kernels))}")
    function = kernels[kernel]
    constants = _definitions(function, definitions)
    types, attributes = _signature(function, signature, constants)
    source = KernelSource(function, types, constants, attributes)
    return Launch(source, options, [_grid(grid)] if grid else [])


def _definitions(function: Any, definitions: Sequence[str]) -> dict[tuple[int, ...], Any]:
    constants: dict[tuple[int, ...], Any] = {}
    for text in definitions:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"-D {text}: write -D NAME=VALUE")
        constants[_index(function, name, "-D")] = _literal(value)
    for parameter in function.params:
        if parameter.is_constexpr and (parameter.num,) not in constants:
            if not parameter.has_default:
                raise UsageError(
                    f"kernel '{function.__name__}' needs a value for the constexpr "
                    f"'{parameter.name}': -D {parameter.name}=..."
                )
            constants[(parameter.num,)] = parameter.default
    return constants


def _signature(
    function: Any, text: str, constants: dict[tuple[int, ...], Any]
) -> tuple[dict[str, str], dict[tuple[int, ...], Any]]:
    names = [p.name for p in function.params]
    types = {names[path[0]]: "constexpr" for path in constants}
    attributes: dict[tuple[int, ...], Any] = {}
    open_names = [name for name in names if name not in types]
    for position, item in enumerate(part.strip() for part in text.split(",") if part.strip()):
        name, equals, spec = item.partition("=")
        if not equals:
            spec = item
            if position >= len(open_names):
                raise UsageError(f"--signature has more types than '{function.__name__}' arguments")
            name = open_names[position]
        index = _index(function, name, "--signature")
        type_text, _, divisor = spec.partition(":")
        if _is_number(type_text):
            types[name] = "constexpr"
            constants[index] = _literal(type_text)
            continue
        _check_type(name, type_text)
        types[name] = type_text
        if divisor:
            if divisor != "16":
                raise UsageError(f"--signature {name}: ':{divisor}' is not ':16', the only promise")
            attributes[index] = [["tt.divisibility", 16]]
    missing = [name for name in names if name not in types]
    if missing:
        raise UsageError(
            f"--signature says nothing about argument '{missing[0]}' of '{function.__name__}'; "
            f"its arguments: {', '.join(names)}"
        )
    return {name: types[name] for name in names}, attributes


def _index(function: Any, name: str, flag: str) -> tuple[int, ...]:
    names = [p.name for p in function.params]
    if name not in names:
        raise UsageError(
            f"{flag}: kernel '{function.__name__}' has no argument '{name}'; {nearest(name, names)}"
        )
    return (names.index(name),)


def _check_type(name: str, text: str) -> None:
    scalar = text.removeprefix("*").removeprefix("k")
    if text.startswith("tensordesc<") or scalar in _SCALARS:
        return
    raise UsageError(
        f"--signature {name}: unknown type '{text}'; {nearest(scalar, list(_SCALARS))}"
    )


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()


def _literal(text: str) -> Any:
    """Return the Python value of `text`: a literal, a Triton type such as `fp32`, or the text."""
    import triton.language as tl

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        named = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
        candidate = getattr(tl, named.get(text, text).removeprefix("tl."), None)
        return candidate if isinstance(candidate, tl.dtype) else text


def _grid(text: str) -> tuple[int, int, int]:
    parts = text.split(",")
    if not 1 <= len(parts) <= _DIMENSIONS or not all(part.strip().isdigit() for part in parts):
        raise UsageError(f"--grid {text}: write one to three numbers, e.g. --grid 32,32")
    numbers = [int(part) for part in parts] + [1] * (_DIMENSIONS - len(parts))
    return numbers[0], numbers[1], numbers[2]
