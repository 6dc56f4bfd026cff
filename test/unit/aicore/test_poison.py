"""Undefined values: where they come from, what they may do, and where they are a fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from assembling import MTE2, MTE3, UB, Program, V, at, load, run, word

from flagc.aicore import KernelFault
from support.emulating import emulated

X = np.arange(64, dtype=np.float32)
OUTSIDE = 4 * len(X)
MOVE_OUT = "MOV.UB.TO.OUT.ALIGN.b8.V220"
MOVE_IN = "MOV.OUT.TO.UB.ALIGN.b8.V220"
BINARY = 1 | 1 << 8 | 1 << 16 | 8 << 24 | 8 << 32 | 8 << 40 | 1 << 56
UNARY = 1 | 1 << 16 | 8 << 32 | 8 << 40 | 1 << 56


def scalar(*lines: str) -> Program:
    """Scalar code; `%x` is X[63], `%poison` is read behind X, and `%ub` is UB's beginning."""
    program = Program()
    program.lines += [
        '  call void @"hivm.LINE"(i64 7)',
        f"  %near = getelementptr i8, ptr addrspace(1) %p0, i64 {OUTSIDE - 4}",
        f"  %far = getelementptr i8, ptr addrspace(1) %p0, i64 {OUTSIDE}",
        "  %x = load i32, ptr addrspace(1) %near",
        "  %poison = load i32, ptr addrspace(1) %far",
        f"  %ub = inttoptr i64 0 to ptr addrspace({UB})",
        '  call void @"hivm.LINE"(i64 9)',
        *lines,
    ]
    program.declared["line"] = 'declare void @"hivm.LINE"(i64)'
    return program


def result_of(program: Program, **options: Any) -> tuple[int, Any]:
    out = np.zeros(1, np.int32)
    report = run(program, X, out, **options)
    return int(out[0]), report


def poisoned(program: Program, *tensors: Any) -> str:
    with pytest.raises(KernelFault) as caught:
        run(program, *(tensors or (X, np.zeros(64, np.float32))))
    assert caught.value.fault.kind == "poison"
    return str(caught.value)


STORE = "  store i32 %y, ptr addrspace(1) %p1"
X63 = int(X.view(np.int32)[63])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["%c = icmp eq i32 %gx, 1", "%y = select i1 %c, i32 %x, i32 %poison"], X63),
        (["%h = and i32 %poison, 0", "%y = or i32 %h, 5"], 5),
        (["%h = or i32 %poison, -1", "%y = lshr i32 %h, 28"], 15),
        (["%h = shl i32 %poison, 8", "%y = and i32 %h, 255"], 0),
        (["%w = zext i32 %poison to i64", "%s = lshr i64 %w, 32", "%y = trunc i64 %s to i32"], 0),
    ],
)
def test_what_does_not_depend_on_the_undefined_bits_is_fine(
    lines: list[str], expected: int
) -> None:
    for checks in (True, False):
        got, report = result_of(scalar(*(f"  {line}" for line in lines), STORE), checks=checks)
        assert got == expected
        assert report.speculative_reads == 1
        assert report.speculative_line == 7
        assert "256 bytes after the beginning of argument 0" in report.speculative_text


@pytest.mark.parametrize(
    "lines",
    [
        ["%y = add i32 %poison, 1"],
        ["%c = icmp eq i32 %gx, 2", "%y = select i1 %c, i32 %x, i32 %poison"],
        ["%c = icmp slt i32 %poison, 1", "%y = select i1 %c, i32 1, i32 0"],
        ["%h = and i32 %poison, 1", "%y = or i32 %h, 4"],
        ["%h = shl i32 %poison, 8", "%y = and i32 %h, 256"],
        [
            "%f = bitcast i32 %poison to float",
            "%g = fmul float %f, 0.0",
            "%y = fptosi float %g to i32",
        ],
        ["%y = call i32 @llvm.smax.i32(i32 %poison, i32 7)"],
    ],
)
def test_an_undefined_value_does_not_reach_a_tensor(lines: list[str]) -> None:
    program = scalar(*(f"  {line}" for line in lines), STORE)
    if "llvm.smax" in lines[0]:
        program.declared["smax"] = "declare i32 @llvm.smax.i32(i32, i32)"
    message = poisoned(program)
    assert "line 9, block 0 (AIV): SCALAR.STORE on pipe S: stores an undefined value" in message
    assert "line 7 reads 4 bytes outside the tensors of this launch: 256 bytes after" in message


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (
            [
                "%a = getelementptr i32, ptr addrspace(1) %p0, i32 %poison",
                "%y = load i32, ptr addrspace(1) %a",
            ],
            "an address",
        ),
        (
            ["%c = icmp eq i32 %poison, 3", "br i1 %c, label %one, label %one", "one:"],
            "the condition of a branch",
        ),
        (
            ["%w = zext i32 %poison to i64", 'call void @"hivm.MOVEMASK"(i64 0, i64 %w)'],
            "an operand of MOVEMASK",
        ),
    ],
)
def test_an_undefined_value_decides_nothing(lines: list[str], what: str) -> None:
    program = scalar(*(line if line.endswith(":") else f"  {line}" for line in lines))
    program.declared["mask"] = 'declare void @"hivm.MOVEMASK"(i64, i64)'
    assert f"an undefined value is {what}" in poisoned(program)


def test_undefined_values_go_round_loops() -> None:
    lines = """  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %v = phi i32 [ 0, %entry ], [ %old, %loop ]
  %old = phi i32 [ 0, %entry ], [ %poison, %loop ]
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, COUNT
  br i1 %more, label %loop, label %end
end:
  store i32 %v, ptr addrspace(1) %p1"""
    for count in (1, 2):
        program = scalar(lines.replace("COUNT", str(count)))
        program.lines.insert(0, "entry:")
        assert result_of(program)[0] == 0
    program = scalar(lines.replace("COUNT", "3"))
    program.lines.insert(0, "entry:")
    poisoned(program)


def test_undefined_values_in_functions() -> None:
    program = scalar("  %y = call i32 @pick(i32 %poison, i32 %x, i32 %gx)", STORE)
    program.declared["pick"] = """define internal i32 @pick(i32 %a, i32 %b, i32 %c) noinline {
  %first = icmp eq i32 %c, 2
  %r = select i1 %first, i32 %a, i32 %b
  ret i32 %r
}""".replace(" noinline", "")
    assert result_of(program)[0] == X63
    program.declared["pick"] = program.declared["pick"].replace("%c, 2", "%c, 1")
    poisoned(program)


def in_ub(*more: str) -> Program:
    """UB 0..31: eight words, of which word 3 is undefined."""
    lines = []
    for index in range(8):
        value = "%poison" if index == 3 else str(index)
        lines.append(f"  %a{index} = getelementptr i32, ptr addrspace({UB}) %ub, i32 {index}")
        lines.append(f"  store i32 {value}, ptr addrspace({UB}) %a{index}")
    return scalar(*lines, *more).fence(0, V)


def moved_out(program: Program, offset: int, size: int) -> Program:
    program.fence(V, MTE3).fence(0, MTE3, 1)
    return program.do(
        MOVE_OUT, program.tensor(1), at(UB, offset), word(1 << 4 | size << 16), word(0)
    )


def test_a_vector_made_of_an_undefined_scalar_is_undefined() -> None:
    spread = ["  %high = shl i32 %poison, 8", "  %wide = zext i32 %high to i64"]
    for name, bytes_defined in (("MOVEV.s32", 1), ("VADDS.s32", 0), ("VMAXS.s32", 0)):
        program = scalar(*spread).count(8)
        program.do("MOVEV.s32", at(UB, 0), word(7), word(UNARY))
        operands = [at(UB, 512)] + ([] if name == "MOVEV.s32" else [at(UB, 0)])
        program.do(name, *operands, "i64 %wide", word(UNARY))
        program.do("VADDS.s32", at(UB, 1024), at(UB, 0), word(1), word(UNARY))  # not of this one
        lines = list(program.lines)
        out = np.zeros(32, np.uint8)
        run(moved_out(program, 1024, 32), X, out)
        assert list(out.view(np.int32)) == [8] * 8
        if bytes_defined:
            program.lines = list(lines)
            run(moved_out(program, 512, bytes_defined), X, out)
            assert out[0] == 0
        program.lines = list(lines)
        poisoned(moved_out(program, 512, bytes_defined + 1))
        # What is written over is defined again.
        program.lines = list(lines)
        program.do("MOVEV.s32", at(UB, 512), word(3), word(UNARY))
        run(moved_out(program, 512, 32), X, out)
        assert list(out.view(np.int32)) == [3] * 8


def test_vector_instructions_pass_undefined_elements_on() -> None:
    program = in_ub().count(8)
    program.do("VADDS.s32", at(UB, 256), at(UB, 0), word(10), word(UNARY))
    program.do("VCONV.s322f32r.v220", at(UB, 512), at(UB, 256), word(UNARY))
    out = np.zeros(64, np.float32)
    lines = list(program.lines)
    run(moved_out(program, 512, 12), X, out)
    assert out[:3].tolist() == [10, 11, 12]
    program.lines = lines
    message = poisoned(moved_out(program, 512, 16))
    assert "MOV.UB.TO.OUT.ALIGN.b8.V220 on pipe MTE3: stores an undefined value" in message


def test_a_selection_that_leaves_the_undefined_element_out_defines() -> None:
    for mask, fine in ((0xF7, True), (0xFF, False)):
        program = in_ub(
            f"  %m = getelementptr i8, ptr addrspace({UB}) %ub, i32 64",
            f"  store i64 {mask}, ptr addrspace({UB}) %m",
            f"  %z = getelementptr i8, ptr addrspace({UB}) %ub, i32 96",
            f"  store i64 0, ptr addrspace({UB}) %z",
        )
        program.do("SET.CMPMASK", at(UB, 96)).count(8)
        # Mode 1: the right operand is the mask, the other value the scalar in CMPMASK.
        program.do("VSEL.f32.1", at(UB, 256), at(UB, 0), at(UB, 64), word(BINARY | 1 << 48))
        moved_out(program, 256, 32)
        if fine:
            out = np.zeros(64, np.int32)
            run(program, X, out)
            assert out[:8].tolist() == [0, 1, 2, 0, 4, 5, 6, 7]
        else:
            poisoned(program)


def test_a_reduction_of_an_undefined_element_is_undefined() -> None:
    reduce = 1 | 1 << 16 | 8 << 32 | 1 << 56
    for mask, fine in ((0xF7, True), (0xFF, False)):
        program = in_ub().mask(mask)
        program.do("VCADD.f32.order", at(UB, 256), at(UB, 0), word(reduce), word(0))
        moved_out(program, 256, 4)
        if fine:
            run(program, X, X.copy())
        else:
            poisoned(program)


def test_masks_are_undefined_bit_by_bit() -> None:
    # A compare of 64 elements, of which 20 are there: 20 bits are known.
    for bits, fine in ((16, True), (24, False)):
        program = Program().to_ub(0, 0, 80).count(64)
        program.do("VCMPV.EQ.s32", at(UB, 512), at(UB, 0), at(UB, 0), word(BINARY)).count(4)
        program.do("VNOT.u16", at(UB, 1024), at(UB, 512), word(UNARY))
        program.do("VAND.u16", at(UB, 1536), at(UB, 1024), at(UB, 512), word(BINARY))
        program.from_ub(1, 1536, bits // 8)
        out = np.full(8, 255, np.uint8)
        if fine:
            run(program, X, out)
            assert out[:2].tolist() == [0, 0]
        else:
            poisoned(program, X, out)


def test_a_word_with_one_unwritten_byte_is_no_fault_and_one_with_two_is() -> None:
    for size, fine in ((3, True), (2, False)):
        program = Program().to_ub(0, 0, size).count(2)
        program.do("VNOT.u16", at(UB, 256), at(UB, 0), word(UNARY)).from_ub(1, 256, size)
        out = np.zeros(4, np.uint8)
        source = np.array([1, 2, 3], np.uint8)
        if fine:
            run(program, source, out)
            assert out.tolist() == [254, 253, 252, 0]
        else:
            with pytest.raises(KernelFault) as caught:
                run(program, source, out)
            assert caught.value.fault.kind == "unwritten"


@pytest.mark.parametrize("operation", ["sdiv", "udiv", "srem", "urem"])
def test_a_division_by_zero_is_undefined_and_does_not_trap(operation: str) -> None:
    lines = [
        "  %zero = sub i32 %gx, 1",
        f"  %q = {operation} i32 7, %zero",
        "  %c = icmp eq i32 %zero, 0",
        "  %y = select i1 %c, i32 42, i32 %q",
    ]
    for checks in (True, False):
        assert result_of(scalar(*lines, STORE), checks=checks)[0] == 42
    poisoned(scalar(*lines[:2], "  %y = add i32 %q, 1", STORE))
    good = scalar(f"  %y = {operation} i32 -7, %three", STORE)
    good.lines.insert(0, "  %three = add i32 %gx, 2")
    expected = {"sdiv": -2, "udiv": (2**32 - 7) // 3, "srem": -1, "urem": (2**32 - 7) % 3}
    assert result_of(good)[0] == expected[operation]


def test_the_least_integer_by_minus_one_does_not_trap() -> None:
    lines = ["  %m = sub i32 0, %gx", "  %y = sdiv i32 -2147483648, %m", STORE]
    poisoned(scalar(*lines))
    result_of(scalar(*lines), checks=False)


@triton.jit
def masked_gather(x, index, out, n, rows, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    j = tl.load(index + i, mask=mask, other=0)
    value = tl.load(x + j, mask=mask & (j < rows), other=-1.0)
    tl.store(out + i, value, mask=mask)


@pytest.mark.parametrize("kind", ["fp32", "fp16", "i32"])
def test_masked_gather(kind: str) -> None:
    types = {"x": f"*{kind}", "index": "*i32", "out": f"*{kind}", "n": "i32", "rows": "i32"}
    kernel = emulated(masked_gather, types, {"BLOCK": 128})
    dtype = {"fp32": torch.float32, "fp16": torch.float16, "i32": torch.int32}[kind]
    x = (torch.randn(50) * 100).to(dtype)
    index = torch.randint(0, 2**30, (200,), dtype=torch.int32)  # far away, if it were read
    index[::3] = torch.randint(0, 50, (67,), dtype=torch.int32)
    out = torch.zeros(200, dtype=dtype)
    report = kernel.run((2,), [x, index, out, 200, 50])
    inside = index < 50
    expected = torch.where(inside, x[torch.where(inside, index, 0).long()], -1)
    assert torch.equal(out, expected.to(dtype))
    # Lanes from 200 on have index 0, which is inside.
    assert report.speculative_reads == int((~inside).sum())
    untouched = out.clone()
    kernel.run((2,), [x, index, out, 200, 50], checks=False)
    assert torch.equal(out, untouched)
    with pytest.raises(
        KernelFault, match=r"line .*stores an undefined value to a tensor"
    ) as caught:
        kernel.run((2,), [x, index, out, 200, 2**31 - 1])
    assert caught.value.fault.kind == "poison"
    line = masked_gather.starting_line_number
    assert line < caught.value.fault.line <= line + 7


@triton.jit
def index_select(x, index, out, rows, columns, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.arange(0, BR)[:, None]
    c = tl.arange(0, BC)[None, :]
    mask = (r < rows) & (c < columns)
    j = tl.load(index + r, mask=r < rows, other=0)
    tl.store(out + r * columns + c, tl.load(x + j * columns + c, mask=mask, other=0), mask=mask)


def test_index_select() -> None:
    types = {**dict.fromkeys(("x", "out"), "*fp32"), "index": "*i64", "rows": "i32"}
    kernel = emulated(index_select, {**types, "columns": "i32"}, {"BR": 16, "BC": 64})
    x, index = torch.randn(9, 33), torch.randint(0, 9, (13,))
    out = torch.zeros(13, 33)
    kernel.run((1,), [x, index, out, 13, 33])
    assert torch.equal(out, x[index])


@triton.jit
def shifted(x, out, n, shift, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    source = (i + shift) % n
    tl.store(out + i, tl.load(x + source, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def padded(x, out, n, before, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    source = (i - before) * 1
    inside = (source >= 0) & (source < n)
    tl.store(out + i, tl.load(x + source, mask=inside, other=9.0))


@triton.jit
def quotients(a, b, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(a + i, mask=i < n, other=0)
    y = tl.load(b + i, mask=i < n, other=0)
    tl.store(out + i, x // y, mask=i < n)


def test_roll() -> None:
    types = {"x": "*fp32", "out": "*fp32", "n": "i32", "shift": "i32"}
    x, out = torch.randn(50), torch.zeros(50)
    emulated(shifted, types, {"BLOCK": 64}).run((1,), [x, out, 50, 13])
    assert torch.equal(out, x.roll(-13))


def test_constant_pad() -> None:
    types = {"x": "*fp32", "out": "*fp32", "n": "i32", "before": "i32"}
    x, out = torch.randn(50), torch.zeros(64)
    emulated(padded, types, {"BLOCK": 64}).run((1,), [x, out, 50, 6])
    assert torch.equal(out, torch.nn.functional.pad(x, (6, 8), value=9.0))


def test_integer_division_in_masked_lanes() -> None:
    types = {**dict.fromkeys(("a", "b", "out"), "*i64"), "n": "i32"}
    a = torch.randint(-1000, 1000, (50,))
    b = torch.randint(1, 9, (50,))
    out = torch.zeros(50, dtype=torch.int64)
    kernel = emulated(quotients, types, {"BLOCK": 64})
    kernel.run((1,), [a, b, out, 50])
    assert torch.equal(out, torch.div(a, b, rounding_mode="trunc"))
    b[7] = 0
    with pytest.raises(KernelFault, match="undefined"):
        kernel.run((1,), [a, b, out, 50])


def through_workspace(begin: int, size: int, scalar_store: bool = False) -> Program:
    """UB 0..31 to workspace 64..95, and workspace from `begin` on to UB 1024 and on to a tensor."""
    program = in_ub().fence(0, MTE3, 2)
    program.lines.append("  %place = getelementptr i8, ptr addrspace(1) %workspace, i64 64")
    program.lines.append(f"  %from = getelementptr i8, ptr addrspace(1) %workspace, i64 {begin}")
    if scalar_store:
        program.lines += [
            "  store i32 %poison, ptr addrspace(1) %place",
            "  store i32 %x, ptr addrspace(1) %from",
            "  %back = load i32, ptr addrspace(1) %place",
            "  store i32 %back, ptr addrspace(1) %p1",
        ]
        return program
    move = [word(1 << 4 | 32 << 16), word(0)]
    program.do(MOVE_OUT, "ptr addrspace(1) %place", at(UB, 0), *move).fence(MTE3, MTE2)
    move = [word(1 << 4 | size << 16), word(0)]
    program.do(MOVE_IN, at(UB, 1024), "ptr addrspace(1) %from", *move).fence(MTE2, MTE3)
    return program.do(MOVE_OUT, program.tensor(1), at(UB, 1024), *move)


@pytest.mark.parametrize(
    ("begin", "size", "fails"), [(64, 12, False), (80, 16, False), (64, 13, True), (60, 12, True)]
)
def test_undefined_values_come_back_from_workspace(begin: int, size: int, fails: bool) -> None:
    kernel = load(256, aiv=through_workspace(begin, size))
    out = np.zeros(size, np.uint8)
    for checks in (True, False):
        if fails and checks:
            with pytest.raises(KernelFault, match="stores an undefined value to a tensor"):
                kernel.run((1,), [X, out])
        else:
            kernel.run((1,), [X, out], checks=checks)
    if not fails:
        assert list(out.view(np.int32)) == list(range((begin - 64) // 4, (begin - 64 + size) // 4))


def test_scalar_code_finds_in_workspace_what_it_has_stored() -> None:
    out = np.zeros(1, np.int32)
    load(256, aiv=through_workspace(64, 4, scalar_store=True)).run((1,), [X, out])
    assert out[0] == X63  # the same place, written again
    with pytest.raises(KernelFault, match="stores an undefined value to a tensor"):
        load(256, aiv=through_workspace(72, 4, scalar_store=True)).run((1,), [X, out])
