"""Which dimensions of a kernel's tensors are one axis of its block.

    axes = TensorAxes(function)
    axes.of_value(value)        # the axis of each dimension
    axes.of_use(op, index)      # the same, of an operand

Two dimensions are the same axis when an op combines their elements position by position: the rows
of `a + b` are those of `a` and of `b`. A block can be cut along an axis when nothing looks across
it; `flaws` says what does. Ranges, splats and constants are shared by unrelated axes, so what is
looked at is each use of theirs, as if every user had a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flagc.ir.module import Operation, Value, defining_op
from flagc.mlir import ir

Key = tuple[Any, ...]

# Ops that can be made anew for a part of an axis, from scalars alone.
SOURCES = frozenset({"tt.make_range", "tt.splat", "arith.constant"})
ELEMENTWISE = frozenset(
    {
        "tt.addptr", "tt.atomic_cas", "tt.atomic_rmw", "tt.bitcast", "tt.clampf",
        "tt.elementwise_inline_asm", "tt.extern_elementwise", "tt.fp_to_fp", "tt.int_to_ptr",
        "tt.load", "tt.mulhiui", "tt.precise_divf", "tt.precise_sqrt", "tt.ptr_to_int", "tt.store",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Flaw:
    """Why a block cannot be cut along an axis: `op` looks across it."""

    op: Operation
    reason: str


def shape_of(value: Value) -> tuple[int, ...]:
    """Return the shape of a tensor, () for anything else."""
    kind = value.type
    return tuple(kind.shape) if isinstance(kind, ir.RankedTensorType) else ()


def nested_ops(op: Operation) -> Iterator[Operation]:
    """Yield `op` and all ops in its regions, in program order."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for child in block.operations:
                yield from nested_ops(child.operation)


def is_source(value: Value) -> bool:
    """Return whether `value` is made anew for each of its users."""
    op = defining_op(value)
    return op is not None and op.name in SOURCES


class TensorAxes:
    """The axes of one function.

    Attributes:
        flaws: what looks across an axis, by axis.
        reductions: the `tt.reduce` ops along an axis, by axis.
        depths: the matrix products that an axis is the depth of, by axis.
        extents: the axis's length.
        flattened: by its result, each `tt.reshape` to one dimension that only reductions use.
    """

    def __init__(self, function: Operation, *, depth_is_flaw: bool = True) -> None:
        """`depth_is_flaw` says whether the depth of a matrix product counts as a flaw."""
        self._depth_is_flaw = depth_is_flaw
        self._depth: list[tuple[Key, Operation]] = []
        self.ops = list(nested_ops(function))[1:]
        self._parents: dict[Key, Key] = {}
        self._flawed: list[tuple[Key, Flaw]] = []
        self._reduced: list[tuple[Key, Operation]] = []
        self.flattened: dict[Value, Operation] = {}
        self._forbid_arguments(function, "it is an argument")
        for op in self.ops:
            self._visit(op)
        self.flaws: dict[Key, Flaw] = {}
        for key, flaw in self._flawed:
            self.flaws.setdefault(self._root(key), flaw)
        self.reductions: dict[Key, list[Operation]] = {}
        for key, op in self._reduced:
            self.reductions.setdefault(self._root(key), []).append(op)
        self.depths: dict[Key, list[Operation]] = {}
        for key, op in self._depth:
            self.depths.setdefault(self._root(key), []).append(op)
        self.extents: dict[Key, int] = {}
        for op in self.ops:
            self._measure(op)

    def of_value(self, value: Value) -> tuple[Key, ...]:
        """Return the axis of each dimension of `value`, which is no source."""
        return tuple(self._root((value, i)) for i in range(len(shape_of(value))))

    def of_use(self, op: Operation, index: int) -> tuple[Key, ...]:
        """Return the axis of each dimension of the operand `index` of `op`."""
        return tuple(self._root(key) for key in self._use(op, index))

    def dimension(self, op: Operation, index: int, axis: Key) -> int | None:
        """Return which dimension of the operand `index` of `op` is `axis`.

        All of a flattened tensor counts as the axis's when one of its dimensions was.
        """
        value = op.operands[index]
        reshape = self.flattened.get(value)
        if reshape is not None:
            return 0 if axis in self.of_use(reshape, 0) else None
        found = self.of_use(op, index)
        return found.index(axis) if axis in found else None

    def result_dimension(self, value: Value, axis: Key) -> int | None:
        """Return which dimension of an op's result or a block argument is `axis`."""
        reshape = self.flattened.get(value)
        if reshape is not None:
            return 0 if axis in self.of_use(reshape, 0) else None
        found = self.of_value(value)
        return found.index(axis) if axis in found else None

    def _use(self, op: Operation, index: int) -> list[Key]:
        value = op.operands[index]
        rank = len(shape_of(value))
        if is_source(value):
            return [(op, index, i) for i in range(rank)]
        return [(value, i) for i in range(rank)]

    def _result(self, value: Value) -> list[Key]:
        return [(value, i) for i in range(len(shape_of(value)))]

    def _root(self, key: Key) -> Key:
        path = []
        while key in self._parents:
            path.append(key)
            key = self._parents[key]
        for passed in path:
            self._parents[passed] = key
        return key

    def _join(self, left: Key, right: Key) -> None:
        first, second = self._root(left), self._root(right)
        if first != second:
            self._parents[first] = second

    def _join_all(self, left: list[Key], right: list[Key]) -> None:
        for one, other in zip(left, right, strict=True):
            self._join(one, other)

    def _measure(self, op: Operation) -> None:
        """Note the extents of the axes of `op`, and tensors with two dimensions on one axis."""
        values = [(self.of_use(op, i), value) for i, value in enumerate(op.operands)]
        if op.name not in SOURCES:
            values += [(self.of_value(value), value) for value in op.results]
        for axes, value in values:
            for axis, size in zip(axes, shape_of(value), strict=True):
                if self.extents.setdefault(axis, size) != size:
                    self.flaws.setdefault(axis, Flaw(op, "tensors of several sizes meet"))
                if axes.count(axis) > 1:
                    self.flaws.setdefault(axis, Flaw(op, "two dimensions of a tensor depend on it"))

    def _forbid(self, op: Operation, keys: list[Key], reason: str) -> None:
        self._flawed += [(key, Flaw(op, reason)) for key in keys]

    def _visit(self, op: Operation) -> None:
        name = op.name
        handler = _HANDLERS.get(name)
        if handler is not None:
            handler(self, op)
        elif name in ELEMENTWISE or (name.startswith(("arith.", "math.")) and name not in SOURCES):
            self._elementwise(op)
        elif name not in SOURCES:
            self._refuse(op, f"'{name}' needs the whole of it")

    def _refuse(self, op: Operation, reason: str) -> None:
        for index in range(len(op.operands)):
            self._forbid(op, self._use(op, index), reason)
        for result in op.results:
            self._forbid(op, self._result(result), reason)
        self._forbid_arguments(op, reason)

    def _forbid_arguments(self, op: Operation, reason: str) -> None:
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    self._forbid(op, self._result(argument), reason)

    def _elementwise(self, op: Operation) -> None:
        groups = [self._use(op, i) for i in range(len(op.operands))]
        groups += [self._result(result) for result in op.results]
        tensors = [group for group in groups if group]
        if any(len(group) != len(tensors[0]) for group in tensors):
            self._refuse(op, "operands of several ranks")
            return
        for other in tensors[1:]:
            self._join_all(tensors[0], other)

    def _expand_dims(self, op: Operation) -> None:
        result = self._result(op.results[0])
        del result[op.attributes["axis"].value]
        self._join_all(self._use(op, 0), result)

    def _broadcast(self, op: Operation) -> None:
        result, before = op.results[0], shape_of(op.operands[0])
        pairs = zip(self._use(op, 0), self._result(result), before, shape_of(result), strict=True)
        for one, other, size, wanted in pairs:
            if size == wanted:
                self._join(one, other)

    def _transpose(self, op: Operation) -> None:
        operand = self._use(op, 0)
        order = list(op.attributes["order"])
        self._join_all([operand[i] for i in order], self._result(op.results[0]))

    def _dot(self, op: Operation) -> None:
        left, right, total = (self._use(op, i) for i in range(3))
        self._join_all(total, self._result(op.results[0]))
        if len(op.operands) != 3:
            self._refuse(op, f"'{op.name}' needs the whole of it")
            return
        for one, other in zip(left[:-2], right[:-2], strict=True):  # batches
            self._join(one, other)
        self._join_all(left[:-1], total[:-1])
        self._join(right[-1], total[-1])
        self._join(left[-1], right[-2])
        self._depth.append((left[-1], op))
        if self._depth_is_flaw:
            self._forbid(op, [left[-1]], "it is the depth of a matrix product")

    def _reduce(self, op: Operation) -> None:
        axis = op.attributes["axis"].value
        operands = [self._use(op, i) for i in range(len(op.operands))]
        for other in operands[1:]:
            self._join_all(operands[0], other)
        self._reduced.append((operands[0][axis], op))
        kept = operands[0][:axis] + operands[0][axis + 1 :]
        for result in op.results:
            if kept:
                self._join_all(kept, self._result(result))

    def _scan(self, op: Operation) -> None:
        axis = op.attributes["axis"].value
        operands = [self._use(op, i) for i in range(len(op.operands))]
        operands += [self._result(result) for result in op.results]
        for other in operands[1:]:
            self._join_all(operands[0], other)
        self._forbid(op, [operands[0][axis]], "it is scanned")

    def _reshape(self, op: Operation) -> None:
        result = op.results[0]
        before, after = shape_of(op.operands[0]), shape_of(result)
        operand, outcome = self._use(op, 0), self._result(result)
        if [n for n in before if n != 1] == [n for n in after if n != 1]:
            wide = [key for key, n in zip(operand, before, strict=True) if n != 1]
            self._join_all(wide, [k for k, n in zip(outcome, after, strict=True) if n != 1])
            return
        users = [use.owner for use in result.uses]
        if len(after) == 1 and all(user.name == "tt.reduce" for user in users):
            self.flattened[result] = op
            self._forbid(op, outcome, "it is the flattened form of a tensor")
            for user in users:
                self._reduced += [(key, user) for key in operand]
        else:
            self._refuse(op, "the tensor is reshaped")

    def _for(self, op: Operation) -> None:
        body = op.regions[0].blocks[0]
        last = body.operations[len(body.operations) - 1].operation
        for i, result in enumerate(op.results):
            keys = self._result(result)
            self._join_all(keys, self._use(op, 3 + i))
            self._join_all(keys, self._result(body.arguments[1 + i]))
            self._join_all(keys, self._use(last, i))

    def _if(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                last = block.operations[len(block.operations) - 1].operation
                for i, result in enumerate(op.results):
                    self._join_all(self._result(result), self._use(last, i))

    def _nothing(self, op: Operation) -> None:
        """The op relates no dimensions: its parent does, or it has no tensors."""


_HANDLERS = {
    "tt.expand_dims": TensorAxes._expand_dims,
    "tt.broadcast": TensorAxes._broadcast,
    "tt.trans": TensorAxes._transpose,
    "tt.dot": TensorAxes._dot,
    "tt.reduce": TensorAxes._reduce,
    "tt.scan": TensorAxes._scan,
    "tt.reshape": TensorAxes._reshape,
    "scf.for": TensorAxes._for,
    "scf.if": TensorAxes._if,
    "scf.yield": TensorAxes._nothing,
    "tt.reduce.return": TensorAxes._nothing,
    "tt.scan.return": TensorAxes._nothing,
}
