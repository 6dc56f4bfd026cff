"""Build expressions: a cursor that creates ops one after the other and hands back their results.

build = Builder(module, before=op)
rows = build.muli(row_tile, build.constant(128, "i32"))
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from flagc.ir.module import AttributeLike, Module, Operation, Value
from flagc.ir.types import TensorType, element_of, is_float

# arith.cmpi's predicates.
_INTEGER_PREDICATES = {
    name: number
    for number, name in enumerate(
        ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
    )
}
# arith.cmpf's predicates.
_FLOAT_PREDICATES = {
    name: number
    for number, name in enumerate(
        ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
         "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")
    )
}  # fmt: skip


class Builder:
    """Creates ops in program order right before `before`, at its source location."""

    def __init__(self, module: Module, before: Operation) -> None:
        self._module = module
        self._before = before

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        result: Any,
        attributes: Mapping[str, AttributeLike] | None = None,
    ) -> Value:
        """Create an op with one result of type `result` (a type or its text)."""
        created = self._module.create(name, operands, [result], attributes, before=self._before)
        return created.results[0]

    def constant(self, value: int | float | bool | str, type_or_text: Any) -> Value:
        """Create the constant `value` of a scalar type, or a tensor filled with it.

        A str is taken as MLIR spells the number, `0x7FC00000` for instance.
        """
        type_text = str(type_or_text)
        number = _number(value, element_of(type_text))
        if TensorType.of(type_text) is not None:
            number = f"dense<{number}>"
        # MLIR's text for an i1 is `true`, without a type.
        attribute = number if type_text == "i1" else f"{number} : {type_text}"
        return self.op("arith.constant", [], type_text, {"value": attribute})

    def zero(self, type_or_text: Any) -> Value:
        """Create zero of any type: a number, a null pointer, or a tensor of either."""
        type_text = str(type_or_text)
        if not element_of(type_text).startswith("!tt.ptr"):
            return self.constant(0, type_text)
        tensor = TensorType.of(type_text)
        address = tensor.with_element("i64").text() if tensor is not None else "i64"
        return self.op("tt.int_to_ptr", [self.constant(0, address)], type_text)

    def binary(self, name: str, left: Value, right: Value) -> Value:
        """Create an op of two operands and a result of one type, `arith.addi` for instance."""
        return self.op(name, [left, right], left.type)

    def unary(self, name: str, operand: Value) -> Value:
        """Create an op of one operand and a result of the same type."""
        return self.op(name, [operand], operand.type)

    def addi(self, left: Value, right: Value) -> Value:
        """Create `left + right`."""
        return self.binary("arith.addi", left, right)

    def subi(self, left: Value, right: Value) -> Value:
        """Create `left - right`."""
        return self.binary("arith.subi", left, right)

    def muli(self, left: Value, right: Value) -> Value:
        """Create `left * right`."""
        return self.binary("arith.muli", left, right)

    def divsi(self, left: Value, right: Value) -> Value:
        """Create the signed quotient, rounded towards zero."""
        return self.binary("arith.divsi", left, right)

    def remsi(self, left: Value, right: Value) -> Value:
        """Create the signed remainder."""
        return self.binary("arith.remsi", left, right)

    def andi(self, left: Value, right: Value) -> Value:
        """Create `left & right`."""
        return self.binary("arith.andi", left, right)

    def cmpi(self, predicate: str, left: Value, right: Value) -> Value:
        """Compare integers; `predicate` as MLIR spells it, `slt`."""
        number = self._module.integer(_INTEGER_PREDICATES[predicate], 64)
        return self.op("arith.cmpi", [left, right], _bools(left), {"predicate": number})

    def cmpf(self, predicate: str, left: Value, right: Value) -> Value:
        """Compare floating-point numbers; `predicate` as MLIR spells it, `olt`."""
        number = self._module.integer(_FLOAT_PREDICATES[predicate], 64)
        return self.op("arith.cmpf", [left, right], _bools(left), {"predicate": number})

    def select(self, condition: Value, if_true: Value, if_false: Value) -> Value:
        """Create `condition ? if_true : if_false`."""
        return self.op("arith.select", [condition, if_true, if_false], if_true.type)


def _bools(like: Value) -> str:
    tensor = TensorType.of(like)
    return tensor.with_element("i1").text() if tensor is not None else "i1"


def _number(value: int | float | bool | str, element: str) -> str:
    if isinstance(value, str):
        return value
    if element == "i1":
        return "true" if value else "false"
    if not is_float(element):
        return str(int(value))
    if math.isfinite(value):
        return f"{value:.17e}"
    # Infinities and NaN are written as their bits.
    exponent, fraction = _FORMATS[element]
    sign = 1 if value < 0 else 0
    bits = ((sign << exponent) + (1 << exponent) - 1 << fraction) + (
        1 << (fraction - 1) if math.isnan(value) else 0
    )
    return f"0x{bits:0{(1 + exponent + fraction) // 4}X}"


# Bits of exponent and fraction, for the formats that have infinities.
_FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52), "f8E5M2": (5, 2)}
