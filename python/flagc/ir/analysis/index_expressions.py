"""Tensor indices as functions of the position along one dimension.

`%rows[:, None]`, broadcast over the columns and compared with a size, is still the expression
`tile * 128 + position`. `along` returns such an expression in a form that compares equal for
equal functions, whatever the shapes on the way:

    along(value, 0)      # of the position along dimension 0, or None if other dimensions matter
    along(value, None)   # of no position: the tensor holds one number

Index arithmetic is taken not to overflow, so a sign extension is no part of the expression.
"""

from __future__ import annotations

from flagc.ir.analysis.signs import integer_constant
from flagc.ir.module import Value, defining_op
from flagc.ir.types import TensorType

Key = tuple[object, ...]
_COMMUTATIVE = frozenset({"arith.addi", "arith.muli", "arith.minsi", "arith.maxsi"})
_OTHERS = frozenset({"arith.subi", "arith.divsi", "arith.remsi"})
_POSITIVE_DIVISOR = frozenset({"arith.divsi", "arith.remsi"})
_ALL_OPERANDS = frozenset({"arith.addi", "arith.muli", "arith.minsi"})
_SHAPES = frozenset({"tt.splat", "tt.expand_dims", "tt.broadcast", "arith.extsi"})
_DEPTH = 24


def along(value: Value, dim: int | None) -> Key | None:
    """Return what `value` is as a function of the position along `dim`, or None."""
    tensor = TensorType.of(value)
    number = integer_constant(value)
    if number is not None:
        return ("constant", number)
    op = defining_op(value)
    if op is not None and op.name in _COMMUTATIVE | _OTHERS:
        keys = [along(operand, dim) for operand in op.operands]
        return None if None in keys else _combined(op.name, keys)
    if op is not None and op.name == "arith.extsi":
        return along(op.operands[0], dim)
    if tensor is None:
        return ("value", value)
    if op is not None and op.name == "tt.splat":
        return along(op.operands[0], None)
    if op is not None and op.name == "tt.broadcast":
        return _along_broadcast(op.operands[0], tensor, dim)
    if op is not None and op.name == "tt.expand_dims":
        axis = int(op.attributes["axis"].value)
        inner = None if dim is None or dim == axis else dim - (axis < dim)
        return along(op.operands[0], inner)
    if dim is None or len(tensor.shape) != 1:
        return None
    if op is not None and op.name == "tt.make_range":
        return ("range", int(op.attributes["start"].value))
    return ("value", value)


def _along_broadcast(source: Value, result: TensorType, dim: int | None) -> Key | None:
    before = TensorType.of(source)
    assert before is not None
    repeated = dim is not None and before.shape[dim] != result.shape[dim]
    return along(source, None if repeated else dim)


def _combined(name: str, keys: list[Key | None]) -> Key:
    """Join the keys of an op's operands; sums and products in any order are one."""
    parts: list[object] = list(keys)
    if name not in _COMMUTATIVE:
        return (name, *parts)
    flat: list[object] = []
    for key in keys:
        assert key is not None
        flat += key[1:] if key[0] == name else [key]
    return (name, *sorted(flat, key=_order))


def _order(part: object) -> tuple[str, int]:
    """Order keys alike in every expression of one run."""
    return (str(type(part)), hash(part))


def is_position(value: Value, depth: int = _DEPTH) -> bool:
    """Return whether an index cannot be negative, if its divisors are sizes.

    Assumed are that index arithmetic does not overflow, and that what a kernel divides by (the
    number of tiles in a row, the rows of a group) is positive; so are kernel arguments that some
    index is divided by or taken modulo.
    """
    number = integer_constant(value)
    if number is not None:
        return number >= 0
    op = defining_op(value)
    if depth == 0:
        return False
    if op is None:
        return _is_size(value) or _is_counter(value, depth)
    if op.name in ("tt.get_program_id", "tt.get_num_programs", "arith.extui"):
        return True
    if op.name == "tt.make_range":
        return int(op.attributes["start"].value) >= 0
    if op.name in _SHAPES or op.name in _POSITIVE_DIVISOR:
        return is_position(op.operands[0], depth - 1)
    if op.name == "arith.maxsi":
        return any(is_position(operand, depth - 1) for operand in op.operands)
    if op.name in _ALL_OPERANDS:
        return all(is_position(operand, depth - 1) for operand in op.operands)
    return False


def _is_size(argument: Value) -> bool:
    """Return whether `argument` is a kernel's and divides something, maybe widened or repeated."""
    return argument.owner.owner.name == "tt.func" and _divides(argument, 3)


def _divides(value: Value, depth: int) -> bool:
    for use in value.uses:
        user = use.owner.operation
        if user.name in _POSITIVE_DIVISOR and use.operand_number == 1:
            return True
        if (
            user.name in ("tt.splat", "arith.extsi")
            and depth
            and _divides(user.results[0], depth - 1)
        ):
            return True
    return False


def _is_counter(argument: Value, depth: int) -> bool:
    """Return whether `argument` counts a loop that starts at a position (steps are positive)."""
    loop = argument.owner.owner
    if loop.name != "scf.for" or argument.arg_number != 0:
        return False
    return is_position(loop.operation.operands[0], depth - 1)
