"""Loads whose values are multiplied by `tt.dot`, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from flagc.ir.module import Module, Operation, Value
from flagc.ir.types import TensorType

LOADS = ("tt.load", "tt.descriptor_load")


@dataclass
class OperandLoad:
    """A load that feeds operands of `tt.dot`.

    Attributes:
        views: the values that dots take, and whether each is the transposed of what was loaded.
        other_use: an op that uses the load in another way, if there is one.
    """

    op: Operation
    views: list[tuple[Value, bool]] = field(default_factory=list)
    other_use: Operation | None = None


def operand_loads(module: Module) -> list[OperandLoad]:
    """Return the loads that some dot multiplies, in program order."""
    found = []
    for op in module.walk(*LOADS):
        load = OperandLoad(op)
        _follow(load, op.results[0], transposed=False)
        if load.views:
            found.append(load)
    return found


def _follow(load: OperandLoad, value: Value, *, transposed: bool) -> None:
    for use in value.uses:
        user = use.owner.operation
        if user.name == "tt.dot" and use.operand_number < 2:
            if (value, transposed) not in load.views:
                load.views.append((value, transposed))
        elif user.name == "tt.trans" and swaps_matrix(user):
            _follow(load, user.results[0], transposed=not transposed)
        else:
            load.other_use = load.other_use or user


def swaps_matrix(op: Operation) -> bool:
    """Return whether a `tt.trans` swaps the last two dimensions and no others."""
    order = [int(dim) for dim in op.attributes["order"]]
    tensor = TensorType.of(op.results[0])
    rank = len(tensor.shape) if tensor is not None else 0
    return order == [*range(rank - 2), rank - 1, rank - 2]
