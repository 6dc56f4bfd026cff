"""What is done to a sum of products between the Cube and the store: bias, ReLU, rounding."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.accesses import Refused
from flagc.ir.analysis.signs import is_zero
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.types import TensorType

# Predicates of arith.cmpf: x > 0 and x >= 0.
_ABOVE = frozenset({2, 3})
_MAXIMA = frozenset({"arith.maxnumf", "arith.maximumf"})
_SUMS = frozenset({"arith.addf", "arith.addi"})
_ROUNDED = frozenset({"f16", "bf16"})
_NEAREST_EVEN = 1  # RoundingMode of tt.fp_to_fp
_REPEATS = frozenset({"tt.broadcast", "tt.expand_dims", "tt.reshape", "arith.extf"})


@dataclass(frozen=True)
class Epilogue:
    """`cast(relu(sum + bias))`, of which each part but the sum may be missing.

    Attributes:
        sum: the `staged.read_accumulator`.
        bias: the load of one row that is added to every row.
    """

    sum: Operation
    relu: bool = False
    bias: Operation | None = None


def epilogue(value: Value, store: Operation) -> Epilogue | Refused:
    """Return what `value`, which `store` stores, is of a sum; or the op that is no part of that."""
    relu = False
    bias: Operation | None = None
    seen_bias = False
    while True:
        op = defining_op(value)
        if op is None:
            return Refused(store, store, "what is stored is no sum of matrix products")
        if op.name == "staged.read_accumulator":
            return Epilogue(op, relu, bias)
        inner = None if seen_bias else _rounded(op)
        if inner is None and not seen_bias and (inner := _relu(op)) is not None:
            relu = True
        if inner is None and not seen_bias and (found := _biased(op)) is not None:
            inner, bias = found
            seen_bias = True
        if inner is None:
            return Refused(op, op, _reason(op))
        value = inner


def _reason(op: Operation) -> str:
    if op.name in ("tt.load", "tt.descriptor_load"):
        return "what is stored is loaded, and no sum of matrix products"
    return (
        "between the Cube and the store there is a bias, ReLU and a rounding in this order at "
        f"most; '{op.name}' is no part of that"
    )


def _rounded(op: Operation) -> Value | None:
    """Return what is rounded to 16 bits, if `op` does that."""
    tensors = [TensorType.of(value) for value in (*op.operands, *op.results)]
    if op.name not in ("arith.truncf", "tt.fp_to_fp") or None in tensors:
        return None
    before, after = (tensor.element for tensor in tensors if tensor is not None)
    rounding = op.attributes["rounding"].value if "rounding" in op.attributes else _NEAREST_EVEN
    is_plain = before == "f32" and after in _ROUNDED and rounding == _NEAREST_EVEN
    return op.operands[0] if is_plain else None


def _relu(op: Operation) -> Value | None:
    """Return x of max(x, 0), however it is written."""
    if op.name in _MAXIMA:
        left, right = op.operands
        if is_zero(right):
            return left
        return right if is_zero(left) else None
    if op.name == "arith.select":
        condition, kept, otherwise = op.operands
        test = defining_op(condition)
        if test is None or test.name != "arith.cmpf" or not is_zero(otherwise):
            return None
        is_above = test.attributes["predicate"].value in _ABOVE
        if is_above and test.operands[0] == kept and is_zero(test.operands[1]):
            return kept
    return None


def _biased(op: Operation) -> tuple[Value, Operation] | None:
    """Return x and the load of b of x + b, with the same row b for every row of x."""
    if op.name not in _SUMS:
        return None
    for value, other in (tuple(op.operands), tuple(op.operands)[::-1]):
        load = _row(other)
        if load is not None:
            return value, load
    return None


def _row(value: Value) -> Operation | None:
    """Return the load of a row behind a matrix all of whose rows are that row, or zeros plus it."""
    is_repeated = False
    while (op := defining_op(value)) is not None:
        if op.name in _SUMS and is_zero(op.operands[1]):
            value = op.operands[0]
            continue
        if op.name not in _REPEATS:
            break
        before, after = TensorType.of(op.operands[0]), TensorType.of(op.results[0])
        if before is None or after is None or before.shape[-1] != after.shape[-1]:
            return None
        is_repeated |= op.name == "tt.broadcast"
        value = op.operands[0]
    tensor = TensorType.of(value)
    if op is None or op.name != "tt.load" or tensor is None or not is_repeated:
        return None
    return op if all(size == 1 for size in tensor.shape[:-1]) else None
