"""How many bytes of tensors a kernel keeps at once.

Only data counts: what is loaded, computed from loads, stored or reduced. Ranges, offsets, masks and
pointers that only address memory take no room on chip, nor do constants, splats and the tiles that
a matrix product reads from memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from flagc.ir.analysis.tensor_axes import nested_ops, shape_of
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.types import element_bits, element_of

Shape = tuple[int, ...]
# The operands of an op that are data; of any other op all are.
_DATA_OPERANDS = {
    "tt.load": (2,),
    "tt.store": (1,),
    "tt.atomic_rmw": (1,),
    "tt.atomic_cas": (1, 2),
}
_ROOTS = frozenset({"tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.reduce", "tt.scan", "tt.dot"})
_FREE = frozenset({"arith.constant", "tt.splat"})
_FROM_MEMORY = frozenset({"tt.load", "tt.trans"})


def live_bytes(function: Operation, shape: Callable[[Value], Shape] = shape_of) -> list[int]:
    """Return how many bytes of data tensors are alive at each point of `function`, from its end.

    `shape` gives each tensor's shape, so that other shapes can be tried.
    """
    estimate = _Liveness(_data_values(function), shape)
    for region in function.regions:
        for block in region.blocks:
            estimate.scan(block, set())
    return estimate.points


def _data_values(function: Operation) -> set[Value]:
    found: set[Value] = set()
    pending: list[Value] = []
    for op in nested_ops(function):
        if op.name in _ROOTS:
            pending += _data_operands(op)
            pending += list(op.results)
    while pending:
        value = pending.pop()
        if value in found or not shape_of(value):
            continue
        found.add(value)
        pending += _feeders(value)
    return found


def _data_operands(op: Operation) -> list[Value]:
    if op.name == "tt.dot":
        inputs = [value for value in list(op.operands)[:2] if not _is_from_memory(value)]
        return [*inputs, op.operands[2]]
    chosen = _DATA_OPERANDS.get(op.name)
    operands = list(op.operands)
    return operands if chosen is None else [operands[i] for i in chosen if i < len(operands)]


def _is_from_memory(value: Value) -> bool:
    op = defining_op(value)
    return op is not None and op.name in _FROM_MEMORY


def _feeders(value: Value) -> Iterable[Value]:
    """Values whose data flows into `value`, and for one carried by a loop those it flows into."""
    op = defining_op(value)
    if op is None:
        return _carried(value)
    if op.name not in ("scf.for", "scf.if"):
        return _data_operands(op)
    index = list(op.results).index(value)
    feeders = [_last(block).operands[index] for region in op.regions for block in region.blocks]
    if op.name == "scf.for":
        feeders += [op.operands[3 + index], op.regions[0].blocks[0].arguments[1 + index]]
    return feeders


def _carried(argument: Value) -> list[Value]:
    loop = argument.owner.owner.operation
    if loop.name != "scf.for" or argument.arg_number == 0:
        return []
    index = argument.arg_number - 1
    return [loop.operands[3 + index], _last(argument.owner).operands[index], loop.results[index]]


def _last(block: object) -> Operation:
    operations = block.operations  # type: ignore[attr-defined]
    return operations[len(operations) - 1].operation


class _Liveness:
    """A walk from a block's end to its start that notes how much is alive."""

    def __init__(self, data: set[Value], shape: Callable[[Value], Shape]) -> None:
        self._data = data
        self._shape = shape
        self._sizes: dict[Value, int] = {}
        self.points: list[int] = []

    def scan(self, block: object, after: set[Value]) -> set[Value]:
        """Return what is alive before `block`, given what is alive after it."""
        live = set(after)
        operations = [op.operation for op in block.operations]  # type: ignore[attr-defined]
        for op in reversed(operations):
            self._note(live | self._counted(op.results))
            live -= set(op.results)
            if op.name in ("scf.for", "scf.if", "scf.while"):
                live |= self._scan_regions(op, live)
            live |= self._counted(op.operands)
            self._note(live)
        return live

    def _scan_regions(self, op: Operation, live: set[Value]) -> set[Value]:
        inner: set[Value] = set()
        for region in op.regions:
            for block in region.blocks:
                # What a loop's body uses from outside is alive until its last iteration is over.
                outer = set()
                if op.name == "scf.for":
                    own = set(block.arguments)
                    for child in nested_ops(op):
                        own |= set(child.results) if child != op else set()
                    used = {v for child in nested_ops(op) for v in child.operands}
                    outer = self._counted(used - own)
                inner |= self.scan(block, live | outer) - set(block.arguments)
        return inner

    def _counted(self, values: Iterable[Value]) -> set[Value]:
        return {value for value in values if value in self._data and self._size(value)}

    def _note(self, live: set[Value]) -> None:
        self.points.append(sum(self._size(value) for value in live))

    def _size(self, value: Value) -> int:
        if value not in self._sizes:
            op = defining_op(value)
            free = op is not None and op.name in _FREE
            bits = element_bits(element_of(value))
            size = math.prod(self._shape(value)) * max(bits // 8, 1)
            self._sizes[value] = 0 if free or not shape_of(value) else size
        return self._sizes[value]
