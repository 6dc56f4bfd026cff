"""Atomics of kernels with a dot, in the form of which the vendor's compiler makes right code.

The adapter writes `tl.atomic_add` of a block as a `linalg.generic` on memrefs. bishengir-compile
1.2.0 goes wrong with that in a kernel that uses the cube core: a dot's result is left in L1, where
the vector core never reads it, and what the vector core computed is added by each of its two
sub-blocks. As `hivm.hir.store ... atomic = <add>` of a tensor, the same pipeline stores a dot's
result from L0C atomically, and shares the vector core's blocks between its sub-blocks.
"""

from __future__ import annotations

from typing import Any

from flagc.targets.ascend import toolchain
from flagc.targets.ascend.generic_ir import bindings, properties, walk
from flagc.targets.ascend.vendor_process import VendorDiagnostic, VendorError, place_of_location

_ATTRIBUTE = "GenericAtomicRMW"
# The adapter's names of what the store unit can do, as hivm names them.
_KINDS = {"fadd": "add", "add": "add", "max": "max", "min": "min"}
# Ops that give a part of a buffer.
_VIEWS = ("memref.subview", "memref.reinterpret_cast", "memref.cast")


def store_cube_atomics(module: Any) -> None:
    """Rewrite the atomics of `module`, the adapter's output for a kernel with a dot.

    Raises:
        VendorError: an atomic that the pipeline would carry out once for each sub-block.
    """
    atomics = [
        operation
        for operation in walk(module.operation)
        if operation.name == "linalg.generic" and _ATTRIBUTE in operation.attributes
    ]
    for atomic in atomics:
        kind = atomic.attributes[_ATTRIBUTE].value
        target = atomic.operands[0]
        if kind not in _KINDS:
            raise _refusal(atomic, f"atomic '{kind}'")
        if _is_copied(target):
            raise _refusal(atomic, "atomic whose result is used")
        _store(atomic, _KINDS[kind], _source(atomic), target)


def _store(atomic: Any, kind: str, source: Any, target: Any) -> None:
    ir = bindings()
    attribute = ir.Attribute.parse(f"#hivm.atomic_kind<{kind}>", atomic.context)
    with ir.InsertionPoint(atomic), atomic.location:
        ir.Operation.create(
            "hivm.hir.store", operands=[source, target], attributes={"atomic_kind": attribute}
        )
    atomic.erase()


def _source(atomic: Any) -> Any:
    """What is added: the tensor that a memref operand stands for, else the memref itself."""
    ir = bindings()
    value = atomic.operands[1]
    definition = _definition(value)
    if definition is not None and definition.name == "bufferization.to_memref":
        return definition.operands[0]
    if definition is None or definition.name != "memref.subview":
        return value
    whole = _definition(definition.operands[0])
    if whole is None or whole.name != "bufferization.to_memref":
        return value
    given = {**properties(definition)}
    with ir.InsertionPoint(atomic), atomic.location:
        part = ir.MemRefType(value.type)
        sliced = ir.Operation.create(
            "tensor.extract_slice",
            results=[ir.RankedTensorType.get(part.shape, part.element_type)],
            operands=[whole.operands[0], *list(definition.operands)[1:]],
            attributes=given,
        )
    return sliced.result


def _definition(value: Any) -> Any:
    """The op that computes `value`, None for a block argument."""
    owner = value.owner
    return owner if hasattr(owner, "name") else None


def _is_copied(target: Any) -> bool:
    """Whether the old values are read too, from a view of the same memory."""
    base = target
    while (definition := _definition(base)) is not None and definition.name == "memref.subview":
        base = definition.operands[0]
    pending, seen = [base], 0
    while seen < len(pending):
        for use in pending[seen].uses:
            user = use.owner
            if user.name == "memref.copy" and use.operand_number == 0:
                return True
            if user.name in _VIEWS:
                pending.append(user.results[0])
        seen += 1
    return False


def _refusal(operation: Any, what: str) -> VendorError:
    file, line, column = place_of_location(str(operation.location))
    text = (
        f"{what} in a kernel with a dot: bishengir-compile would carry it out twice, once in each "
        "vector core; move it to a kernel of its own"
    )
    found = VendorDiagnostic(file, line, column, "error", text)
    return VendorError(toolchain.ADAPTER_NAME, "error", 0, [found])
