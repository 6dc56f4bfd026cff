"""Undefined bits of scalar values, computed next to the values (as memcheck does).

Next to a value `%x` stands `%"undefined x"`, an integer of as many bits: 1 where `%x` depends on
bits of memory that are undefined. Only values that can depend on such have one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flagc.aicore.llvm_text import BITS, Function, Instruction, integer, is_local, reference

CASTS = frozenset(
    [
        "trunc",
        "zext",
        "sext",
        "bitcast",
        "ptrtoint",
        "inttoptr",
        "addrspacecast",
        "fptrunc",
        "fpext",
        "fptoui",
        "fptosi",
        "uitofp",
        "sitofp",
    ]
)
DIVISIONS = frozenset(["sdiv", "udiv", "srem", "urem"])
_ARITHMETIC = frozenset(
    [
        "add",
        "sub",
        "mul",
        "and",
        "or",
        "xor",
        "shl",
        "lshr",
        "ashr",
        "fadd",
        "fsub",
        "fmul",
        "fdiv",
        "frem",
    ]
)
_FOLLOWED = (
    CASTS
    | DIVISIONS
    | _ARITHMETIC
    | {"icmp", "fcmp", "select", "phi", "freeze", "fneg", "getelementptr"}
)
# Instructions that return what a reduction left, and where its undefined bits are.
REGISTERS = {
    "hivm.GET.ACC.VAL": "hivm.UNDEFINED.ACC.VAL",
    "hivm.GET.MAX.MIN.CNT": "hivm.UNDEFINED.MAX.MIN.CNT",
}


def follows(instruction: Instruction) -> bool:
    """Whether an instruction's result gets undefined bits from its operands'."""
    if instruction.opcode == "call":
        known = instruction.called.startswith("llvm.")
    else:
        known = instruction.opcode in _FOLLOWED
    return known and instruction.type in BITS


def undefined_values(function: Function, roots: Iterable[str]) -> set[str]:
    """Names of the values that can depend on undefined bits, given the first of them."""
    found = set(roots)
    candidates = [
        (i, [o.name for o in i.operands if is_local(o)])
        for i in function.instructions
        if follows(i)
    ]
    grown = True
    while grown:
        grown = False
        for instruction, operands in candidates:
            if instruction.name not in found and any(name in found for name in operands):
                found.add(instruction.name)
                grown = True
    return found


class Rules:
    """Lines that compute the undefined bits of values of one function."""

    def __init__(self, values: set[str]) -> None:
        self.values = values
        self._count = 0

    def may_be_undefined(self, value: Any) -> bool:
        """Whether a value has undefined bits next to it."""
        return is_local(value) and value.name in self.values

    def bits(self, value: Any) -> str:
        """The operand that holds a value's undefined bits."""
        return f'%"undefined {value.name}"' if self.may_be_undefined(value) else "0"

    def temporary(self, lines: list[str], text: str) -> str:
        """Append an instruction; its result."""
        self._count += 1
        name = f'%"undefined {self._count}"'
        lines.append(f"  {name} = {text}")
        return name

    def any(self, lines: list[str], values: Iterable[Any]) -> str:
        """An i1: whether a bit of these values is undefined."""
        result = "0"
        for value in values:
            if not self.may_be_undefined(value):
                continue
            kind = f"i{BITS[str(value.type)]}"
            one = self.temporary(lines, f"icmp ne {kind} {self.bits(value)}, 0")
            result = one if result == "0" else self.temporary(lines, f"or i1 {result}, {one}")
        return result

    def result(self, instruction: Instruction) -> list[str]:
        """The lines that follow an instruction, for its own undefined bits."""
        lines: list[str] = []
        own = f'%"undefined {instruction.name}"'
        kind = f"i{BITS[instruction.type]}"
        text = self._text(lines, instruction, kind)
        return [*lines, f"  {own} = {text}"]

    def _text(self, lines: list[str], instruction: Instruction, kind: str) -> str:
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "phi":
            edges = ", ".join(
                f'[ {self.bits(value)}, %"{block}" ]' for value, block in instruction.incoming()
            )
            return f"phi {kind} {edges}"
        if opcode in ("trunc", "zext", "sext", "bitcast", "freeze", "ptrtoint", "inttoptr"):
            return self._cast(operands[0], opcode, kind)
        if opcode == "select":
            return self._select(lines, operands, kind)
        if opcode in ("and", "or"):
            return self._logic(lines, opcode, operands, kind)
        if opcode in ("add", "sub", "mul", "xor"):
            left, right = (self.bits(operand) for operand in operands)
            either = f"or {kind} {left}, {right}"
            if opcode == "xor":
                return either
            # What is above the lowest undefined bit can depend on it.
            both = self.temporary(lines, either)
            negative = self.temporary(lines, f"sub {kind} 0, {both}")
            return f"or {kind} {both}, {negative}"
        if opcode in ("shl", "lshr", "ashr") and not self.may_be_undefined(operands[1]):
            return f"{opcode} {kind} {self.bits(operands[0])}, {reference(operands[1])}"
        return self.spread(self.any(lines, operands), kind)

    @staticmethod
    def spread(condition: str, kind: str) -> str:
        """The text of all bits or none."""
        return f"select i1 {condition}, {kind} -1, {kind} 0"

    def _cast(self, source: Any, opcode: str, kind: str) -> str:
        before = f"i{BITS[str(source.type)]}"
        if before == kind:
            return f"or {kind} {self.bits(source)}, 0"
        if opcode in ("ptrtoint", "inttoptr"):
            opcode = "trunc" if int(before[1:]) > int(kind[1:]) else "zext"
        return f"{opcode} {before} {self.bits(source)} to {kind}"

    def _select(self, lines: list[str], operands: list[Any], kind: str) -> str:
        condition, yes, no = operands
        chosen = (
            f"select i1 {reference(condition)}, {kind} {self.bits(yes)}, {kind} {self.bits(no)}"
        )
        if not self.may_be_undefined(condition):
            return chosen
        one = self.temporary(lines, chosen)
        return f"select i1 {self.bits(condition)}, {kind} -1, {kind} {one}"

    def _logic(self, lines: list[str], opcode: str, operands: list[Any], kind: str) -> str:
        # A defined 0 decides AND, a defined 1 OR.
        flip = "0" if opcode == "and" else "-1"
        sides = []
        for operand in operands:
            value = self.temporary(lines, f"xor {kind} {reference(operand)}, {flip}")
            sides.append((self.bits(operand), value))
        (u, x), (v, y) = sides
        both = self.temporary(lines, f"and {kind} {u}, {v}")
        left = self.temporary(lines, f"and {kind} {u}, {y}")
        right = self.temporary(lines, f"and {kind} {x}, {v}")
        some = self.temporary(lines, f"or {kind} {both}, {left}")
        return f"or {kind} {some}, {right}"


def never_zero(function: Function) -> set[str]:
    """Values that are products of the grid's sizes, the last three parameters of a kernel."""
    found = {argument.name for argument in function.arguments[-3:]}
    for instruction in function.instructions:
        factors = instruction.operands
        if instruction.opcode not in ("mul", "zext", "sext"):
            continue
        if all(is_local(factor) and factor.name in found for factor in factors):
            found.add(instruction.name)
    return found


def divides_safely(instruction: Instruction, nonzero: set[str]) -> bool:
    """Whether a division cannot have 0 (or the overflowing -1) as its divisor."""
    divisor = instruction.operands[1]
    constant = integer(divisor)
    if constant is not None:
        return constant not in (0, -1)
    return is_local(divisor) and divisor.name in nonzero
