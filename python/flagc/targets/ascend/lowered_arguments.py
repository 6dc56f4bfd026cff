"""The parameters of a compiled kernel that stand for a launch's argument."""

from __future__ import annotations

from typing import Any

from flagc.errors import UsageError
from flagc.frontend.execution import Argument
from flagc.ir.descriptor_abi import flag_count


def lowered_arguments(argument: Argument) -> list[tuple[str, str, Any]]:
    """Return (name, Triton type, value) of each parameter; a descriptor is taken apart.

    Raises:
        UsageError: a pointer's argument is no tensor.
    """
    value = argument.value
    if not argument.type.startswith("tensordesc"):
        if argument.type.startswith("*") and not hasattr(value, "data_ptr"):
            raise UsageError(
                f"argument '{argument.name}': the kernel takes a tensor ({argument.type}), "
                f"not {type(value).__name__}"
            )
        return [(argument.name, argument.type, value)]
    flags = [value.padding == "nan", getattr(value, "round_f32_to_tf32", False)][: flag_count()]
    sizes, strides = list(value.shape), list(value.strides)
    parts = [
        ("*i8", [value.base]),
        ("i64", [*sizes, *strides]),
        ("i1", flags),
        ("i32", sizes),
        ("i64", strides),
    ]
    return [(argument.name, kind, part) for kind, members in parts for part in members]
