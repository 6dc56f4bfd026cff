"""Give each user of an index vector its own copy.

`tl.arange(0, 128)` plus an offset is often one value for the rows and the columns of a tile, as
equal expressions are merged. For `TensorAxes` rows and columns then are one axis.
"""

from __future__ import annotations

from flagc.ir.analysis.tensor_axes import is_source, nested_ops, shape_of
from flagc.ir.module import Module, Operation, Value

# Copies that are made at most.
_LIMIT = 500


class UnsharedIndices:
    """Copies of a function's index vectors, one for each use; `undo` takes them back."""

    def __init__(self, module: Module, function: Operation) -> None:
        self._moved: list[tuple[Operation, int, Value, Operation]] = []
        indices = [op for op in _indices(function) if op.results]
        for op in reversed(indices):
            for use in list(op.results[0].uses)[1:]:
                if len(self._moved) < _LIMIT:
                    self._copy(module, op, use.owner, use.operand_number)

    def __bool__(self) -> bool:
        return bool(self._moved)

    def undo(self) -> None:
        """Let all users use the original again, as long as nothing else was changed."""
        for user, number, original, copy in reversed(self._moved):
            user.operands[number] = original
            copy.erase()
        self._moved.clear()

    def _copy(self, module: Module, op: Operation, user: Operation, number: int) -> None:
        attributes = {name: op.attributes[name] for name in op.attributes}
        copy = module.create(op.name, list(op.operands), [op.results[0].type], attributes, after=op)
        user = getattr(user, "operation", user)
        user.operands[number] = copy.results[0]
        self._moved.append((user, number, op.results[0], copy))


def _indices(function: Operation) -> list[Operation]:
    """Return the ops that compute vectors from ranges, splats and constants alone, in order."""
    found: list[Operation] = []
    values: set[Value] = set()
    for op in nested_ops(function):
        if not op.name.startswith("arith.") or len(op.results) != 1 or not len(op.operands):
            continue
        result = op.results[0]
        inputs = [value for value in op.operands if shape_of(value)]
        if len(shape_of(result)) == 1 and all(is_source(v) or v in values for v in inputs):
            found.append(op)
            values.add(result)
    return found
