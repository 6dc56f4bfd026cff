"""Cross-core flags: within a block, among its AIVs, and among all blocks of a launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from assembling import MTE2, MTE3, UB, Program, V, at, load, word

from flagc.aicore import KernelFault
from flagc.errors import KernelError

CUBE, VECTOR = 1, 2
F32 = np.float32
UNARY = 0x0100_0808_0001_0001
MOVE = word(1 << 4 | 32 << 16)


def sync(program: Program, name: str, core: int, flag: int) -> Program:
    return program.do(f"SYNC.{name}", word(core), word(MTE3), word(MTE2), word(flag))


def every(program: Program, scope: str, core: int, mode: int, flag: int = 0) -> Program:
    return program.do(f"SYNC.{scope}.ALL", word(core), word(mode), word(flag))


def index(program: Program, instruction: str) -> str:
    """A register with the block's or sub-block's number."""
    program.declared[instruction] = f'declare i64 @"hivm.{instruction}"()'
    name = f"%i{len(program.lines)}"
    program.lines.append(f'  {name} = call i64 @"hivm.{instruction}"()')
    return name


def place(program: Program, parameter: int, number: str, count: int | None = None) -> str:
    """The address of 32 bytes of a tensor: those of `number`, or of the next one of `count`."""
    n = len(program.lines)
    program.lines.append(f"  %next{n} = add i64 {number}, {0 if count is None else 1}")
    program.lines.append(f"  %turn{n} = urem i64 %next{n}, {count or 1 << 30}")
    program.lines.append(f"  %bytes{n} = mul i64 %turn{n}, 32")
    step = f"getelementptr i8, ptr addrspace(1) %p{parameter}, i64 %bytes{n}"
    program.lines.append(f"  %place{n} = {step}")
    return f"ptr addrspace(1) %place{n}"


def ring(count: int, number: str, wait: Any) -> Program:
    """Each core stores its part of p0, plus 1, in p1; `wait`; then copies its neighbour's to p2."""
    program = Program(3).count(8)
    own = index(program, number)
    source = place(program, 0, own)
    program.do("MOV.OUT.TO.UB.ALIGN.b8.V220", at(UB, 0), source, MOVE, word(0)).fence(MTE2, V)
    program.do("VADDS.f32", at(UB, 64), at(UB, 0), "float 1.0", word(UNARY)).fence(V, MTE3)
    target = place(program, 1, own)
    program.do("MOV.UB.TO.OUT.ALIGN.b8.V220", target, at(UB, 64), MOVE, word(0))
    wait(program)
    neighbour = place(program, 1, own, count)
    program.do("MOV.OUT.TO.UB.ALIGN.b8.V220", at(UB, 128), neighbour, MOVE, word(0))
    program.fence(MTE2, MTE3)
    result = place(program, 2, own)
    return program.do("MOV.UB.TO.OUT.ALIGN.b8.V220", result, at(UB, 128), MOVE, word(0))


def round_trip(program: Program, blocks: int, cores: int, **more: Program) -> None:
    x = np.random.randint(-99, 99, (cores, 8)).astype(F32)
    middle, out = np.full_like(x, np.nan), np.zeros_like(x)
    load(aiv=program, **more).run((blocks,), [x, middle, out])
    assert np.array_equal(out, np.roll(x + 1, -1, axis=0))


def by_flags(program: Program) -> None:
    sync(sync(program, "GRID.SET", VECTOR, 5), "BLOCK.WAIT", VECTOR, 5)


@pytest.mark.parametrize("wait", [by_flags, lambda program: every(program, "GRID", VECTOR, 0)])
@pytest.mark.parametrize("blocks", [1, 2, 7, 40])
def test_all_blocks_wait_for_each_other(wait: Any, blocks: int) -> None:
    round_trip(ring(blocks, "GET.BLOCK.IDX", wait), blocks, blocks)


@pytest.mark.parametrize(
    "wait",
    [
        lambda program: sync(sync(program, "SUBBLOCK.SET", VECTOR, 3), "BLOCK.WAIT", VECTOR, 3),
        lambda program: every(program, "SUBBLOCK", VECTOR, 1),
    ],
)
def test_the_sub_blocks_of_a_block_wait_for_each_other(wait: Any) -> None:
    round_trip(ring(2, "GET.SUBBLOCKID", wait), 1, 2, aic=Program(3))


def test_everybody_waits_for_everybody() -> None:
    """Cube cores come late: they first wait for a flag of their own vector cores."""

    def late(program: Program) -> None:
        sync(program, "BLOCK.SET", VECTOR, 1)
        every(program, "GRID", CUBE | VECTOR, 3)

    cube = sync(Program(3), "BLOCK.WAIT", CUBE, 1)
    every(cube, "GRID", CUBE | VECTOR, 3)
    program = ring(3, "GET.BLOCK.IDX", late)
    round_trip(program, 3, 3, aic=cube)


def test_a_sync_block_is_for_the_cores_that_it_names() -> None:
    cube = every(Program(3), "GRID", VECTOR, 0)
    vector = every(every(Program(3), "GRID", CUBE, 0), "GRID", VECTOR, 0)
    load(aic=cube, aiv=vector).run((2,), [np.zeros(1)] * 3)
    wrong = sync(Program(1), "BLOCK.SET", VECTOR, 0)
    with pytest.raises(KernelFault, match="field core = 2"):
        load(aic=wrong, aiv=Program(1)).run((1,), [np.zeros(1)])


def test_both_sub_blocks_must_set_a_flag_for_the_cube_core() -> None:
    cube = sync(Program(1), "BLOCK.WAIT", CUBE, 6)
    vector = Program(1)
    number = index(vector, "GET.SUBBLOCKID")
    vector.lines += [
        f"  %first = icmp eq i64 {number}, 0",
        "  br i1 %first, label %one, label %end",
        "one:",
    ]
    sync(vector, "BLOCK.SET", VECTOR, 6)
    vector.lines += ["  br label %end", "end:"]
    with pytest.raises(KernelFault) as caught:
        load(aic=cube, aiv=vector).run((1,), [np.zeros(1)])
    assert "AIC waits for cross-core flag 6 (AIV 0 has set it, AIV 1 has not)" in str(caught.value)


def test_deadlock_among_blocks_names_them() -> None:
    program = Program(1)
    number = index(program, "GET.BLOCK.IDX")
    program.lines += [
        f"  %last = icmp eq i64 {number}, 2",
        "  br i1 %last, label %end, label %wait",
        "wait:",
    ]
    every(program, "GRID", VECTOR, 0, flag=9)
    program.lines += ["  br label %end", "end:"]
    with pytest.raises(KernelFault) as caught:
        load(aiv=program).run((3,), [np.zeros(1)])
    assert caught.value.fault.kind == "deadlock"
    assert (
        "deadlock: block 0 AIV 0 waits for cross-core flag 9 (block 0 AIV 0 has set it, "
        "block 2 AIV 0 has not); block 1 AIV 0 waits" in str(caught.value)
    )


def test_more_blocks_than_cores_would_hang() -> None:
    kernel = load(aiv=every(Program(1), "GRID", VECTOR, 0))
    with pytest.raises(KernelError, match=r"41 blocks wait for each other .* runs 40 at a time"):
        kernel.run((41,), [np.zeros(1)])
    assert kernel.run((40,), [np.zeros(1)]).blocks == 40


def test_flags_left_over_and_flags_set_too_often() -> None:
    kernel = load(aiv=sync(Program(1), "GRID.SET", VECTOR, 4))
    with pytest.raises(KernelFault, match="cross-core flag 4 to block 0 AIV 0 was set more often"):
        kernel.run((2,), [np.zeros(1)])
    program = Program(1)
    for _ in range(16):
        sync(program, "GRID.SET", VECTOR, 4)
    with pytest.raises(KernelFault, match="set 16 times without a wait"):
        load(aiv=program).run((2,), [np.zeros(1)])
    with pytest.raises(KernelFault, match="no such cross-core flag"):
        load(aiv=sync(Program(1), "GRID.SET", VECTOR, 16)).run((2,), [np.zeros(1)])


def test_flags_are_counted_one_by_one() -> None:
    cube, vector = Program(1), Program(1)
    for _ in range(3):
        sync(cube, "BLOCK.SET", CUBE, 1)
        sync(vector, "BLOCK.WAIT", VECTOR, 1)
    sync(vector, "BLOCK.WAIT", VECTOR, 2)
    sync(cube, "BLOCK.SET", CUBE, 2)
    load(aic=cube, aiv=vector).run((1,), [np.zeros(1)])
