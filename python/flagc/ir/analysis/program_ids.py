"""How a kernel gets from its program id to the output tile it computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from flagc.ir.dead_code import is_pure
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import TensorType

DIVISIONS = frozenset({"arith.divsi", "arith.divui"})
REMAINDERS = frozenset({"arith.remsi", "arith.remui"})
# Ops through which a tile's number becomes the coordinates of its elements.
_INDEX_OPS = frozenset(
    {"arith.addi", "arith.muli", "arith.subi", "arith.extsi", "arith.trunci", "tt.splat"}
)


@dataclass
class Split:
    """`id / divisor` and `id % divisor` on one program id: a tile's two numbers.

    `quotients` and `remainders` hold the ops (a kernel may compute them twice).
    """

    divisor: Value
    quotients: list[Operation] = field(default_factory=list)
    remainders: list[Operation] = field(default_factory=list)


def program_ids(module: Module) -> dict[int, list[Operation]]:
    """Return the ops that read the program id, by axis."""
    found: dict[int, list[Operation]] = {}
    for op in module.walk("tt.get_program_id"):
        found.setdefault(op.attributes["axis"].value, []).append(op)
    return dict(sorted(found.items()))


def users(value: Value) -> list[Operation]:
    """Return the ops that use `value`."""
    return [use.owner.operation for use in value.uses]


def is_scalar(value: Value) -> bool:
    """Return whether `value` is no tensor."""
    return TensorType.of(value) is None


def divisions_of(value: Value) -> Iterator[Operation]:
    """Yield the divisions and remainders whose left side is `value`."""
    for user in users(value):
        if user.name in DIVISIONS | REMAINDERS and user.operands[0] == value:
            yield user


def splits(ids: list[Operation]) -> list[Split]:
    """Return the splits of a program id, one for each divisor that has both `/` and `%`."""
    found: list[Split] = []
    for op in (division for program_id in ids for division in divisions_of(program_id.results[0])):
        split = next((s for s in found if s.divisor == op.operands[1]), None)
        if split is None:
            split = Split(op.operands[1])
            found.append(split)
        (split.quotients if op.name in DIVISIONS else split.remainders).append(op)
    return found


def derived_scalars(value: Value) -> Iterator[Value]:
    """Yield `value` and the scalars computed from it by additions and multiplications."""
    pending = [value]
    seen: list[Value] = []
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.append(current)
        yield current
        for user in users(current):
            if user.name in _INDEX_OPS and is_scalar(user.results[0]):
                pending.append(user.results[0])


def row_score(value: Value) -> int:
    """Return how much more often `value` numbers a tile's row than its column.

    A row tile's number ends as `rows[:, None]` (`tt.expand_dims` of axis 1) or as a descriptor's
    second last coordinate; a column tile's as `columns[None, :]` or as the last one.
    """
    score = 0
    pending = [value]
    seen: list[Value] = []
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.append(current)
        for user in users(current):
            if user.name == "tt.expand_dims":
                score += 1 if user.attributes["axis"].value == 1 else -1
            elif user.name == "tt.descriptor_store":
                # Operands: descriptor, source, coordinates.
                score += -1 if user.operands[len(user.operands) - 1] == current else 1
            elif user.name in _INDEX_OPS:
                pending.append(user.results[0])
    return score


def of_a_tile(operations: list[Operation], ids: list[Operation]) -> list[Operation]:
    """Return those of a block's ops that do something, or depend on the program ids."""
    inside: set[Operation] = set()
    for op in operations:
        if op in ids or not is_pure(op) or any(defining_op(v) in inside for v in op.operands):
            inside.add(op)
    return [op for op in operations if op in inside]
