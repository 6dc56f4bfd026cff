"""LLVM IR as its parsed module and its text, so that lines can be put in and replaced.

llvmlite's binding can read a module but not build instructions into it. Here each instruction of
the parsed module is paired with its line of the printed text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import llvmlite.binding as llvm

# Bits of the scalar types.
BITS = {
    **{f"i{bits}": bits for bits in (1, 8, 16, 32, 64)},
    **{"half": 16, "bfloat": 16, "float": 32, "double": 64, "ptr": 64},
    **{f"ptr addrspace({space})": 64 for space in range(1, 7)},
}


@dataclass(eq=False)
class Instruction:
    """One instruction; `value` is llvmlite's, `line` the index of its first line of text.

    `operands` of a call are its arguments, without what is called. Labels are left out.
    """

    value: Any
    line: int
    block: str
    opcode: str = ""
    name: str = ""
    operands: list[Any] = field(default_factory=list)
    called: str = ""

    def __post_init__(self) -> None:
        self.opcode, self.name = self.value.opcode, self.value.name
        self.operands = [o for o in self.value.operands if o.value_kind.name != "basic_block"]
        if self.opcode == "call" and self.operands[-1].value_kind.name == "function":
            self.called = self.operands.pop().name

    @cached_property
    def type(self) -> str:
        """The result's type."""
        return str(self.value.type)

    def incoming(self) -> Iterator[tuple[Any, str]]:
        """Value and block of each edge into a phi."""
        blocks = [block.name for block in self.value.incoming_blocks]
        return zip(self.operands, blocks, strict=True)


@dataclass(eq=False)
class Function:
    """A function's name, parameters and instructions."""

    name: str
    value: Any
    instructions: list[Instruction]

    @property
    def arguments(self) -> list[Any]:
        """Its parameters."""
        return list(self.value.arguments)


class ModuleText:
    """A module in which every value has a name, and its printed lines."""

    def __init__(self, module: Any) -> None:
        builder = llvm.create_pass_builder(None, llvm.create_pipeline_tuning_options())
        passes = llvm.create_new_module_pass_manager()
        passes.add_instruction_namer_pass()
        passes.run(module, builder)
        self.module = module  # owns what the instructions refer to
        self.lines = str(module).splitlines()
        at = 0
        self.functions = []
        for function in module.functions:
            if function.is_declaration:
                continue
            at = next(i for i in range(at, len(self.lines)) if self._defines(i, function.name))
            instructions, at = self._instructions(function, at + 1)
            self.functions.append(Function(function.name, function, instructions))

    def _defines(self, line: int, name: str) -> bool:
        text = self.lines[line]
        return text.startswith("define ") and (f"@{name}(" in text or f'@"{name}"(' in text)

    def _instructions(self, function: Any, start: int) -> tuple[list[Instruction], int]:
        """Pair the instructions of a function with their lines; also the line of its end."""
        end = self.lines.index("}", start)
        places = [at for at in range(start, end) if self._begins_instruction(self.lines[at])]
        values = [(v, block.name) for block in function.blocks for v in block.instructions]
        return [
            Instruction(value, place, block)
            for (value, block), place in zip(values, places, strict=True)
        ], end

    @staticmethod
    def _begins_instruction(line: str) -> bool:
        # Deeper lines are the cases of a switch and debug records.
        return line.startswith("  ") and line[2:3] not in (" ", "]", "")


def is_local(value: Any) -> bool:
    """Whether a value is computed by or given to the function, and not a constant."""
    return value.value_kind.name in ("instruction", "argument")


def reference(value: Any) -> str:
    """A value as an operand, without its type."""
    if is_local(value):
        return f'%"{value.name}"'
    if value.value_kind.name in ("global_variable", "function"):
        return f'@"{value.name}"'
    return str(value).removeprefix(f"{value.type} ")


def typed(value: Any) -> str:
    """A value as an operand, with its type."""
    return f"{value.type} {reference(value)}"


def integer(value: Any) -> int | None:
    """The value of an integer constant, otherwise None."""
    if value.value_kind.name != "constant_int":
        return None
    return int(value.get_constant_value(signed_int=True))
