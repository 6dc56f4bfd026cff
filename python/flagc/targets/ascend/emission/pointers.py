"""Pointers to global memory as integers, the form in which device functions take them."""

from __future__ import annotations

from flagc.ir.module import Operation, Value
from flagc.ir.types import PointerType, element_bits
from flagc.targets.ascend.emission.abi import KernelFunction
from flagc.targets.ascend.emission.code import Code

# Ops that give the same address another type.
_SAME_ADDRESS = ("tt.bitcast", "tt.int_to_ptr", "tt.ptr_to_int")


def pointers_to_addresses(code: Code, kernel: KernelFunction) -> None:
    """Give each pointer of the kernel the type i64, and compute it so."""
    for argument in kernel.arguments:
        if PointerType.of(argument) is not None:
            _address_of(code, argument)
    kernel.settle_types()
    for op in code.module.walk():
        if op.name == "tt.addptr":
            _step(code, op)
        elif op.name in _SAME_ADDRESS:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
    for op in code.module.walk():
        for result in op.results:
            _retype(code, result)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    _retype(code, argument)


def _address_of(code: Code, argument: Value) -> None:
    """Replace a kernel's argument by the address in it, once it is used."""
    uses = [(use.owner, use.operand_number) for use in argument.uses]
    if not uses:
        return
    scalars = code.scalars
    scalars.at_start()
    index = scalars.op("memref.extract_aligned_pointer_as_index", [argument], ["index"])
    address = scalars.op("arith.index_cast", [index.results[0]], ["i64"]).results[0]
    for owner, number in uses:
        owner.operands[number] = address


def _step(code: Code, op: Operation) -> None:
    """`pointer + elements`."""
    scalars = code.scalars
    pointer = PointerType.of(op.results[0])
    assert pointer is not None
    scalars.at(op)
    distance = scalars.multiply(
        scalars.extended(op.operands[1]), element_bits(pointer.pointee) // 8
    )
    # Typed as i64 explicitly: the pointer's own type changes later.
    moved = scalars.op("arith.addi", [op.operands[0], scalars.value(distance)], ["i64"])
    op.results[0].replace_all_uses_with(moved.results[0])
    op.erase()


def _retype(code: Code, value: Value) -> None:
    if PointerType.of(value) is not None:
        value.set_type(code.module.type("i64"))
