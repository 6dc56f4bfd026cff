"""The matrix instructions of a kernel's PTX: family, shape, types, and the dot's line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flagc.targets.cuda.ptx_reader import PtxInstruction

# Bytes of K in one dense tcgen05.mma, of operands packed in bytes (PTX ISA, "Matrix shape").
_TCGEN05_K_BYTES = 32
_TYPE_BITS = {"tf32": 32, "f16": 16, "bf16": 16, "f8f6f4": 8, "i8": 8}

# Values of the type fields of tcgen05's instruction descriptor, by kind (PTX ISA, "Instruction
# descriptor"): of D, and of A and B.
_D_TYPES = {0: "f16", 1: "f32", 2: "s32"}
_AB_TYPES = {
    "f16": {0: "f16", 1: "bf16"},
    "tf32": {2: "tf32"},
    "f8f6f4": {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"},
    "i8": {0: "u8", 1: "s8"},
}


@dataclass(frozen=True)
class MatrixInstruction:
    """A matrix instruction that occurs `count` times for one line of the kernel.

    Attributes:
        family: `mma.sync`, `wgmma` or `tcgen05`.
        shape: `m64n128k16`; '' when PTX does not say it as a constant.
        a, b, accumulator: PTX's names of the types; '' when not known.
        file, line: the dot's place, the file without folders.
    """

    family: str
    shape: str
    a: str
    b: str
    accumulator: str
    file: str
    line: int
    count: int = 1

    @property
    def version(self) -> int:
        """The number that Triton gives the family: 2, 3 or 5."""
        return {"mma.sync": 2, "wgmma": 3, "tcgen05": 5}[self.family]


def matrix_instructions(instructions: Sequence[PtxInstruction]) -> list[MatrixInstruction]:
    """Return the matrix instructions among `instructions`, equal ones of a line counted."""
    constants = _constants(instructions)
    counts: dict[MatrixInstruction, int] = {}
    for instruction in instructions:
        if (matrix := _matrix_instruction(instruction, constants)) is not None:
            counts[matrix] = counts.get(matrix, 0) + 1
    return [
        MatrixInstruction(m.family, m.shape, m.a, m.b, m.accumulator, m.file, m.line, count)
        for m, count in counts.items()
    ]


def _matrix_instruction(
    instruction: PtxInstruction, constants: dict[str, int]
) -> MatrixInstruction | None:
    opcode, place = instruction.opcode, (instruction.file, instruction.line)
    if opcode[:2] == ("wgmma", "mma_async"):
        # wgmma.mma_async[.sp].sync.aligned.SHAPE.D.A.B
        shape, accumulator, a, b = _after_shape(opcode, 3)
        return MatrixInstruction("wgmma", shape, a, b, accumulator, *place)
    if opcode[0] == "mma":
        # mma.sync.aligned.SHAPE.row.col[.modifiers].D.A.B.C; the types stand last
        accumulator, a, b = opcode[-4:-1]
        return MatrixInstruction("mma.sync", _shape(opcode), a, b, accumulator, *place)
    if opcode[:2] == ("tcgen05", "mma"):
        return _tcgen05(instruction, constants)
    return None


def _after_shape(opcode: tuple[str, ...], types: int) -> tuple[str, ...]:
    shape = _shape(opcode)
    index = opcode.index(shape)
    return (shape, *opcode[index + 1 : index + 1 + types])


def _shape(opcode: Iterable[str]) -> str:
    return next(part for part in opcode if part[0] == "m" and part[1:2].isdigit())


def _tcgen05(instruction: PtxInstruction, constants: dict[str, int]) -> MatrixInstruction:
    """tcgen05.mma.cta_group::1.kind::f16 [d], a, b, descriptor, enable; shape in `descriptor`."""
    kind = next(p.partition("::")[2] for p in instruction.opcode if p.startswith("kind::"))
    place = (instruction.file, instruction.line)
    descriptor = constants.get(instruction.operands[3])
    if descriptor is None or kind not in _AB_TYPES:  # block-scaled kinds lay it out otherwise
        return MatrixInstruction("tcgen05", "", kind, kind, "", *place)
    n = (descriptor >> 17 & 0x3F) << 3
    m = (descriptor >> 24 & 0x1F) << 4
    k = _TCGEN05_K_BYTES * 8 // _TYPE_BITS[kind]
    names = _AB_TYPES[kind]
    a, b = (names.get(descriptor >> bit & 7, "") for bit in (7, 10))
    accumulator = _D_TYPES.get(descriptor >> 4 & 3, "")
    return MatrixInstruction("tcgen05", f"m{m}n{n}k{k}", a, b, accumulator, *place)


def _constants(instructions: Sequence[PtxInstruction]) -> dict[str, int]:
    """Return the registers that are only ever set to one literal number."""
    values: dict[str, int | None] = {}
    for instruction in instructions:
        if instruction.opcode[0] != "mov" or len(instruction.operands) != 2:
            continue
        register, value = instruction.operands
        literal = int(value) if value.lstrip("-").isdigit() else None
        values[register] = literal if values.get(register, literal) == literal else None
    return {register: value for register, value in values.items() if value is not None}
