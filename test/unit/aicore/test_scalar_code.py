"""Scalar code: on-chip addresses, absent descriptors, and what would end the process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from assembling import MTE2, MTE3, UB, Program, S, at, load, run, word

from flagc.aicore import KernelFault

X = np.arange(64, dtype=np.float32)
MOVE_OUT = "MOV.UB.TO.OUT.ALIGN.b8.V220"
checked = pytest.mark.parametrize("checks", [True, False])


def moved_out(program: Program, offset: int, size: int, **options: Any) -> np.ndarray:
    """What scalar code has left in UB."""
    program.fence(S, MTE3)
    move = [word(1 << 4 | size << 16), word(0)]
    program.do(MOVE_OUT, program.tensor(1), at(UB, offset), *move)
    out = np.zeros(size, np.uint8)
    run(program, X, out, **options)
    return out


@checked
def test_addresses_are_offsets_from_0(checks: bool) -> None:
    program = Program().to_ub(0, 0, 256).fence(MTE2, S)
    program.lines += [
        f"  %v = load float, {at(UB, 0)}",
        f"  %w = load float, {at(UB, 252)}",
        "  %sum = fadd float %v, %w",
        f"  store float %sum, {at(UB, 0)}",
        f"  %place = ptrtoint {at(UB, 64)} to i64",
        f"  store i64 %place, {at(UB, 8)}",
    ]
    out = moved_out(program, 0, 16, checks=checks)
    assert out[:4].view(np.float32)[0] == X[63]
    assert out[8:].view(np.int64)[0] == 64


@checked
def test_copies_and_fills_on_the_chip(checks: bool) -> None:
    program = Program().to_ub(0, 0, 256).fence(MTE2, S)
    tensor = program.tensor(0)
    program.declared["copy"] = (
        "declare void @llvm.memcpy.p6.p6.i32(ptr addrspace(6), ptr addrspace(6), i32, i1)"
    )
    program.declared["fill"] = "declare void @llvm.memset.p6.i64(ptr addrspace(6), i8, i64, i1)"
    program.declared["in"] = (
        "declare void @llvm.memmove.p6.p1.i64(ptr addrspace(6), ptr addrspace(1), i64, i1)"
    )
    program.lines += [
        f"  call void @llvm.memset.p6.i64({at(UB, 512)}, i8 7, i64 16, i1 false)",
        f"  call void @llvm.memcpy.p6.p6.i32({at(UB, 516)}, {at(UB, 4)}, i32 4, i1 false)",
        f"  call void @llvm.memmove.p6.p1.i64({at(UB, 520)}, {tensor}, i64 4, i1 false)",
    ]
    out = moved_out(program, 512, 16, checks=checks)
    assert bytes(out) == bytes([7] * 4) + X[1].tobytes() + X[0].tobytes() + bytes([7] * 4)


def compared(address: int, out: np.ndarray) -> set[str]:
    """Instructions of the library's compare of 64 halves with those at `address`."""
    program = Program(3)
    program.to_ub(0, 0, 128).to_ub(1, address, 128)
    operands = [program.memref(UB, offset, [64], [1]) for offset in (0, address, 512)]
    program.library("vcmp_ne_1d_half", *operands)
    program.from_ub(2, 512, 8)
    left = np.arange(64, dtype=np.float16)
    right = np.where(left % 3 == 0, left, -1).astype(np.float16)
    report = load(linked=True, aiv=program).run((1,), [left, right, out], trace=True)
    return {record.name for record in report.trace}


def test_the_library_compares_as_on_the_chip() -> None:
    # Element by element only where 256 bytes from a buffer's beginning would leave UB.
    for address, whole in ((1024, True), (192 * 1024 - 128, False)):
        out = np.zeros(8, np.uint8)
        names = compared(address, out)
        assert ("VCMPV.NE.f16" in names) == whole
        assert ("SCALAR.LOAD" in names) == (not whole)
        assert list(np.unpackbits(out, bitorder="little")) == [i % 3 != 0 for i in range(64)]


@checked
def test_a_descriptor_may_be_absent_when_it_is_not_used(checks: bool) -> None:
    # The library's AND of masks reads fields of a buffer that it passes as null.
    for bits in (16, 64, 256):
        program = Program(3).to_ub(0, 0, 32).to_ub(1, 256, 32)
        operands = [program.memref(UB, offset, [bits], [1]) for offset in (0, 256, 512, 768)]
        program.library("vand_1d_bool", *operands).from_ub(2, 512, bits // 8)
        random = np.random.default_rng(bits)
        left, right = (random.integers(0, 256, 32, dtype=np.uint8) for _ in range(2))
        out = np.zeros(bits // 8, np.uint8)
        load(linked=True, aiv=program).run((1,), [left, right, out], checks=checks)
        assert (out == (left & right)[: bits // 8]).all()


def test_a_field_of_an_absent_descriptor_is_undefined() -> None:
    program = Program()
    program.lines += [
        "  %v = load i64, ptr inttoptr (i64 16 to ptr)",
        "  %low = and i64 %v, 0",
        "  store i64 %low, ptr addrspace(1) %p1",
    ]
    out = np.ones(2, np.int64)
    run(program, X, out)
    assert list(out) == [0, 1]
    program.lines.append("  store i64 %v, ptr addrspace(1) %p1")
    with pytest.raises(KernelFault, match=r"stores an undefined value to a tensor.* absent descr"):
        run(program, X, out)


WILD = "  %v = load volatile i64, ptr %wild"


@checked
@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (["  %wild = inttoptr i64 %ffts to ptr", WILD], "touches address 0x0, which is no memory"),
        (["  call void @llvm.trap()"], "gives up, or has undefined behaviour"),
    ],
)
def test_a_crash_is_a_fault(lines: list[str], what: str, checks: bool) -> None:
    program = Program()
    program.declared |= {"line": 'declare void @"hivm.LINE"(i64)'}
    program.declared |= {"trap": "declare void @llvm.trap()"}
    program.lines += ['  call void @"hivm.LINE"(i64 12)', *lines]
    for _ in range(2):  # the second finds nothing left behind by the first
        with pytest.raises(KernelFault) as caught:
            load(aiv=program).run((3,), [X, X], checks=checks, threads=2)
        assert caught.value.fault.kind == "crash"
        assert "line 12, block" in str(caught.value)
        assert what in str(caught.value)


def test_a_stack_that_overflows_is_a_fault() -> None:
    # Blocks with two kinds of cores run on stacks of 1 MB.
    program = Program()
    program.lines += [
        "  %stack = alloca [4096 x [1024 x i8]]",
        "  %low = getelementptr i8, ptr %stack, i64 3144704",
        "  store volatile i8 1, ptr %low",
    ]
    with pytest.raises(KernelFault) as caught:
        load(aic=Program(), aiv=program).run((1,), [X, X])
    assert caught.value.fault.kind == "crash"
