"""Two launches in one module: a kernel, and the one that a script launched right after it.

The second kernel's function carries `flagc_follow_up`, a dictionary of arrays that say how the two
were launched. What is proved with them holds for launches with just these numbers.

    first_grid, grid            programs along each axis, of the first kernel and of this one
    first_values, values        for each argument of the function its integer, 0 for other types
    first_storages, storages    for each pointer a number that equal storages share; -1 for others
    first_offsets, offsets      for each pointer where in the storage it points, in bytes

When the two have been merged, the function left carries `flagc_merged` (`Merged`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flagc.errors import KernelError
from flagc.ir.module import Module, Operation, Value

ATTRIBUTE = "flagc_follow_up"
MERGED = "flagc_merged"
NO_STORAGE = -1


@dataclass(frozen=True)
class LaunchNumbers:
    """The numbers of one launch; the lists have one entry for each argument of the function."""

    grid: tuple[int, ...]
    values: tuple[int, ...]
    storages: tuple[int, ...]
    offsets: tuple[int, ...]

    def place(self, argument: Value) -> tuple[int, int]:
        """Return storage and byte offset of a pointer argument."""
        number = argument.arg_number
        return self.storages[number], self.offsets[number]


@dataclass(frozen=True)
class FollowUp:
    """How two kernels were launched, one after the other."""

    first: LaunchNumbers
    second: LaunchNumbers

    def text(self) -> str:
        """Return the attribute's text."""
        entries = [*_entries("first_", self.first), *_entries("", self.second)]
        return f"{{{', '.join(entries)}}}"


@dataclass(frozen=True)
class Merged:
    """What became of the matrix between two kernels that are merged.

    Attributes:
        matrix: the number of the first kernel's argument that points to it.
        stored: whether something is stored there all the same: the second kernel works in place.
    """

    matrix: int
    stored: bool

    def describe(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"matrix": self.matrix, "stored": self.stored}


def _entries(prefix: str, numbers: LaunchNumbers) -> list[str]:
    return [
        f"{prefix}{name} = array<i64{': ' if part else ''}{', '.join(map(str, part))}>"
        for name, part in vars(numbers).items()
    ]


def pair_of(first: Module, second: Module, follow_up: FollowUp) -> Module:
    """Return one module that holds the kernels of two, each with one function.

    Raises:
        KernelError: one of them has more: it calls functions that are not inlined.
    """
    functions = []
    for module in (first, second):
        own = module.functions()
        if len(own) > 1:
            name = own[0].attributes["sym_name"].value
            raise KernelError(f"error: kernel '{name}' calls functions that are not inlined")
        functions += own
    names = [function.attributes["sym_name"].value for function in functions]
    if names[0] == names[1]:
        functions[1].attributes["sym_name"] = second.attribute(f'"{names[1]}_again"')
    functions[1].attributes[ATTRIBUTE] = second.attribute(follow_up.text())
    texts = [
        function.get_asm(enable_debug_info=True, print_generic_op_form=True, use_local_scope=True)
        for function in functions
    ]
    joined = '"builtin.module"() ({\n' + "\n".join(texts) + "\n}) : () -> ()\n"
    return Module.parse(joined, first.level)


def mark_merged(module: Module, function: Operation, merged: Merged) -> None:
    """Say at `function` that it does what the module's two kernels did."""
    function.attributes[MERGED] = module.attribute(
        f"array<i32: {merged.matrix}, {int(merged.stored)}>"
    )


def merged_of(function: Operation) -> Merged | None:
    """Return what became of the matrix; None for a function that is not merged."""
    if MERGED not in function.attributes:
        return None
    matrix, stored = map(int, function.attributes[MERGED])
    return Merged(matrix, bool(stored))


def kernels_of(module: Module) -> tuple[Operation, Operation, FollowUp] | None:
    """Return a module's two kernels in the order of their launches, None if it holds no pair."""
    functions = module.functions()
    second = [function for function in functions if ATTRIBUTE in function.attributes]
    if len(functions) != 2 or len(second) != 1:
        return None
    (first,) = (function for function in functions if function != second[0])
    attribute = second[0].attributes[ATTRIBUTE]
    return first, second[0], FollowUp(_read(attribute, "first_"), _read(attribute, ""))


def _read(attribute: Mapping[str, Any], prefix: str) -> LaunchNumbers:
    names = ("grid", "values", "storages", "offsets")
    return LaunchNumbers(*(tuple(map(int, attribute[f"{prefix}{name}"])) for name in names))
