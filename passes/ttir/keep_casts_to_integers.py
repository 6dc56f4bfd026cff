"""Keep casts to integers and back apart, which the vendor would take for nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import TensorType, element_bits, element_of
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_TO_INTEGER = ("arith.fptosi", "arith.fptoui")
_TO_FLOAT = ("arith.sitofp", "arith.uitofp")
_EXTENSIONS = ("arith.extsi", "arith.extui")
# What may stand between two casts that the vendor takes together.
_BETWEEN = frozenset(
    {*_TO_INTEGER, *_TO_FLOAT, *_EXTENSIONS, "arith.trunci", "arith.extf", "arith.truncf",
     "tt.expand_dims", "tt.reshape"}
)  # fmt: skip


@register
@dataclass(frozen=True)
class KeepCastsToIntegers(Pass):
    """Put an op that changes nothing between a cast of a tensor to an integer and the cast back.

    `bishengir-compile` 1.2.0 drops a chain of casts that ends in the type where it began
    (`hfusion-simplify-ops`), also one by way of a narrower type: `x.to(tl.int32).to(tl.float16)` of
    an `f16` is then `x`, fraction included, and so is `x.to(tl.int32).to(tl.int64)` of an `i64`.
    Put between are

        max(i, -largest)         before a cast to a float: the least integer, -largest - 1, and
                                 -largest are rounded to the same float
        max(i, 0) + min(i, 0)    before an extension to `i64`

    `i16` is cast to `bf16` by way of `f32`: the vendor has no such cast.
    """

    name = "keep-casts-to-integers"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Look at each cast that may end a chain."""
        for op in module.walk(*_TO_FLOAT, *_EXTENSIONS):
            if TensorType.of(op.results[0]) is not None:  # scalars are right already
                _keep(module, op, context)
            _by_way_of_f32(module, op)


def _keep(module: Module, op: Operation, context: PassContext) -> None:
    build = Builder(module, before=op)
    element = element_of(op.results[0])
    if op.name in _TO_FLOAT and element != "f64" and _comes_through(op, _TO_INTEGER):
        op.operands[0] = _as_float_keeps(build, op)
    elif element == "i64" and _comes_through(op, ("arith.trunci",)):
        op.operands[0] = _sum_of_parts(build, op.operands[0])
    else:
        return
    context.statistic("casts kept")


def _comes_through(op: Operation, names: Collection[str]) -> bool:
    """Return whether the operand of `op` is what casts made of a result of one of `names`."""
    origin = defining_op(op.operands[0])
    while origin is not None and origin.name in _BETWEEN:
        if origin.name in names:
            return True
        origin = defining_op(origin.operands[0])
    return False


def _as_float_keeps(build: Builder, cast: Operation) -> Value:
    value = cast.operands[0]
    if element_bits(element_of(value)) < 32:
        tensor = TensorType.of(value)
        assert tensor is not None
        extension = "arith.extui" if cast.name == "arith.uitofp" else "arith.extsi"
        value = build.op(extension, [value], tensor.with_element("i32").text())
    least = -(2 ** (element_bits(element_of(value)) - 1)) + 1
    return build.binary("arith.maxsi", value, build.constant(least, value.type))


def _sum_of_parts(build: Builder, value: Value) -> Value:
    zero = build.zero(value.type)
    return build.addi(
        build.binary("arith.maxsi", value, zero), build.binary("arith.minsi", value, zero)
    )


def _by_way_of_f32(module: Module, cast: Operation) -> None:
    """`f32` holds every `i16`, so that only the cast from there rounds."""
    result = cast.results[0]
    if element_of(result) != "bf16" or element_of(cast.operands[0]) != "i16":
        return
    tensor = TensorType.of(result)
    wide = "f32" if tensor is None else tensor.with_element("f32").text()
    build = Builder(module, before=cast)
    exact = build.op(cast.name, [cast.operands[0]], wide)
    module.replace(cast, [build.op("arith.truncf", [exact], result.type)])
