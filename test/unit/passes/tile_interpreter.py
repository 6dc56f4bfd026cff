"""Evaluate a straight-line TTIR kernel with numpy: tensors, pointers, masked memory accesses."""

import numpy as np
from numpy_interpreter import TYPES

from flagc.ir.module import Module
from flagc.ir.types import PointerType, TensorType, element_of

COMPARISONS = {2: np.less, 4: np.greater, 5: np.greater_equal}
ARITHMETIC = {
    "arith.addi": np.add,
    "arith.muli": np.multiply,
    "arith.andi": np.logical_and,
    "arith.addf": np.add,
}


def run(module: Module, arguments, program=(0, 0)):
    """Run one program. Numpy arrays among `arguments` are memory and are changed in place.

    A pointer is (array, element offsets). Accesses outside an array raise IndexError.
    """
    (function,) = module.functions()
    block = function.regions[0].blocks[0]
    values = {}
    for argument, given in zip(block.arguments, arguments, strict=True):
        kind = PointerType.of(argument)
        values[argument] = (given, np.int64(0)) if kind else TYPES[str(argument.type)](given)
    for op in (child.operation for child in block.operations):
        inputs = [values.get(operand) for operand in op.operands]
        result = _evaluate(op, inputs, program)
        if len(op.results):
            values[op.results[0]] = result


def _evaluate(op, inputs, program):
    name = op.name.split(".", 1)[1]
    if op.name in ARITHMETIC:
        return ARITHMETIC[op.name](*inputs)
    return globals()[f"_{name}"](op, inputs, program)


def _shape(op):
    return TensorType.of(op.results[0]).shape


def _constant(op, inputs, program):
    attribute = op.attributes["value"]
    dtype = TYPES[element_of(op.results[0])]
    if TensorType.of(op.results[0]) is None:
        return dtype(attribute.value)
    return np.full(_shape(op), attribute.get_splat_value().value, dtype)


def _get_program_id(op, inputs, program):
    return np.int32(program[op.attributes["axis"].value])


def _make_range(op, inputs, program):
    return np.arange(op.attributes["start"].value, op.attributes["end"].value, dtype=np.int32)


def _splat(op, inputs, program):
    if isinstance(inputs[0], tuple):
        return inputs[0][0], np.full(_shape(op), inputs[0][1])
    return np.full(_shape(op), inputs[0])


def _expand_dims(op, inputs, program):
    return np.expand_dims(inputs[0], op.attributes["axis"].value)


def _broadcast(op, inputs, program):
    return np.broadcast_to(inputs[0], _shape(op))


def _extsi(op, inputs, program):
    return inputs[0].astype(TYPES[element_of(op.results[0])])


def _reshape(op, inputs, program):
    return inputs[0].reshape(_shape(op))


def _select(op, inputs, program):
    return np.where(*inputs)[()]


def _cmpi(op, inputs, program):
    return COMPARISONS[op.attributes["predicate"].value](*inputs)


def _addptr(op, inputs, program):
    (array, offsets), more = inputs
    return array, offsets + more


def _load(op, inputs, program):
    (array, offsets), *masked = inputs
    if not masked:
        return array.reshape(-1)[offsets]
    mask, other = masked
    return np.where(mask, array.reshape(-1)[_checked(array, offsets, mask)], other)


def _store(op, inputs, program):
    (array, offsets), value, *mask = inputs
    keep = mask[0] if mask else np.ones(offsets.shape, bool)
    array.reshape(-1)[_checked(array, offsets, keep)[keep]] = value[keep]


def _atomic_rmw(op, inputs, program):
    (array, offsets), value, mask = inputs
    assert op.attributes["atomic_rmw_op"].value in (4, 5)  # add, fadd
    np.add.at(array.reshape(-1), _checked(array, offsets, mask)[mask], value[mask])


def _return(op, inputs, program):
    return None


def _checked(array, offsets, mask):
    """Offsets with those that are masked off set to 0; others must lie in the array."""
    kept = np.where(mask, offsets, 0)
    if kept.size and (kept.min() < 0 or kept.max() >= array.size):
        raise IndexError("an access that is not masked off is outside the tensor")
    return kept
