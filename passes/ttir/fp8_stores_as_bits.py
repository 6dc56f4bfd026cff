"""Round to 8-bit floating-point numbers with integer arithmetic, and store the codes."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value
from flagc.ir.types import PointerType, TensorType, element_of
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@dataclass(frozen=True)
class _Format:
    """An 8-bit format: bits of fraction, exponent bias, and its largest finite number."""

    fraction: int
    bias: int
    largest: float


_FORMATS = {"f8E4M3FN": _Format(3, 7, 448.0), "f8E5M2": _Format(2, 15, 57344.0)}
_SOURCES = ("f16", "bf16", "f32")


@register
@dataclass(frozen=True)
class Fp8StoresAsBits(Pass):
    """Replace rounding to `f8E4M3FN` or `f8E5M2` by integer arithmetic, where the result is stored.

    The codes are those of NVIDIA's conversion: to the nearest, ties to even; beyond the largest
    number, that number; NaN stays NaN. Ascend 910B has no 8-bit floating-point numbers.

    Left alone, with a remark, are numbers that are not just stored, and other ways of rounding.
    """

    name = "fp8-stores-as-bits"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite each conversion with the stores of its result."""
        for op in module.walk("tt.fp_to_fp", "arith.truncf"):
            kind = element_of(op.results[0])
            if kind not in _FORMATS:
                continue
            stores = [use.owner.operation for use in op.results[0].uses]
            reason = _obstacle(op, stores)
            if reason is not None:
                context.remark(op, f"not applied: {reason}")
                continue
            codes = encoded(Builder(module, before=op), op.operands[0], kind)
            for store in stores:
                _store_codes(module, store, codes)
            op.erase()
            context.statistic("conversions written out")


def _obstacle(op: Operation, stores: list[Operation]) -> str | None:
    """Return why `op` must stay, or None. `rounding` 1 is to the nearest, ties to even."""
    rounding = op.attributes["rounding"].value if "rounding" in op.attributes else 1
    if rounding != 1 or element_of(op.operands[0]) not in _SOURCES:
        return "only rounding to the nearest, from f16, bf16 and f32, is known"
    if any(store.name != "tt.store" or store.operands[1] != op.results[0] for store in stores):
        return "the 8-bit numbers are not just stored"
    return None


def encoded(build: Builder, value: Value, kind: str) -> Value:
    """Return the 8-bit codes, as `i8`, of what `value` rounds to.

    A normal number's code is its upper bits, after rounding by a carry. A subnormal one counts
    steps of the smallest number, which an addition to 2^23 of them rounds in hardware.
    """
    form = _FORMATS[kind]
    single, bits = _with_element(value, "f32"), _with_element(value, "i32")
    if element_of(value) != "f32":
        value = build.op("arith.extf", [value], single)

    def integer(number: int) -> Value:
        return build.constant(number, bits)

    raw = build.op("tt.bitcast", [value], bits)
    magnitude_bits = build.andi(raw, integer(0x7FFFFFFF))
    is_nan = build.cmpi("sgt", magnitude_bits, integer(0x7F800000))
    magnitude = build.op("tt.bitcast", [magnitude_bits], single)
    magnitude = build.binary("arith.minnumf", magnitude, build.constant(form.largest, single))
    clipped = build.op("tt.bitcast", [magnitude], bits)

    dropped = 23 - form.fraction
    odd = build.andi(build.binary("arith.shrsi", clipped, integer(dropped)), integer(1))
    carried = build.addi(build.addi(clipped, integer((1 << (dropped - 1)) - 1)), odd)
    upper = build.binary("arith.shrsi", carried, integer(dropped))
    normal = build.subi(upper, integer((127 - form.bias) << form.fraction))

    steps = build.constant(2.0 ** (24 - form.bias - form.fraction), single)
    counted = build.op("tt.bitcast", [build.binary("arith.addf", magnitude, steps)], bits)
    subnormal = build.subi(counted, build.op("tt.bitcast", [steps], bits))

    smallest_normal = build.constant(2.0 ** (1 - form.bias), single)
    code = build.select(build.cmpf("olt", magnitude, smallest_normal), subnormal, normal)
    code = build.select(is_nan, integer(0x7F), code)
    sign = build.andi(build.binary("arith.shrsi", raw, integer(24)), integer(0x80))
    return build.op(
        "arith.trunci", [build.binary("arith.ori", code, sign)], _with_element(value, "i8")
    )


def _store_codes(module: Module, store: Operation, codes: Value) -> None:
    build = Builder(module, before=store)
    pointer = PointerType.of(element_of(store.operands[0]))
    assert pointer is not None
    kind = _with_element(store.operands[0], PointerType("i8", pointer.address_space).text())
    address = build.op("tt.bitcast", [store.operands[0]], kind)
    attributes = {name: store.attributes[name] for name in store.attributes}
    operands = [address, codes, *list(store.operands)[2:]]
    module.create("tt.store", operands, [], attributes, before=store)
    store.erase()


def _with_element(value: Value, element: str) -> str:
    tensor = TensorType.of(value)
    return tensor.with_element(element).text() if tensor is not None else element
