"""Write floating-point formulas as Python expressions that become ops.

    x = Expression(build, value)
    result = (x * x + 1.0).apply("math.sqrt").value

Numbers become constants of the operand's type. Scalars and tensors read alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from flagc.ir.builder import Builder
from flagc.ir.module import Value
from flagc.ir.types import TensorType, element_bits, element_of

Operand = Union["Expression", float]


@dataclass(frozen=True)
class Expression:
    """A value and the builder that makes ops of it."""

    build: Builder
    value: Value

    def __add__(self, other: Operand) -> Expression:
        return self._binary("arith.addf", other)

    def __sub__(self, other: Operand) -> Expression:
        return self._binary("arith.subf", other)

    def __mul__(self, other: Operand) -> Expression:
        return self._binary("arith.mulf", other)

    def __truediv__(self, other: Operand) -> Expression:
        return self._binary("arith.divf", other)

    def __neg__(self) -> Expression:
        # Exact, NaN's sign aside; Triton's lowering to TTGIR does not know arith.negf.
        return self * -1.0

    def __abs__(self) -> Expression:
        return self.apply("math.absf")

    def apply(self, op_name: str, *others: Operand) -> Expression:
        """Apply an op whose operands and result are of this type, `math.exp` for instance."""
        operands = [self.value, *(self._like(other) for other in others)]
        return Expression(self.build, self.build.op(op_name, operands, self.value.type))

    def compare(self, predicate: str, other: Operand) -> Condition:
        """Compare by a predicate of `arith.cmpf`, `olt` for instance."""
        return Condition(self.build, self.build.cmpf(predicate, self.value, self._like(other)))

    def constant(self, number: float) -> Expression:
        """Return a constant of this type."""
        return Expression(self.build, self._like(number))

    @property
    def bits(self) -> Value:
        """The value's bits, as integers of the same width."""
        return self.build.op("tt.bitcast", [self.value], self.integer_type)

    def from_bits(self, bits: Value) -> Expression:
        """Return the number of this type that has these bits."""
        return Expression(self.build, self.build.op("tt.bitcast", [bits], self.value.type))

    @property
    def integer_type(self) -> str:
        """The integer type of this type's width and shape, as text."""
        return self.with_element(f"i{self.width}")

    @property
    def width(self) -> int:
        """The element type's width in bits."""
        return element_bits(element_of(self.value))

    def with_element(self, element: str) -> str:
        """Return the type of this shape with another element type, as text."""
        tensor = TensorType.of(self.value)
        return tensor.with_element(element).text() if tensor is not None else element

    def with_sign_of(self, other: Expression) -> Expression:
        """Return this magnitude, which is not negative, with the sign bit of `other`."""
        sign = self.build.constant(-(2 ** (self.width - 1)), self.integer_type)
        signs = self.build.andi(other.bits, sign)
        return self.from_bits(self.build.binary("arith.ori", self.bits, signs))

    def _binary(self, op_name: str, other: Operand) -> Expression:
        return Expression(self.build, self.build.binary(op_name, self.value, self._like(other)))

    def _like(self, other: Operand) -> Value:
        if isinstance(other, Expression):
            return other.value
        return self.build.constant(float(other), self.value.type)


@dataclass(frozen=True)
class Condition:
    """A comparison's result."""

    build: Builder
    value: Value

    def __and__(self, other: Condition) -> Condition:
        return Condition(self.build, self.build.andi(self.value, other.value))

    def __or__(self, other: Condition) -> Condition:
        return Condition(self.build, self.build.binary("arith.ori", self.value, other.value))

    def choose(self, if_true: Expression, if_false: Expression) -> Expression:
        """Return `if_true` where the condition holds, else `if_false`."""
        return Expression(self.build, self.build.select(self.value, if_true.value, if_false.value))
