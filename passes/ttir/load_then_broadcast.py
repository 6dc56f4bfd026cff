"""Load once what a kernel loads from one address many times."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.invariance import is_invariant, narrowed
from flagc.ir.builder import Builder
from flagc.ir.dead_code import erase_unused
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.regions import append, create_if, create_reduce
from flagc.ir.types import TensorType
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class LoadThenBroadcast(Pass):
    """Load a tile whose addresses are the same along a dimension with size 1 there, then repeat it.

        load(broadcast p, broadcast m)    becomes  broadcast(load(p, m))
        load(broadcast p, row && column)  becomes  broadcast(any(row) ? load(p, column) : 0)

    with `other` put in where the mask is false.
    Every address that was loaded still is, and no other. A mask whose terms depend on both
    dimensions at once stays, with a remark; volatile loads stay too.

    The vendor's Ascend adapter refuses such addresses ("strides must not be zero").
    """

    name = "load-then-broadcast"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Examine each load of tensors, along each dimension."""
        for load in module.walk("tt.load"):
            tensor = TensorType.of(load.operands[0])
            if tensor is None or _is_volatile(load):
                continue
            for dim, size in enumerate(tensor.shape):
                if size == 1 or len(tensor.shape) == 1:
                    continue
                if not is_invariant(load.operands[0], dim):
                    continue
                terms = _mask_terms(load, dim)
                if terms is None:
                    context.remark(
                        load,
                        "not applied: the mask depends on the dimension along which the address "
                        "repeats, and on another one at once",
                    )
                    continue
                _narrow(module, load, dim, *terms)
                context.statistic("loads narrowed")
                break


def _is_volatile(load: Operation) -> bool:
    return "isVolatile" in load.attributes and bool(load.attributes["isVolatile"].value)


def _mask_terms(load: Operation, dim: int) -> tuple[list[Value], list[Value]] | None:
    """Return the mask's terms that do not depend on `dim`, and those that do on nothing else.

    None when there are others. The latter have size 1 but along `dim`.
    """
    fixed: list[Value] = []
    varying: list[Value] = []
    pending = [load.operands[1]] if list(load.attributes["operandSegmentSizes"])[1] else []
    while pending:
        term = pending.pop()
        op = defining_op(term)
        if is_invariant(term, dim):
            fixed.append(term)
        elif op is not None and op.name == "arith.andi":
            pending += list(op.operands)
        elif op is not None and op.name == "tt.broadcast" and _varies_only(op.operands[0], dim):
            varying.append(op.operands[0])
        else:
            return None
    return fixed, varying


def _varies_only(value: Value, dim: int) -> bool:
    tensor = TensorType.of(value)
    sizes = tensor.shape if tensor is not None else ()
    return all(size == 1 for number, size in enumerate(sizes) if number != dim)


def _narrow(
    module: Module, load: Operation, dim: int, fixed: list[Value], varying: list[Value]
) -> None:
    build = Builder(module, before=load)
    pointer, *rest = load.operands
    has_other = list(load.attributes["operandSegmentSizes"])[2] == 1
    address = narrowed(build, pointer, dim)
    mask = _conjunction(build, [narrowed(build, term, dim) for term in fixed])
    tensor, pointers = TensorType.of(load.results[0]), TensorType.of(address)
    assert tensor is not None and pointers is not None
    kind = TensorType(pointers.shape, tensor.element).text()
    zeros = build.zero(kind) if mask is not None or varying else None
    operands = [address] if mask is None else [address, mask, zeros]
    attributes = {name: load.attributes[name] for name in load.attributes}
    masked = 0 if mask is None else 1
    attributes["operandSegmentSizes"] = module.attribute(f"array<i32: 1, {masked}, {masked}>")
    if varying:
        together = _conjunction(build, varying)
        reached = _any(module, build, together, load)
        branch, then, otherwise = create_if(module, reached, [kind], before=load)
        where = load.location
        inner = append(module, then, "tt.load", operands, [kind], attributes, location=where)
        append(module, then, "scf.yield", inner.results, location=where)
        append(module, otherwise, "scf.yield", [zeros], location=where)
        value = branch.results[0]
    else:
        value = build.op("tt.load", operands, kind, attributes)
    value = build.op("tt.broadcast", [value], load.results[0].type)
    if has_other:
        value = build.select(rest[0], value, rest[1])
    module.replace(load, [value])
    erase_unused([pointer, *rest])


def _conjunction(build: Builder, terms: list[Value]) -> Value | None:
    if not terms:
        return None
    result = terms[0]
    for term in terms[1:]:
        result = build.andi(result, term)
    return result


def _any(module: Module, build: Builder, condition: Value | None, before: Operation) -> Value:
    """Return whether any lane of `condition` holds, as a scalar.

    Lanes are compared as 32-bit integers, of which every compiler finds the maximum.
    """
    assert condition is not None
    tensor = TensorType.of(condition)
    assert tensor is not None
    count = 1
    for size in tensor.shape:
        count *= size
    flat = condition
    if len(tensor.shape) > 1:
        flat = build.op("tt.reshape", [condition], f"tensor<{count}xi1>")
    numbers = build.op("arith.extui", [flat], f"tensor<{count}xi32>")
    largest = create_reduce(module, "arith.maxsi", numbers, 0, before)
    return build.cmpi("ne", largest, build.constant(0, "i32"))
