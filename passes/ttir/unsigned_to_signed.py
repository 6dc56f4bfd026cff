"""Compute unsigned comparisons, quotients, remainders and extrema with signed ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flagc.ir.analysis.signs import cannot_be_negative
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value
from flagc.ir.types import TensorType, element_bits, element_of
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_COMPARISONS = {6: "slt", 7: "sle", 8: "sgt", 9: "sge"}


@register
@dataclass(frozen=True)
class UnsignedToSigned(Pass):
    """Replace unsigned `arith` ops by signed ones with the same result for every input.

    Handled are `cmpi ult/ule/ugt/uge`, `divui`, `remui`, `maxui` and `minui` of any width, and
    `uitofp` and `fptoui` of 16 and 32 bits; scalars and tensors, wrapping arithmetic included
    (random numbers, hashes):

        a <u b   is  (a ^ sign bit) <s (b ^ sign bit), or a <s b when neither can be negative
        a /u b   is  a /s b when neither can be negative; up to 32 bits, a wider signed quotient;
                 of 64 bits, twice the signed quotient of half of `a`, corrected by one

    `bishengir-compile` aborts on most of these ops ("unsupported hfusion::CompareFn", "unsupported
    hfusion binary operation kind"). Unsigned shifts and extensions it knows; they stay.
    """

    name = "unsigned-to-signed"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite each unsigned op."""
        for op in module.walk("arith.cmpi", "arith.uitofp", "arith.fptoui", *_ARITHMETIC):
            result = _signed(Builder(module, before=op), op)
            if result is not None:
                module.replace(op, [result])
                context.statistic("ops made signed")


def _signed(build: Builder, op: Operation) -> Value | None:
    """Return what `op` computes, computed with signed ops; None for an op that may stay."""
    if op.name == "arith.cmpi":
        predicate = _COMPARISONS.get(op.attributes["predicate"].value)
        return compare(build, predicate, *op.operands) if predicate is not None else None
    if op.name == "arith.uitofp":
        return _to_float(build, op.operands[0], op.results[0].type)
    if op.name == "arith.fptoui":
        return _from_float(build, op.operands[0], op.results[0])
    return _ARITHMETIC[op.name](build, *op.operands)


def compare(build: Builder, predicate: str, left: Value, right: Value) -> Value:
    """Compare as unsigned; `predicate` is the signed one of the same direction, `slt`."""
    if cannot_be_negative(left) and cannot_be_negative(right):
        return build.cmpi(predicate, left, right)
    return build.cmpi(predicate, _flip_sign(build, left), _flip_sign(build, right))


def _flip_sign(build: Builder, value: Value) -> Value:
    width = _width(value)
    # The only non-zero i1 is its own sign bit.
    sign = True if width == 1 else -(2 ** (width - 1))
    return build.binary("arith.xori", value, build.constant(sign, value.type))


def _maximum(build: Builder, left: Value, right: Value) -> Value:
    return build.select(compare(build, "sgt", left, right), left, right)


def _minimum(build: Builder, left: Value, right: Value) -> Value:
    return build.select(compare(build, "slt", left, right), left, right)


def _quotient(build: Builder, left: Value, right: Value) -> Value:
    if cannot_be_negative(left) and cannot_be_negative(right):
        return build.divsi(left, right)
    if _width(left) <= 32:
        return _widened(build, "arith.divsi", left, right)
    return _long_division(build, left, right)[0]


def _remainder(build: Builder, left: Value, right: Value) -> Value:
    if cannot_be_negative(left) and cannot_be_negative(right):
        return build.remsi(left, right)
    if _width(left) <= 32:
        return _widened(build, "arith.remsi", left, right)
    return _long_division(build, left, right)[1]


def _widened(build: Builder, op_name: str, left: Value, right: Value) -> Value:
    wide = _with_element(left, "i64" if _width(left) == 32 else "i32")
    operands = [build.op("arith.extui", [value], wide) for value in (left, right)]
    return build.op("arith.trunci", [build.binary(op_name, *operands)], left.type)


def _to_float(build: Builder, value: Value, result: Any) -> Value | None:
    if _width(value) > 8 and cannot_be_negative(value):
        return build.op("arith.sitofp", [value], result)
    if _width(value) not in (16, 32):
        return None
    wide = _with_element(value, "i64" if _width(value) == 32 else "i32")
    return build.op("arith.sitofp", [build.op("arith.extui", [value], wide)], result)


def _from_float(build: Builder, value: Value, old: Value) -> Value | None:
    if _width(old) not in (16, 32):
        return None
    wide = _with_element(value, "i64" if _width(old) == 32 else "i32")
    return build.op("arith.trunci", [build.op("arith.fptosi", [value], wide)], old.type)


def _long_division(build: Builder, left: Value, right: Value) -> tuple[Value, Value]:
    """Return quotient and remainder for the widest integers.

    A divisor with its sign bit set goes at most once into anything. For others, half of `left` is
    no longer negative; twice its quotient misses the true one by at most 1 (Hacker's Delight, 9-3).
    """
    zero, one = (build.constant(number, left.type) for number in (0, 1))
    is_huge = build.cmpi("slt", right, zero)
    divisor = build.select(is_huge, one, right)
    half = build.divsi(build.binary("arith.shrui", left, one), divisor)
    estimate = build.select(is_huge, zero, build.binary("arith.shli", half, one))
    rest = build.subi(left, build.muli(estimate, right))
    is_short = compare(build, "sge", rest, right)
    quotient = build.select(is_short, build.addi(estimate, one), estimate)
    return quotient, build.select(is_short, build.subi(rest, right), rest)


_ARITHMETIC: dict[str, Callable[[Builder, Value, Value], Value]] = {
    "arith.divui": _quotient,
    "arith.remui": _remainder,
    "arith.maxui": _maximum,
    "arith.minui": _minimum,
}


def _width(value: Value) -> int:
    return element_bits(element_of(value))


def _with_element(value: Value, element: str) -> str:
    tensor = TensorType.of(value)
    return tensor.with_element(element).text() if tensor is not None else element
