"""Evaluate straight-line arith and math ops with numpy, in the types of the IR."""

import math

import numpy as np

from flagc.ir.module import Module
from flagc.ir.types import TensorType, element_of

TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "i1": np.bool_}

FLOAT_COMPARISONS = {
    1: np.equal,
    2: np.greater,
    3: np.greater_equal,
    4: np.less,
    5: np.less_equal,
    6: lambda a, b: (a < b) | (a > b),
    13: np.not_equal,
}
BINARY = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.subi": np.subtract,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "math.powf": np.power,
}
UNARY = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.rsqrt": lambda x: (1 / np.sqrt(x)).astype(x.dtype),
    "math.erf": lambda x: np.vectorize(math.erf)(x).astype(x.dtype),
    "math.asin": np.arcsin,
    "math.acos": np.arccos,
    "math.atan": np.arctan,
    "math.acosh": np.arccosh,
    "math.atanh": np.arctanh,
    **{f"math.{name}": getattr(np, name) for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan",
        "tanh",
    )},
}  # fmt: skip


def returned(module: Module, arguments):
    """Run the module's only function and return what its `tt.return` returns."""
    (function,) = module.functions()
    block = function.regions[0].blocks[0]
    values = dict(zip(block.arguments, arguments, strict=True))
    with np.errstate(all="ignore"):
        for op in (child.operation for child in block.operations):
            inputs = [values[operand] for operand in op.operands]
            if op.name == "tt.return":
                return inputs[0]
            result = op.results[0]
            values[result] = _evaluate(op, inputs, TYPES[element_of(result)])
            assert values[result].dtype == TYPES[element_of(result)], op.name
    raise AssertionError("no tt.return")


def _evaluate(op, inputs, dtype):
    if op.name == "arith.constant":
        attribute = op.attributes["value"]
        shape = TensorType.of(op.results[0]).shape
        return np.full(shape, attribute.get_splat_value().value, dtype)
    if op.name == "arith.cmpf":
        return FLOAT_COMPARISONS[op.attributes["predicate"].value](*inputs)
    if op.name == "arith.cmpi":
        assert op.attributes["predicate"].value == 2
        return inputs[0] < inputs[1]
    if op.name == "arith.select":
        return np.where(*inputs)
    if op.name == "tt.bitcast":
        return inputs[0].view(dtype)
    if op.name == "math.fma":
        wide = [value.astype(np.float64) for value in inputs]
        return (wide[0] * wide[1] + wide[2]).astype(dtype)
    if op.name in ("arith.extui", "arith.fptosi", "arith.sitofp"):
        return inputs[0].astype(dtype)
    return (BINARY.get(op.name) or UNARY[op.name])(*inputs)
