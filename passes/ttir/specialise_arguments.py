"""Compile kernels for the values that a launch's integer arguments have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_VALUE = "flagc.value"
_DIVISIBILITY = "tt.divisibility"


@register
@dataclass(frozen=True)
class SpecialiseArguments(Pass):
    """Compile a kernel of its own for each set of integer arguments: sizes, strides.

    Triton tells apart whether 16 divides an argument, and nothing else: with rows of 1000 fp16 it
    does not see that they begin at multiples of 16 bytes, and with K = 4096 not that tiles of 64
    divide it. `to=values` makes arguments numbers of the kernel, so that masks can be dropped
    (`drop-proven-masks`), loads be wide, and descriptors be made. `to=divisors` only notes by which
    power of two, `largest` at most, an argument can be divided: fewer kernels, with nearly as much
    known. Run it first.

    A launch with other values compiles again. Arguments that the kernel lists in
    `do_not_specialize`, and ones beyond 32 bits, stay as they are. IR from a file has values where
    it says so: `%n: i32 {flagc.value = 4096 : i32}`.
    """

    name = "specialise-arguments"
    level = "ttir"
    to: Literal["values", "divisors"] = "values"
    largest: int = 128

    def note_of(self, value: int) -> tuple[str, int] | None:
        """Return the value, or its largest power of two that matters."""
        if self.to == "values":
            return _VALUE, value
        return _DIVISIBILITY, math.gcd(value, self.largest)

    def run(self, module: Module, context: PassContext) -> None:
        """Put numbers in the place of arguments; divisors are used where they are noted."""
        if self.largest < 1 or self.largest & (self.largest - 1):
            context.error(None, f"largest is {self.largest}; it must be a power of two")
        if self.to == "divisors":
            return
        functions = module.functions()
        count = sum(_replace(module, function) for function in functions)
        if not count:
            context.remark(
                functions[0], "not applied: no launch says what the kernel's arguments are"
            )
        else:
            context.statistic("arguments replaced", count)


def _replace(module: Module, function: Operation) -> int:
    """Replace the arguments of which the value is noted, and take the notes away."""
    if "arg_attrs" not in function.attributes:
        return 0
    notes = list(function.attributes["arg_attrs"])
    block = function.regions[0].blocks[0]
    build = Builder(module, before=next(iter(block.operations)).operation)
    count = 0
    for argument, own in zip(block.arguments, notes, strict=True):
        if _VALUE in own:
            number = build.constant(int(own[_VALUE].value), argument.type)
            argument.replace_all_uses_with(number)
            count += 1
    kept = ", ".join(_without_value(own) for own in notes)
    function.attributes["arg_attrs"] = module.attribute(f"[{kept}]")
    return count


def _without_value(attributes: Any) -> str:
    parts = [f"{entry.name} = {entry.attr}" for entry in attributes if entry.name != _VALUE]
    return "{" + ", ".join(parts) + "}"
