"""What the pure ops of TTIR compute, on numpy values of the IR's own types."""

import math

import numpy as np

from flagc.ir.types import TensorType, element_bits, element_of

DTYPES = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def dtype_of(type_or_text):
    """Return the numpy type of a scalar type's, or of a tensor's element; pointers are i64."""
    element = element_of(str(type_or_text))
    return np.dtype(np.int64 if element.startswith("!tt.ptr") else DTYPES[element])


def evaluate(op, inputs):
    """Return the only result of a pure op."""
    if op.name in _SHAPED:
        return _SHAPED[op.name](op, *inputs)
    if op.name in _UNARY:
        return _UNARY[op.name](inputs[0]).astype(inputs[0].dtype)
    if op.name in _CASTS:
        return _CASTS[op.name](inputs[0], op)
    return _BINARY[op.name](*inputs)


def _unsigned(value):
    return value if value.dtype == np.bool_ else value.view(f"u{value.dtype.itemsize}")


def _on_unsigned(function):
    def apply(left, right):
        return function(_unsigned(left), _unsigned(right)).view(left.dtype)

    return apply


def _quotient(left, right):
    """Divide towards zero; by zero gives anything."""
    right = np.where(right == 0, np.ones_like(right), right)
    quotient = np.floor_divide(left, right)
    inexact = quotient * right != left
    return np.asarray(quotient + (inexact & ((left < 0) != (right < 0))), left.dtype)


def _remainder(left, right):
    return np.asarray(left - _quotient(left, right) * right, left.dtype)


def _shift(function):
    return lambda left, right: function(left, right).astype(left.dtype)


_BINARY = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply,
    "arith.divf": np.divide, "arith.remf": np.fmod,
    "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
    "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor,
    "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.maxui": _on_unsigned(np.maximum), "arith.minui": _on_unsigned(np.minimum),
    "arith.divsi": _quotient, "arith.remsi": _remainder,
    "arith.divui": _on_unsigned(np.floor_divide), "arith.remui": _on_unsigned(np.remainder),
    "arith.shli": _shift(np.left_shift), "arith.shrsi": _shift(np.right_shift),
    "arith.shrui": _on_unsigned(np.right_shift), "math.powf": np.power,
}  # fmt: skip
_UNARY = {
    "arith.negf": np.negative, "math.absf": np.abs, "math.absi": np.abs,
    "math.floor": np.floor, "math.ceil": np.ceil, "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.erf": np.vectorize(math.erf),
    **{f"math.{name}": getattr(np, name) for name in (
        "exp", "exp2", "log", "log2", "sqrt", "sin", "cos", "tanh", "trunc",
    )},
}  # fmt: skip


def _to_result(value, op):
    return value.astype(dtype_of(op.results[0].type))


_CASTS = {
    **dict.fromkeys(
        ("arith.extsi", "arith.trunci", "arith.extf", "arith.truncf", "arith.sitofp",
         "arith.fptosi"),
        _to_result,
    ),
    **dict.fromkeys(
        ("arith.extui", "arith.uitofp"), lambda value, op: _to_result(_unsigned(value), op)
    ),
    "arith.fptoui": lambda value, op: value.astype(np.int64).astype(dtype_of(op.results[0].type)),
    "tt.bitcast": lambda value, op: value.view(dtype_of(op.results[0].type)),
    "tt.ptr_to_int": _to_result,
    "tt.int_to_ptr": _to_result,
}  # fmt: skip

_INTEGER_COMPARISONS = (
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.less, np.less_equal, np.greater, np.greater_equal,
)  # fmt: skip
_ORDERED = (None, np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal)


def _compare_integers(op, left, right):
    predicate = op.attributes["predicate"].value
    if predicate >= 6:
        left, right = _unsigned(left), _unsigned(right)
    elif left.dtype == np.bool_:
        left, right = -left.astype(np.int8), -right.astype(np.int8)
    return np.asarray(_INTEGER_COMPARISONS[predicate](left, right))


def _compare_floats(op, left, right):
    predicate = op.attributes["predicate"].value
    unordered = np.isnan(left) | np.isnan(right)
    if predicate in (0, 15):
        return np.full(left.shape, predicate == 15)
    if predicate in (7, 14):
        return np.asarray(~unordered if predicate == 7 else unordered)
    if predicate < 7:
        return np.asarray(_ORDERED[predicate](left, right) & ~unordered)
    return np.asarray(_ORDERED[predicate - 7](left, right) | unordered)


def _constant(op):
    attribute = op.attributes["value"]
    tensor = TensorType.of(op.results[0])
    dtype = dtype_of(op.results[0].type)
    if tensor is None:
        return np.asarray(attribute.value, dtype)
    return np.full(tensor.shape, attribute.get_splat_value().value, dtype)


def _shape(op):
    return TensorType.of(op.results[0]).shape


def _high_half(op, left, right):
    bits = element_bits(element_of(op.results[0]))
    wide = _unsigned(left).astype(object) * _unsigned(right).astype(object) >> bits
    return np.asarray(wide, f"u{bits // 8}").view(left.dtype)


_SHAPED = {
    "arith.constant": _constant,
    "arith.cmpi": _compare_integers,
    "arith.cmpf": _compare_floats,
    "arith.select": lambda _, *inputs: np.where(*inputs),
    "tt.splat": lambda op, value: np.full(_shape(op), value, value.dtype),
    "tt.unsplat": lambda _, value: value.reshape(()),
    "tt.broadcast": lambda op, value: np.broadcast_to(value, _shape(op)),
    "tt.expand_dims": lambda op, value: np.expand_dims(value, op.attributes["axis"].value),
    "tt.reshape": lambda op, value: value.reshape(_shape(op)),
    "tt.trans": lambda op, value: np.transpose(value, list(op.attributes["order"])),
    "tt.join": lambda _, left, right: np.stack([left, right], -1),
    "tt.make_range": lambda op: np.arange(
        op.attributes["start"].value, op.attributes["end"].value, dtype=np.int32
    ),
    "tt.dot": lambda _, left, right, total: total + np.matmul(left, right, dtype=total.dtype),
    "tt.mulhiui": _high_half,
    "math.fma": lambda _, a, b, c: (a.astype("f8") * b + c).astype(a.dtype),
}
