"""Kernels written instruction by instruction, to test single instructions."""

from __future__ import annotations

from typing import Any

from flagc.aicore import EmulatedKernel
from flagc.targets.ascend.final_lowering import KernelFacts
from flagc.targets.ascend.llvm_stage import LlvmStage, link

GM, L1, L0A, L0B, L0C, UB = 1, 2, 3, 4, 5, 6
_HEAD = "i64 %ffts, ptr addrspace(1) %lock, ptr addrspace(1) %workspace"
_TAIL = "i32 %gx, i32 %gy, i32 %gz"
S, V, M, MTE1, MTE2, MTE3, FIX = 0, 1, 2, 3, 4, 5, 10
COUNT_MODE = 1 << 56


def at(space: int, offset: int) -> str:
    """An on-chip address."""
    return f"ptr addrspace({space}) inttoptr (i64 {offset} to ptr addrspace({space}))"


def word(value: int) -> str:
    """A 64-bit operand."""
    return f"i64 {value}"


class Program:
    """One core's code; `p0`, `p1`, ... are its tensor parameters."""

    def __init__(self, tensors: int = 2) -> None:
        self.tensors = tensors
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}

    def do(self, name: str, *operands: str) -> Program:
        types = ", ".join(_type(operand) for operand in operands)
        self.declared[name] = f'declare void @"hivm.{name}"({types})'
        self.lines.append(f'  call void @"hivm.{name}"({", ".join(operands)})')
        return self

    def tensor(self, index: int, offset: int = 0) -> str:
        """The address `offset` bytes into parameter `index`."""
        name = f"%q{len(self.lines)}_{offset if offset >= 0 else f'm{-offset}'}_{index}"
        step = f"getelementptr i8, ptr addrspace(1) %p{index}, i64 {offset}"
        self.lines.append(f"  {name} = {step}")
        return f"ptr addrspace(1) {name}"

    def fence(self, source: int, target: int, event: int = 0) -> Program:
        operands = [word(source), word(target), word(event)]
        return self.do("SET.FLAG.IMM", *operands).do("WAIT.FLAG.IMM", *operands)

    def to_ub(self, index: int, offset: int, size: int) -> Program:
        """Move `size` bytes of a tensor to UB and let V use them."""
        move = "MOV.OUT.TO.UB.ALIGN.b8.V220"
        self.do(move, at(UB, offset), self.tensor(index), word(1 << 4 | size << 16), word(0))
        return self.fence(MTE2, V)

    def from_ub(self, index: int, offset: int, size: int) -> Program:
        """Move `size` bytes that V made to a tensor."""
        self.fence(V, MTE3)
        move = "MOV.UB.TO.OUT.ALIGN.b8.V220"
        return self.do(move, self.tensor(index), at(UB, offset), word(1 << 4 | size << 16), word(0))

    def memref(self, space: int, offset: int, sizes: list[int], strides: list[int]) -> str:
        """A pointer to the descriptor of a buffer in `space`, as the device library takes them."""
        n = len(self.lines)
        extents = f"[{len(sizes)} x i64]"
        kind = f"{{ptr addrspace({space}), ptr addrspace({space}), i64, {extents}, {extents}}}"
        self.lines.append(f"  %memref{n} = alloca {kind}")
        values = [at(space, offset)] * 2 + ["i64 0"]
        values += [
            f"{extents} [{', '.join(f'i64 {v}' for v in part)}]" for part in (sizes, strides)
        ]
        for index, value in enumerate(values):
            field = f"%field{n}_{index}"
            self.lines.append(
                f"  {field} = getelementptr {kind}, ptr %memref{n}, i32 0, i32 {index}"
            )
            self.lines.append(f"  store {value}, ptr {field}")
        return f"ptr %memref{n}"

    def library(self, name: str, *operands: str) -> Program:
        """Call a function of the device library (`load(linked=True)`)."""
        types = ", ".join(_type(operand) for operand in operands)
        self.declared[name] = f"declare void @_mlir_ciface_{name}({types})"
        self.lines.append(f"  call void @_mlir_ciface_{name}({', '.join(operands)})")
        return self

    def count(self, elements: int) -> Program:
        """Count mode: the next vector instructions handle so many elements."""
        self.do("SET.CTRL", word(COUNT_MODE))
        return self.do("MOVEMASK", word(0), word(elements))

    def mask(self, low: int, high: int = 0) -> Program:
        """Mask mode."""
        self.do("SET.CTRL", word(0)).do("MOVEMASK", word(0), word(low))
        return self.do("MOVEMASK", word(1), word(high))

    def text(self, name: str) -> str:
        pointers = "".join(f", ptr addrspace(1) %p{i}" for i in range(self.tensors))
        body = [*self.declared.values(), f"define void @{name}({_HEAD}{pointers}, {_TAIL}) {{"]
        return "\n".join([*body, *self.lines, "  ret void", "}"])


def _type(operand: str) -> str:
    return operand.rpartition(" inttoptr")[0] or operand.rpartition(" ")[0]


def load(
    workspace_bytes: int | None = None, *, linked: bool = False, **programs: Program
) -> EmulatedKernel:
    """A kernel of `aic=`, `aiv=` or both; `linked` with the device library."""
    texts = {core: program.text(f"k_{core}") for core, program in programs.items()}
    entries = {core: f"k_{core}" for core in programs}
    if linked:
        texts = {core: link(text, core, entries[core], optimize=2) for core, text in texts.items()}
    return EmulatedKernel(LlvmStage(texts, KernelFacts(entries, None, workspace_bytes)))


def run(program: Program, *tensors: Any, core: str = "aiv", **options: Any) -> Any:
    return load(**{core: program}).run((1,), list(tensors), **options)
