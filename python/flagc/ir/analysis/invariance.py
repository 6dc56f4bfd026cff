"""Tensors that are the same all along one dimension, and how to compute them once.

`narrowed` rebuilds such a tensor with size 1 along that dimension:

    %p = tt.broadcast %row : tensor<1x16x...> -> tensor<4x16x...>     # narrowed: %row
    %q = tt.addptr %p, %c                                             # narrowed: addptr %row, ...
"""

from __future__ import annotations

from flagc.ir.analysis.signs import integer_constant
from flagc.ir.builder import Builder
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.types import TensorType

_ELEMENTWISE = frozenset({"tt.addptr", "tt.bitcast", "tt.int_to_ptr", "tt.ptr_to_int"})
_DEPTH = 32


def is_invariant(value: Value, dim: int, depth: int = _DEPTH) -> bool:
    """Return whether `value` is known to be the same at all positions along `dim`."""
    op = defining_op(value)
    if _shape(value)[dim] == 1 or _is_uniform(op, value):
        return True
    if op is None or depth == 0:
        return False
    if op.name == "tt.broadcast":
        source = op.operands[0]
        return _shape(source)[dim] == 1 or is_invariant(source, dim, depth - 1)
    if op.name == "tt.expand_dims":
        axis = int(op.attributes["axis"].value)
        return is_invariant(op.operands[0], dim - (axis < dim), depth - 1)
    if _is_elementwise(op):
        return all(is_invariant(operand, dim, depth - 1) for operand in op.operands)
    return False


def narrowed(build: Builder, value: Value, dim: int) -> Value:
    """Return `value`, which must be invariant along `dim`, with size 1 there."""
    shape = _shape(value)
    if shape[dim] == 1:
        return value
    op = defining_op(value)
    assert op is not None
    kind = _with_size_one(value, dim)
    attributes = {name: op.attributes[name] for name in op.attributes}
    number = integer_constant(value)
    if op.name == "arith.constant":
        number = op.attributes["value"].get_splat_value().value if number is None else number
        return build.constant(number, kind)
    if op.name == "tt.splat":
        return build.op("tt.splat", [op.operands[0]], kind)
    if op.name == "tt.broadcast":
        source = op.operands[0]
        if _shape(source)[dim] != 1:
            source = narrowed(build, source, dim)
        return source if str(source.type) == kind else build.op("tt.broadcast", [source], kind)
    if op.name == "tt.expand_dims":
        axis = int(op.attributes["axis"].value)
        inner = narrowed(build, op.operands[0], dim - (axis < dim))
        return build.op("tt.expand_dims", [inner], kind, attributes)
    operands = [narrowed(build, operand, dim) for operand in op.operands]
    return build.op(op.name, operands, kind, attributes)


def _is_uniform(op: Operation | None, value: Value) -> bool:
    if op is None:
        return False
    if op.name == "arith.constant":
        return bool(getattr(op.attributes["value"], "is_splat", False))
    return op.name == "tt.splat"


def _is_elementwise(op: Operation) -> bool:
    if len(op.results) != 1 or not (op.name in _ELEMENTWISE or op.name.startswith("arith.")):
        return False
    # A select may choose by a scalar.
    return all(_shape(operand) == _shape(op.results[0]) for operand in op.operands)


def _with_size_one(value: Value, dim: int) -> str:
    tensor = TensorType.of(value)
    assert tensor is not None
    shape = list(tensor.shape)
    shape[dim] = 1
    return TensorType(tuple(shape), tensor.element, tensor.layout).text()


def _shape(value: Value) -> tuple[int, ...]:
    tensor = TensorType.of(value)
    return tensor.shape if tensor is not None else ()
