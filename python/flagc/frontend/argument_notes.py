"""What passes want to know of a launch's integer arguments: kernels compiled for their values.

Triton tells kernels apart by a text for each argument (`D`: divisible by 16), of which its backend
makes attributes of the kernel's arguments. Passes that answer `note_of` add to text and attributes
while `noting` them. That covers JIT launches and recorded ones, with all of Triton's caches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from triton.backends.compiler import BaseBackend
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from flagc.pipeline.passes import Pass
from flagc.pipeline.pipeline_text import PlacedPass

Note = tuple[str, int]

_INTEGERS = frozenset({"i32", "i64", "u32", "u64"})
_LIMIT = 2**31  # libtriton's set_arg_attr takes 32 bits
_MARK = "|"  # before each note in an argument's text
_original_run = JITFunction.run
_original_parse = BaseBackend.__dict__["parse_attr"].__func__
# The passes of all installations, in order.
_active: list[tuple[Pass, ...]] = []


def add(passes: Iterable[PlacedPass]) -> tuple[Pass, ...]:
    """Note from now on what `passes` want to know; `remove` what is returned to end it."""
    asking = tuple(p.instance for p in passes if type(p.instance).note_of is not Pass.note_of)
    if asking and not any(_active):
        JITFunction.run, BaseBackend.parse_attr = _run, staticmethod(_parse)
    _active.append(asking)
    return asking


def remove(asking: tuple[Pass, ...]) -> None:
    """Take back one `add`."""
    for index, entry in enumerate(_active):
        if entry is asking:
            del _active[index]
            break
    if asking and not any(_active):
        JITFunction.run, BaseBackend.parse_attr = _original_run, staticmethod(_original_parse)


@contextmanager
def noting(passes: Iterable[PlacedPass]) -> Iterator[None]:
    """Note what `passes` want to know of launches during the block."""
    asking = add(passes)
    try:
        yield
    finally:
        remove(asking)


def notes_of(value: int) -> list[Note]:
    """Return what the active passes want noted of an argument."""
    if not -_LIMIT <= value < _LIMIT:
        return []
    notes = [instance.note_of(value) for asking in _active for instance in asking]
    return list(dict.fromkeys(note for note in notes if note is not None))


class _Binder:
    """Triton's binder of a launch's arguments, which also says what kernel they need."""

    def __init__(self, binder: Any) -> None:
        self._binder = binder

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        bound, specialisation, options = self._binder(*arguments, **named)
        if any(_active):
            pairs = zip(specialisation, bound.values(), strict=True)
            specialisation = [_specialised(entry, value) for entry, value in pairs]
        return bound, specialisation, options


def _specialised(entry: tuple[str, Any], value: Any) -> tuple[str, Any]:
    """Add notes to an argument's type and text; arguments that are not specialised have no text."""
    kind, text = entry
    if kind not in _INTEGERS or type(value) is not int or not isinstance(text, str):
        return entry
    return kind, text + "".join(f"{_MARK}{name}={number}" for name, number in notes_of(value))


def _run(function: Any, *arguments: Any, **named: Any) -> Any:
    device = driver.active.get_current_device()
    entry = function.device_caches[device]
    if not isinstance(entry[-1], _Binder):
        function.device_caches[device] = (*entry[:-1], _Binder(entry[-1]))
    return _original_run(function, *arguments, **named)


def _parse(text: str) -> list[list[Any]]:
    own, *notes = text.split(_MARK)
    attributes = {name: value for name, value in _original_parse(own)}
    for note in notes:
        name, number = note.split("=")
        attributes[name] = max(int(number), attributes.get(name, int(number)))
    return [[name, value] for name, value in attributes.items()]
