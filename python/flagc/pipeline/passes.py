"""The pass base class, its options, and the registry of passes."""

from __future__ import annotations

import dataclasses
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from flagc.errors import UsageError, nearest
from flagc.ir.module import Module
from flagc.pipeline.context import PassContext


class Pass(ABC):
    """A rewrite or an analysis of one module, written in Python.

    Subclasses are frozen dataclasses whose fields are the pass's options. `name` is the kebab-case
    name used in pipelines; `level` names the IR level the pass understands, or "any". A pass that
    `merges_launches` may find a kernel and the one that follows it in one module.
    """

    name: ClassVar[str]
    level: ClassVar[str] = "any"
    merges_launches: ClassVar[bool] = False

    @abstractmethod
    def run(self, module: Module, context: PassContext) -> None:
        """Change `module` in place, or report on it through `context`.

        A pass that cannot apply says why in a remark and leaves the module alone. One that finds
        the module illegal calls `context.error`, which raises `PassFailure`.
        """

    def note_of(self, value: int) -> tuple[str, int] | None:
        """Return an attribute for a kernel's integer argument that is `value` in a launch, or None.

        Each combination of such notes gets a kernel of its own; the pass finds them at the
        arguments of the TTIR. Without one, a kernel is compiled for all values alike.
        """
        return None

    def spelling(self) -> str:
        """Return the pass with its non-default options as pipeline text, `name{option=value}`."""
        parts = []
        for option in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, option.name)
            if value != option.default:
                parts.append(f"{option.name.replace('_', '-')}={_spell(value)}")
        return self.name + ("{" + " ".join(parts) + "}" if parts else "")


PassClass = TypeVar("PassClass", bound=type[Pass])
_registry: dict[str, type[Pass]] = {}


def register(pass_class: PassClass) -> PassClass:
    """Make a pass available by its name. Used as a class decorator, above `@dataclass`.

    Raises:
        UsageError: no name, not a dataclass, or the name is taken by another class.
    """
    name = getattr(pass_class, "name", None)
    if not isinstance(name, str) or not name:
        raise UsageError(f"pass class {pass_class.__qualname__} has no 'name'")
    if not dataclasses.is_dataclass(pass_class):
        raise UsageError(f"pass '{name}': class {pass_class.__qualname__} must be a dataclass")
    other = _registry.get(name)
    if other is not None and (other.__module__, other.__qualname__) != (
        pass_class.__module__,
        pass_class.__qualname__,
    ):
        raise UsageError(
            f"two passes are called '{name}': {other.__module__}.{other.__qualname__} and "
            f"{pass_class.__module__}.{pass_class.__qualname__}"
        )
    _registry[name] = pass_class
    return pass_class


def registered_passes() -> dict[str, type[Pass]]:
    """Return all registered passes by name, sorted by name."""
    return dict(sorted(_registry.items()))


def lookup(name: str) -> type[Pass]:
    """Return the pass class called `name`.

    Raises:
        UsageError: there is none; the message names the nearest ones.
    """
    if name not in _registry:
        raise UsageError(f"unknown pass '{name}'; {nearest(name, list(_registry))}")
    return _registry[name]


@dataclasses.dataclass(frozen=True)
class PassOption:
    """One option of a pass, for listings. `type` is the option's type as text."""

    name: str
    type: str
    default: str


def options_of(pass_class: type[Pass]) -> list[PassOption]:
    """Return the options of a pass, in declaration order."""
    hints = typing.get_type_hints(pass_class)
    described = []
    for option in dataclasses.fields(pass_class):  # type: ignore[arg-type]
        default = "" if option.default is dataclasses.MISSING else _spell(option.default)
        hint = hints[option.name]
        text = hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
        described.append(PassOption(option.name.replace("_", "-"), text, default))
    return described


def instantiate(name: str, options: dict[str, str]) -> Pass:
    """Return the pass called `name` with `options`, given as text.

    Raises:
        UsageError: unknown pass or option, a value of the wrong type, or a missing option.
    """
    pass_class = lookup(name)
    hints = typing.get_type_hints(pass_class)
    fields = {
        option.name.replace("_", "-"): option
        for option in dataclasses.fields(pass_class)  # type: ignore[arg-type]
    }
    values: dict[str, Any] = {}
    for key, text in options.items():
        option = fields.get(key.replace("_", "-"))
        if option is None:
            hint = nearest(key, list(fields)) if fields else "it takes none"
            raise UsageError(f"pass '{name}' has no option '{key}'; {hint}")
        values[option.name] = _convert(name, key, text, hints[option.name])
    missing = [
        key
        for key, option in fields.items()
        if option.default is dataclasses.MISSING
        and option.default_factory is dataclasses.MISSING
        and option.name not in values
    ]
    if missing:
        raise UsageError(f"pass '{name}' needs option '{missing[0]}': {name}{{{missing[0]}=...}}")
    return pass_class(**values)


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _number_list(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.strip("[]").replace("x", ",").split(",") if part)


_CONVERTERS: dict[Any, Callable[[str], Any]] = {
    int: int,
    float: float,
    str: str,
    bool: lambda text: _BOOLEANS[text.lower()],
    tuple[int, ...]: _number_list,
}


def _convert(pass_name: str, key: str, text: str, hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is typing.Literal:
        allowed = {str(value): value for value in typing.get_args(hint)}
        if text not in allowed:
            raise UsageError(
                f"pass '{pass_name}', option '{key}': '{text}' is none of {', '.join(allowed)}"
            )
        return allowed[text]
    try:
        return _CONVERTERS[hint](text)
    except (ValueError, KeyError) as error:
        expected = getattr(hint, "__name__", str(hint)) if hint in _CONVERTERS else None
        if expected is None:
            raise UsageError(f"pass '{pass_name}': option '{key}' has no text form") from error
        raise UsageError(
            f"pass '{pass_name}', option '{key}': '{text}' is no {expected}"
        ) from error


def _spell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ",".join(str(part) for part in value) + "]"
    return str(value)
