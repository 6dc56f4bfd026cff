"""Makes compiled code announce its scalar loads and stores of global and on-chip memory.

Vector and cube instructions check their operands in the engine, but the kernel's own scalar code
(and the device library's) touches memory directly. Before each such load or store a call of
`hivm.SCALAR.LOAD(address, bytes, space)` or `hivm.SCALAR.STORE` is inserted.

llvmlite's binding can read a module but not build instructions into it, so the calls go into the
module's text, at the lines of the instructions that the parsed module names.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

# Spaces of the AI Core; 0 is the host stack.
_SPACES = {f"ptr addrspace({space})": space for space in range(1, 7)}
_BYTES = {"i8": 1, "half": 2, "bfloat": 2, "i16": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}
_DECLARATIONS = "\n".join(
    f'declare void @"hivm.SCALAR.{kind}"(i64, i64, i64)' for kind in ("LOAD", "STORE")
)


def announce_scalar_accesses(text: str) -> str:
    """LLVM IR text with a call before each scalar access of a memory of the AI Core."""
    module = llvm.parse_assembly(text, llvm.create_context())
    builder = llvm.create_pass_builder(None, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_instruction_namer_pass()
    passes.run(module, builder)
    lines = str(module).splitlines()
    plain = [_without_metadata(line) for line in lines]
    calls: dict[int, list[str]] = {}
    at = 0
    for function in module.functions:
        if function.is_declaration:
            continue
        for block in function.blocks:
            for instruction in block.instructions:
                if instruction.opcode not in ("load", "store"):
                    continue
                at = plain.index(_without_metadata(str(instruction)), at)
                call = _call(instruction, at)
                if call:
                    calls[at] = call
                at += 1
    if not calls:
        return text
    result = []
    for index, line in enumerate(lines):
        result += [*calls.get(index, []), line]
    return "\n".join([*result, _DECLARATIONS])


def _without_metadata(line: str) -> str:
    """One instruction without what follows it; metadata have other numbers when printed alone."""
    return line.strip().partition(", !")[0]


def _call(instruction: Any, index: int) -> list[str]:
    """The lines that announce one access; none for the stack and for vectors."""
    operands = list(instruction.operands)
    pointer = operands[-1]
    space = _SPACES.get(str(pointer.type))
    kind = str(instruction.type if instruction.opcode == "load" else operands[0].type)
    if space is None or kind not in _BYTES:
        return []
    # A named value, or a constant expression, which prints with its type.
    value = f'{pointer.type} %"{pointer.name}"' if pointer.name else str(pointer)
    address = f"%flagc.address.{index}"
    return [
        f"  {address} = ptrtoint {value} to i64",
        f'  call void @"hivm.SCALAR.{instruction.opcode.upper()}"'
        f"(i64 {address}, i64 {_BYTES[kind]}, i64 {space})",
    ]
