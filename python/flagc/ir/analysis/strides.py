"""How far apart in memory the neighbours along a tensor's last dimension lie."""

from __future__ import annotations

from flagc.ir.analysis.signs import integer_constant
from flagc.ir.module import Value, defining_op
from flagc.ir.types import TensorType

_DEPTH = 32


def last_stride(value: Value, depth: int = _DEPTH) -> int | None:
    """Return by how much an index grows from one place along the last dimension to the next.

    For pointers the unit is their element. None when it is not one known number.
    """
    op = defining_op(value)
    tensor = TensorType.of(value)
    if tensor is None or integer_constant(value) is not None:
        return 0
    if op is None or depth == 0:
        return None
    operands = list(op.operands)
    if op.name == "tt.make_range":
        return 1
    if op.name == "tt.splat":
        return 0
    if op.name == "arith.extsi":
        return last_stride(operands[0], depth - 1)
    if op.name == "tt.broadcast":
        source = TensorType.of(operands[0])
        assert source is not None
        is_repeated = source.shape[-1] != tensor.shape[-1]
        return 0 if is_repeated else last_stride(operands[0], depth - 1)
    if op.name == "tt.expand_dims":
        is_last = int(op.attributes["axis"].value) == len(tensor.shape) - 1
        return 0 if is_last else last_stride(operands[0], depth - 1)
    if op.name not in ("tt.addptr", "arith.addi", "arith.subi", "arith.muli"):
        return None
    left, right = (last_stride(operand, depth - 1) for operand in operands)
    if left is None or right is None:
        return None
    if op.name == "arith.subi":
        return left - right
    if op.name == "arith.muli":
        return _product(left, right, operands)
    return left + right


def _product(left: int, right: int, operands: list[Value]) -> int | None:
    numbers = [integer_constant(operand) for operand in operands]
    if numbers[1] is not None:
        return left * numbers[1]
    if numbers[0] is not None:
        return right * numbers[0]
    return 0 if left == right == 0 else None
