"""Compute on 8-bit floating-point numbers in 16 bits."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import PointerType, TensorType, element_of
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_KINDS = ("f8E4M3FN", "f8E5M2")
# What may be done to 8-bit numbers besides loading them: it means the same in 16 bits.
_MOVES = frozenset(
    {"tt.load", "tt.trans", "tt.reshape", "tt.broadcast", "tt.expand_dims", "tt.splat", "tt.dot",
     "tt.join", "tt.fp_to_fp", "arith.extf", "arith.select", "arith.constant", "scf.for",
     "scf.yield", "scf.if"}
)  # fmt: skip


@register
@dataclass(frozen=True)
class Fp8ToF16(Pass):
    """Load 8-bit floating-point numbers as integers, and decode them to `f16`.

    Every number of `f8E4M3FN` and `f8E5M2` is one of `f16` too, so what is computed from them, a
    matrix product for instance, is the same. Ascend 910B has no 8-bit floating-point numbers.

    Left alone, with a remark, are kernels that round to such numbers or store them, or do anything
    to them but move, multiply (`tt.dot`) and extend.
    """

    name = "fp8-to-f16"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite one kind of number after the other."""
        for kind in _KINDS:
            users = [op for op in module.walk() if _touches(op, kind)]
            loads = [op for op in users if op.name == "tt.load"]
            strange = next((op for op in users if not _keeps_meaning(op, kind)), None)
            if not loads:
                continue
            if strange is not None:
                context.remark(
                    strange, f"not applied: this op needs {kind} itself, not what {kind} stands for"
                )
                continue
            module.replace_in_types_and_attributes(f"!tt.ptr<{kind}>", "!tt.ptr<i8>")
            for load in loads:
                _decode_load(module, load, kind)
            module.replace_in_types_and_attributes(kind, "f16")
            for op in [*module.walk("tt.fp_to_fp"), *module.walk("arith.extf")]:
                _extend(module, op)
            context.statistic("loads decoded", len(loads))


def _touches(op: Operation, kind: str) -> bool:
    """Return whether `op` has numbers of `kind`, not just pointers to them, or loads them."""
    values = [*op.operands, *op.results]
    pointers = [PointerType.of(element_of(value)) for value in values]
    if op.name in ("tt.load", "tt.store") or op.name.startswith("tt.atomic"):
        return any(pointer is not None and pointer.pointee == kind for pointer in pointers)
    # Block pointers and descriptors hold the kind inside.
    plain = f"!tt.ptr<{kind}>"
    return any(kind in element_of(value).replace(plain, "") for value in values)


def _keeps_meaning(op: Operation, kind: str) -> bool:
    if op.name in ("tt.fp_to_fp", "arith.extf"):
        return element_of(op.operands[0]) == kind and element_of(op.results[0]) not in _KINDS
    if op.name == "tt.load":
        return TensorType.of(op.results[0]) is not None
    if op.name == "arith.constant":
        return bool(op.attributes["value"].is_splat) and "0x" not in str(op.attributes["value"])
    return op.name in _MOVES


def _decode_load(module: Module, load: Operation, kind: str) -> None:
    build = Builder(module, before=load)
    tensor = TensorType.of(load.results[0])
    assert tensor is not None
    codes = tensor.with_element("i8").text()
    operands = list(load.operands)
    has_other = list(load.attributes["operandSegmentSizes"])[2] == 1
    other = operands[2] if has_other else None
    if other is not None:
        operands[2] = build.constant(0, codes)
    attributes = {name: load.attributes[name] for name in load.attributes}
    number = decoded(build, build.op("tt.load", operands, codes, attributes), tensor, kind)
    if other is not None and not _is_zero(other):
        number = build.select(operands[1], number, other)  # `other` becomes f16 as all the rest
    module.replace(load, [number])


def decoded(build: Builder, codes: Value, tensor: TensorType, kind: str) -> Value:
    """Return the numbers that 8-bit `codes` stand for, as `f16`.

    Sign and exponent of `f8E5M2` lie as in `f16`. The exponent of `f8E4M3FN` is one bit shorter,
    with a bias of 7, not 15: moved to its place it is a number too small by a factor of 2^8, also
    where it is subnormal. Only the largest code is NaN.
    """
    bits = tensor.with_element("i16").text()
    half = tensor.with_element("f16").text()
    wide = build.op("arith.extsi", [codes], bits)
    if kind == "f8E5M2":
        shifted = build.binary("arith.shli", wide, build.constant(8, bits))
        return build.op("tt.bitcast", [shifted], half)
    magnitude = build.andi(wide, build.constant(0x7F, bits))
    sign = build.andi(wide, build.constant(-0x8000, bits))
    moved = build.binary("arith.shli", magnitude, build.constant(7, bits))
    small = build.op("tt.bitcast", [build.binary("arith.ori", moved, sign)], half)
    number = build.binary("arith.mulf", small, build.constant(256.0, half))
    is_nan = build.cmpi("eq", magnitude, build.constant(0x7F, bits))
    return build.select(is_nan, build.constant(float("nan"), half), number)


def _is_zero(value: Value) -> bool:
    op = defining_op(value)
    if op is None or op.name != "arith.constant":
        return False
    attribute = op.attributes["value"]
    return bool(attribute.is_splat) and attribute.get_splat_value().value == 0.0


def _extend(module: Module, op: Operation) -> None:
    """Make what converted an 8-bit number convert an `f16`."""
    source, result = op.operands[0], op.results[0]
    element = element_of(result)
    if element_of(source) != "f16" or element in _KINDS:
        return
    build = Builder(module, before=op)
    if element == "f16":
        module.replace(op, [source])
    elif element == "bf16":
        tensor = TensorType.of(result)
        single = tensor.with_element("f32").text() if tensor is not None else "f32"
        wide = build.op("arith.extf", [source], single)
        module.replace(op, [build.op("arith.truncf", [wide], result.type)])
    elif op.name == "tt.fp_to_fp":
        module.replace(op, [build.op("arith.extf", [source], result.type)])
