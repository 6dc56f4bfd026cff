"""Makes compiled code announce its scalar accesses and follow undefined values.

Vector and cube instructions check their operands in the engine, but the kernel's own scalar code
(and the device library's) touches memory directly. Calls of `hivm.SCALAR.LOAD`, `.STORE` and `.USE`
are put in: a load asks where to load from and which bits there are undefined; a store asks where to
and says which bits it stores are; an address, a branch's condition and an instruction's operands
must be defined. On-chip addresses are offsets, as on the chip; the accesses are made where the host
has that memory.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from flagc.aicore.llvm_text import BITS, Function, Instruction, ModuleText, is_local, typed
from flagc.aicore.llvm_text import reference as ref
from flagc.aicore.undefined_values import (
    DIVISIONS,
    REGISTERS,
    Rules,
    divides_safely,
    follows,
    never_zero,
    undefined_values,
)

# Spaces of the AI Core; 0 is the host stack.
_SPACES = {f"ptr addrspace({space})": space for space in range(1, 7)}
_GM = 1
_INSTRUCTION = "hivm."
_DECLARATIONS = """
declare { i64, i64 } @"hivm.SCALAR.LOAD"(i64, i64, i64)
declare i64 @"hivm.SCALAR.STORE"(i64, i64, i64, i64)
declare i64 @"hivm.SCALAR.READ.BYTES"(i64, i64, i64)
declare i64 @"hivm.SCALAR.WRITE.BYTES"(i64, i64, i64)
declare i64 @"hivm.SCALAR.BASE"(i64)
declare void @"hivm.SCALAR.OPERAND"(i64)
declare void @"hivm.SCALAR.USE"(i64, i64)
declare void @"hivm.UNREACHABLE"()
declare i64 @"hivm.UNDEFINED.ACC.VAL"()
declare i64 @"hivm.UNDEFINED.MAX.MIN.CNT"()
"""
# Instructions that spread a scalar over a vector and follow its undefined bits: which operand.
_SPREAD = {
    "hivm.MOVEV.": 1,
    **dict.fromkeys(("hivm.VADDS.", "hivm.VMULS.", "hivm.VMAXS.", "hivm.VMINS."), 2),
}
# What the engine's SCALAR.USE is told.
_ADDRESS, _BRANCH, _STACK, _CALL = range(4)
# Copies and fills, and what they are on the host.
_COPIES = {
    "llvm.memset.": ("llvm.memset.p0.i64", "ptr, i8, i64, i1"),
    "llvm.memcpy.": ("llvm.memcpy.p0.p0.i64", "ptr, ptr, i64, i1"),
    "llvm.memmove.": ("llvm.memmove.p0.p0.i64", "ptr, ptr, i64, i1"),
}
_SILENT = ("llvm.lifetime.", "llvm.assume", "llvm.experimental.noalias", "llvm.dbg.")


def announce_scalar_accesses(text: str, entry: str, *, checks: bool = True) -> str:
    """LLVM IR text of a kernel with the calls; `entry` is the kernel's function.

    Without `checks` only what must be is changed: on-chip addresses become the host's, loads of
    global memory ask where to load from, divisions do not trap, and what the optimizer took for
    unreachable is a fault.
    """
    module = llvm.parse_assembly(text, llvm.create_context())
    if checks:
        _inline_where_undefined_values_pass(module, entry)
    whole = ModuleText(module)
    edits: dict[int, list[str]] = {}
    for function in whole.functions:
        edits |= _Edits(whole, function, function.name == entry, checks).lines()
    result: list[str] = []
    for index, line in enumerate(whole.lines):
        result += edits.get(index, [line])
    known = {function.name for function in module.functions}
    result += [
        f'declare void @"{name}"({types})' for name, types in _COPIES.values() if name not in known
    ]
    return "\n".join(result) + _DECLARATIONS


def _inline_where_undefined_values_pass(module: Any, entry: str) -> None:
    """Inline functions that are given, or return, values which can be undefined."""
    marked: set[str] = set()
    while True:
        own = {f.name: f for f in module.functions if not f.is_declaration}
        found: set[str] = set()
        for function in ModuleText(module).functions:
            values = _values(function, function.name == entry)
            for instruction in function.instructions:
                passes = any(is_local(o) and o.name in values for o in instruction.operands)
                if passes and instruction.called in own:
                    found.add(instruction.called)
                if passes and instruction.opcode == "ret" and function.name != entry:
                    found.add(function.name)
        if not found - marked:
            return
        for name in found - marked:
            own[name].add_function_attribute("alwaysinline")
        marked |= found
        builder = llvm.create_pass_builder(None, llvm.create_pipeline_tuning_options())
        passes_manager = llvm.create_new_module_pass_manager()
        passes_manager.add_always_inliner_pass()
        passes_manager.run(module, builder)


def _values(function: Function, is_entry: bool) -> set[str]:
    """Names of a function's values that can be undefined."""
    nonzero = never_zero(function) if is_entry else set()
    roots = set()
    for instruction in function.instructions:
        if instruction.opcode == "load":
            (pointer,) = instruction.operands
            found = str(pointer.type) in _SPACES or _is_nowhere(pointer)
            found = found and instruction.type in BITS
        elif instruction.opcode in DIVISIONS:
            found = not divides_safely(instruction, nonzero) and instruction.type in BITS
        else:
            found = instruction.called in REGISTERS
        if found:
            roots.add(instruction.name)
    return undefined_values(function, roots)


def _is_nowhere(pointer: Any) -> bool:
    """Whether a pointer is a constant: a field of a descriptor that is null."""
    constant = pointer.value_kind.name in ("constant_expr", "constant_pointer_null")
    return constant and str(pointer.type) == "ptr" and "@" not in str(pointer)


class _Edits:
    """The lines of one function that change."""

    def __init__(self, whole: ModuleText, function: Function, is_entry: bool, checks: bool) -> None:
        self.text = whole.lines
        self.function = function
        self.checks = checks
        self.nonzero = never_zero(function) if is_entry else set()
        self.rules = Rules(_values(function, is_entry) if checks else set())
        self.sizes = llvm.create_target_data(str(whole.module.data_layout))
        self.block = ""
        self.defined: set[str] = set()  # values that the block's code has been asked about
        self.spaces: set[int] = set()  # whose places on the host are needed

    def lines(self) -> dict[int, list[str]]:
        """For each line that changes, what stands there instead."""
        result = {}
        for instruction in self.function.instructions:
            if instruction.block != self.block:
                self.block, self.defined = instruction.block, set()
            own = [self.text[instruction.line]]
            edited = self._edited(instruction, own)
            if edited is not own:
                result[instruction.line] = edited
        if self.spaces:
            first = self.function.instructions[0].line
            result[first] = [*self._bases(), *result.get(first, [self.text[first]])]
        return result

    def _bases(self) -> list[str]:
        return [
            f'  %"base {space}" = call i64 @"hivm.SCALAR.BASE"(i64 {space})'
            for space in sorted(self.spaces)
        ]

    def _edited(self, instruction: Instruction, own: list[str]) -> list[str]:
        opcode = instruction.opcode
        if opcode == "load":
            return self._load(instruction, own)
        if opcode in DIVISIONS and instruction.type in BITS:
            return self._division(instruction, own)
        if opcode == "unreachable":
            return ['  call void @"hivm.UNREACHABLE"()', *own]
        if opcode == "store":
            return self._store(instruction, own)
        if instruction.called.startswith(tuple(_COPIES)):
            return self._copy(instruction, own)
        if not self.checks:
            return own
        if instruction.called in REGISTERS:
            after = (
                f'%"undefined {instruction.name}" = call i64 @"{REGISTERS[instruction.called]}"()'
            )
            return [*own, f"  {after}"]
        if instruction.name in self.rules.values and follows(instruction):
            return [*own, *self.rules.result(instruction)]
        uses = self._uses_of(instruction)
        return [*uses, *own] if uses else own

    def _load(self, instruction: Instruction, own: list[str]) -> list[str]:
        (pointer,) = instruction.operands
        rules, name, kind = self.rules, instruction.name, instruction.type
        if _is_nowhere(pointer):
            lines = [f'  %"{name}" = freeze {kind} zeroinitializer']
            if name in rules.values:
                lines.append(f'  %"undefined {name}" = or i{BITS[kind]} 0, -1')
            return lines
        space = _SPACES.get(str(pointer.type), 0)
        if not space or "atomic" in own[0]:
            return own
        lines = self._use([pointer], _ADDRESS)
        if space != _GM and not self.checks:
            place = self._place(lines, pointer, space)
            return [*lines, f'  %"{name}" = load {kind}, ptr {place}, align 1']
        address = self._address(lines, pointer)
        size = self.sizes.get_abi_size(instruction.value.type)
        operands = f"i64 {address}, i64 {size}, i64 {space}"
        found = rules.temporary(lines, f'call {{ i64, i64 }} @"hivm.SCALAR.LOAD"({operands})')
        place = rules.temporary(lines, f"extractvalue {{ i64, i64 }} {found}, 0")
        source = rules.temporary(lines, f"inttoptr i64 {place} to ptr")
        lines.append(f'  %"{name}" = load {kind}, ptr {source}, align 1')
        if name in rules.values:
            bits = rules.temporary(lines, f"extractvalue {{ i64, i64 }} {found}, 1")
            narrow = (
                f"or i64 {bits}, 0" if BITS[kind] == 64 else f"trunc i64 {bits} to i{BITS[kind]}"
            )
            lines.append(f'  %"undefined {name}" = {narrow}')
        return lines

    def _store(self, instruction: Instruction, own: list[str]) -> list[str]:
        value, pointer = instruction.operands
        space = _SPACES.get(str(pointer.type), 0)
        if not self.checks:
            if space in (0, _GM):
                return own
            lines: list[str] = []
            place = self._place(lines, pointer, space)
            return [*lines, f"  store {typed(value)}, ptr {place}, align 1"]
        lines = self._use([pointer], _ADDRESS)
        if not space:
            lines += self._use([value], _STACK)
            return [*lines, *own] if lines else own
        bits = self._wide_bits(lines, value)
        size = self.sizes.get_abi_size(value.type)
        operands = f"i64 {self._address(lines, pointer)}, i64 {size}, i64 {space}, i64 {bits}"
        found = self.rules.temporary(lines, f'call i64 @"hivm.SCALAR.STORE"({operands})')
        if space == _GM:
            return [*lines, *own]
        target = self.rules.temporary(lines, f"inttoptr i64 {found} to ptr")
        return [*lines, f"  store {typed(value)}, ptr {target}, align 1"]

    def _copy(self, instruction: Instruction, own: list[str]) -> list[str]:
        """Announce a memset, memcpy or memmove of whatever length, and let the host do it."""
        sides = instruction.operands[:2]
        if not any(str(side.type) in _SPACES for side in sides):
            return own
        lines = self._use(instruction.operands[:3], _CALL) if self.checks else []
        size = instruction.operands[2]
        length = ref(size)
        if str(size.type) != "i64":
            length = self.rules.temporary(lines, f"zext {typed(size)} to i64")
        operands = []
        for side, verb in zip(sides, ("WRITE", "READ"), strict=True):
            space = _SPACES.get(str(side.type), 0)
            if not space:
                operands.append(typed(side))
                continue
            if self.checks:
                at = f"i64 {self._address(lines, side)}, i64 {length}, i64 {space}"
                found = self.rules.temporary(lines, f'call i64 @"hivm.SCALAR.{verb}.BYTES"({at})')
                place = self.rules.temporary(lines, f"inttoptr i64 {found} to ptr")
            else:
                place = self._place(lines, side, space)
            operands.append(f"ptr {place}")
        kind = instruction.called[: instruction.called.index(".", len("llvm.")) + 1]
        host = _COPIES[kind][0]
        return [*lines, f'  call void @"{host}"({", ".join(operands)}, i64 {length}, i1 false)']

    def _wide_bits(self, lines: list[str], value: Any) -> str:
        """The undefined bits of a value as an i64."""
        bits = self.rules.bits(value)
        if not self.rules.may_be_undefined(value) or BITS[str(value.type)] == 64:
            return bits
        return self.rules.temporary(lines, f"zext i{BITS[str(value.type)]} {bits} to i64")

    def _address(self, lines: list[str], pointer: Any) -> str:
        return self.rules.temporary(lines, f"ptrtoint {typed(pointer)} to i64")

    def _place(self, lines: list[str], pointer: Any, space: int) -> str:
        """Where the host has what is at an address; unchecked."""
        place = self._address(lines, pointer)
        if space != _GM:
            self.spaces.add(space)
            place = self.rules.temporary(lines, f'add i64 {place}, %"base {space}"')
        return self.rules.temporary(lines, f"inttoptr i64 {place} to ptr")

    def _division(self, instruction: Instruction, own: list[str]) -> list[str]:
        """By 0, and of the least integer by -1, the host would trap; the result is undefined."""
        rules, kind = self.rules, instruction.type
        left, right = instruction.operands
        followed = instruction.name in rules.values
        if divides_safely(instruction, self.nonzero):
            return [*own, *rules.result(instruction)] if followed else own
        lines: list[str] = []
        bad = rules.temporary(lines, f"icmp eq {kind} {ref(right)}, 0")
        if instruction.opcode in ("sdiv", "srem"):
            minus = rules.temporary(lines, f"icmp eq {kind} {ref(right)}, -1")
            least = rules.temporary(
                lines, f"icmp eq {kind} {ref(left)}, {-(1 << (BITS[kind] - 1))}"
            )
            overflow = rules.temporary(lines, f"and i1 {minus}, {least}")
            bad = rules.temporary(lines, f"or i1 {bad}, {overflow}")
        divisor = rules.temporary(lines, f"select i1 {bad}, {kind} 1, {kind} {ref(right)}")
        lines.append(
            f'  %"{instruction.name}" = {instruction.opcode} {kind} {ref(left)}, {divisor}'
        )
        if followed:
            given = rules.any(lines, instruction.operands)
            either = rules.temporary(lines, f"or i1 {bad}, {given}")
            lines.append(f'  %"undefined {instruction.name}" = {rules.spread(either, kind)}')
        return lines

    def _uses_of(self, instruction: Instruction) -> list[str]:
        """What an instruction needs to be defined that does not follow undefined values."""
        if instruction.opcode in ("br", "switch"):
            return self._use(instruction.operands[:1], _BRANCH)
        if instruction.called.startswith(_SILENT):
            return []
        if instruction.called.startswith(_INSTRUCTION):
            function = f'ptrtoint (ptr @"{instruction.called}" to i64)'
            place = next((i for n, i in _SPREAD.items() if instruction.called.startswith(n)), None)
            if place is None or not self.rules.may_be_undefined(instruction.operands[place]):
                return self._use(instruction.operands, function)
            others = [o for i, o in enumerate(instruction.operands) if i != place]
            lines = self._use(others, function)
            bits = self._wide_bits(lines, instruction.operands[place])
            return [*lines, f'  call void @"hivm.SCALAR.OPERAND"(i64 {bits})']
        return self._use(instruction.operands, _CALL)

    def _use(self, operands: list[Any], what: int | str) -> list[str]:
        """Lines that end the block of the grid when an operand is undefined."""
        lines: list[str] = []
        asked = [
            operand
            for operand in operands
            if self.rules.may_be_undefined(operand) and operand.name not in self.defined
        ]
        if asked:
            self.defined.update(operand.name for operand in asked)
            some = self.rules.any(lines, asked)
            wide = self.rules.temporary(lines, f"zext i1 {some} to i64")
            lines.append(f'  call void @"hivm.SCALAR.USE"(i64 {wide}, i64 {what})')
        return lines
