"""What a kernel can do wrong, and what the emulator says about it."""

from __future__ import annotations

import numpy as np
import pytest
from assembling import L0C, L1, MTE2, MTE3, UB, Program, S, V, at, load, run, word

from flagc.aicore import KernelFault
from flagc.errors import UsageError
from support.gemm_cases import Gemm

X = np.arange(64, dtype=np.float32)
MOVE_IN = "MOV.OUT.TO.UB.ALIGN.b32.V220"
UNARY = 1 | 1 << 16 | 8 << 32 | 8 << 40 | 1 << 56


def fault(program: Program, *tensors: np.ndarray, core: str = "aiv") -> KernelFault:
    with pytest.raises(KernelFault) as caught:
        run(program, *tensors, core=core)
    return caught.value


def test_read_of_bytes_that_nobody_wrote() -> None:
    program = Program().to_ub(0, 0, 128).count(64)
    found = fault(program.do("VEXP.f32", at(UB, 1024), at(UB, 0), word(UNARY)), X, X)
    assert found.fault.kind == "unwritten"
    assert "block 0 (AIV): VEXP.f32 on pipe V: reads UB at 0x80, which nothing has" in str(found)
    # A count that ends where the data end is fine.
    program = Program().to_ub(0, 0, 128).count(32)
    run(program.do("VEXP.f32", at(UB, 1024), at(UB, 0), word(UNARY)), X, X)


def test_checks_can_be_switched_off() -> None:
    program = Program().count(64).do("VEXP.f32", at(UB, 1024), at(UB, 0), word(UNARY))
    run(program, X, X, checks=False)


@pytest.mark.parametrize(("offset", "size"), [(0, 260), (-4, 8), (256, 4), (252, 8)])
def test_access_outside_a_tensor(offset: int, size: int) -> None:
    program = Program()
    source = program.tensor(0, offset)
    program.do(MOVE_IN, at(UB, 0), source, word(1 << 4 | size << 16), word(0))
    tensors = X[:64].copy(), np.zeros(65, np.float32)
    assert run(program, *tensors).speculative_reads == 1
    program.fence(MTE2, MTE3)
    move_out = "MOV.UB.TO.OUT.ALIGN.b8.V220"
    program.do(move_out, program.tensor(1), at(UB, 0), word(1 << 4 | size << 16), word(0))
    found = fault(program, *tensors)
    assert found.fault.kind == "poison"
    assert "MOV.UB.TO.OUT.ALIGN.b8.V220 on pipe MTE3: stores an undefined value" in str(found)
    assert f"reads {size} bytes outside the tensors" in str(found)


@pytest.mark.parametrize(("offset", "size"), [(0, 260), (-4, 8), (256, 4), (252, 8)])
def test_store_outside_a_tensor(offset: int, size: int) -> None:
    program = Program().to_ub(0, 0, 256).to_ub(0, 256, 256).fence(MTE2, MTE3, 1)
    target = program.tensor(1, offset)
    move_out = "MOV.UB.TO.OUT.ALIGN.b8.V220"
    program.do(move_out, target, at(UB, 0), word(1 << 4 | size << 16), word(0))
    found = fault(program, X, X.copy())
    assert found.fault.kind == "out-of-bounds"
    assert f"writes {size} bytes of global memory outside the tensors" in str(found)


def test_cube_operands_come_from_inside_the_tensors() -> None:
    program = Program()
    source = program.tensor(0)
    program.do(
        "MOV.OUT.TO.L1.MULTI.ND2NZ.f32s",
        at(L1, 0),
        source,
        word(1 << 4 | 1 << 16 | 65 << 32),
        word(0),
    )
    found = fault(program, X, X.copy(), core="aic")
    assert "reads 260 bytes of global memory outside the tensors" in str(found)


def test_views_are_no_wider_than_what_they_hold() -> None:
    program = Program()
    source = program.tensor(0)
    program.do(MOVE_IN, at(UB, 0), source, word(1 << 4 | 128 << 16), word(0))
    other = np.zeros(1, np.float32)
    assert run(program, X[8:40], other).speculative_reads == 0
    assert run(program, X[8:39], other).speculative_reads == 1


def test_reversed_views_reach_below_their_first_element() -> None:
    program = Program()
    source = program.tensor(0, -124)
    program.do(MOVE_IN, at(UB, 0), source, word(1 << 4 | 128 << 16), word(0))
    other = np.zeros(1, np.float32)
    assert run(program, X[8:40][::-1], other).speculative_reads == 0
    assert run(program, X[9:40][::-1], other).speculative_reads == 1


def test_scalar_accesses_are_checked_too() -> None:
    program = Program()
    program.lines += [
        "  %near = getelementptr i8, ptr addrspace(1) %p0, i64 252",
        "  %far = getelementptr i8, ptr addrspace(1) %p0, i64 256",
        "  %v = load float, ptr addrspace(1) %near",
        "  store float %v, ptr addrspace(1) %p1",
    ]
    out = np.zeros(1, np.float32)
    run(program, X, out)
    assert out[0] == X[63]
    program.lines.append("  %w = load float, ptr addrspace(1) %far")
    program.lines.append("  store float %w, ptr addrspace(1) %p1")
    found = fault(program, X, out)
    assert "SCALAR.STORE on pipe S: stores an undefined value to a tensor" in str(found)


def test_scalar_loads_of_ub_need_a_flag_and_a_written_value() -> None:
    for fenced, address, kind in [(True, 0, ""), (False, 0, "race"), (True, 256, "unwritten")]:
        program = unfenced_move(Program(), 0)
        if fenced:
            program.fence(MTE2, 0)
        program.lines += [
            f"  %v = load float, {at(UB, address)}",
            "  store float %v, ptr addrspace(1) %p1",
        ]
        if kind:
            assert fault(program, X, X.copy()).fault.kind == kind
        else:
            run(program, X, X.copy())


def test_a_bit_may_be_set_in_a_byte_that_nobody_wrote() -> None:
    # As the library's scalar compares do; the byte counts as written afterwards.
    program = Program()
    program.lines += [
        f"  %old = load i8, {at(UB, 0)}",
        "  %cleared = and i8 %old, 0",
        "  %new = or i8 %cleared, 5",
        f"  store i8 %new, {at(UB, 0)}",
    ]
    program.fence(0, MTE3)
    move = word(1 << 4 | 1 << 16)
    program.do("MOV.UB.TO.OUT.ALIGN.b8.V220", program.tensor(1), at(UB, 0), move, word(0))
    out = np.zeros(1, np.uint8)
    run(program, X, out)
    assert out[0] == 5


@pytest.mark.parametrize(("offset", "fails"), [(0, True), (64, False)])
def test_a_compare_does_not_use_what_lies_behind_its_operand(offset: int, fails: bool) -> None:
    # It reads 256 bytes, of which the program may mean 32; what is behind may be another pipe's.
    program = Program().to_ub(0, 0, 256).fence(MTE2, S, 1).mask(0)
    program.do("VCMPVS.GT.f32", at(UB, 1024), at(UB, 0), "float 3.0", word(UNARY))
    program.lines.append(f"  store i32 5, {at(UB, offset)}")
    if fails:
        assert fault(program, X, X.copy()).fault.kind == "race"
    else:
        run(program, X, X.copy())


def test_a_compare_of_what_another_pipe_writes_gives_undefined_bits() -> None:
    program = Program().to_ub(0, 0, 256).mask(0)
    one_block = word(1 << 4 | 32 << 16)
    program.do(MOVE_IN, at(UB, 64), program.tensor(0, 64), one_block, word(0))
    program.do("VCMPVS.GT.f32", at(UB, 1024), at(UB, 0), "float 3.0", word(UNARY))
    program.fence(V, MTE3)
    move = "MOV.UB.TO.OUT.ALIGN.b8.V220"
    out = np.zeros(8, np.uint8)
    for size, fails in ((2, False), (3, True)):  # bits 16 to 23 are of the bytes from 64 on
        program.do(move, program.tensor(1), at(UB, 1024), word(1 << 4 | size << 16), word(0))
        if fails:
            assert fault(program, X, out).fault.kind == "poison"
        else:
            run(program, X, out)
            assert list(out[:2]) == [0xF0, 0xFF]


def test_access_outside_a_memory() -> None:
    program = Program().count(64)
    program.do("MOVEV.f32", at(UB, 192 * 1024 - 128), "float 1.0", word(UNARY))
    found = fault(program, X, X)
    assert "leave UB, which has 196608 bytes" in str(found)


def test_misaligned_vector_operand() -> None:
    program = Program().to_ub(0, 0, 256).count(8)
    found = fault(program.do("VEXP.f32", at(UB, 1024), at(UB, 4), word(UNARY)), X, X)
    assert "address 0x4 of UB is not a multiple of 32 bytes" in str(found)


def test_wait_without_set() -> None:
    flags = [word(MTE2), word(V), word(3)]
    found = fault(Program().do("WAIT.FLAG.IMM", *flags), X, X)
    assert "V waits for flag 3 from MTE2, which nothing before it sets" in str(found)
    # Neither the other direction nor another event will do.
    for pipes in ((V, MTE2, 3), (MTE2, V, 2), (MTE2, MTE3, 3)):
        program = Program().do("SET.FLAG.IMM", *map(word, pipes)).do("WAIT.FLAG.IMM", *flags)
        assert fault(program, X, X).fault.kind == "wait-without-set"


def test_flag_left_over() -> None:
    found = fault(Program().do("SET.FLAG.IMM", word(MTE2), word(V), word(5)), X, X)
    assert "flag 5 from MTE2 to V was set 1 time(s) more than" in str(found)


def unfenced_move(program: Program, offset: int) -> Program:
    operands = [at(UB, offset), program.tensor(0), word(1 << 4 | 256 << 16), word(0)]
    return program.do(MOVE_IN, *operands)


def test_race_between_a_move_and_the_vector_unit() -> None:
    program = unfenced_move(Program(), 0).count(64)
    found = fault(program.do("VEXP.f32", at(UB, 1024), at(UB, 0), word(UNARY)), X, X)
    assert found.fault.kind == "race"
    message = "VEXP.f32 on pipe V: reads UB at 0x0 (256 bytes), which pipe MTE2 has touched"
    assert message in str(found)


def test_race_when_a_buffer_is_overwritten_before_its_reader_is_done() -> None:
    program = unfenced_move(Program(), 0).fence(MTE2, V).count(64)
    program.do("VEXP.f32", at(UB, 1024), at(UB, 0), word(UNARY))
    early = fault(unfenced_move(program, 0), X, X)
    assert "writes UB at 0x0 (256 bytes), which pipe V has touched" in str(early)


@pytest.mark.parametrize("pipes", [[(V, MTE2)], [(V, MTE3), (MTE3, MTE2)], [(V, 0)]])
def test_flags_order_pipes_also_by_way_of_others(pipes: list[tuple[int, int]]) -> None:
    program = unfenced_move(Program(), 0).fence(MTE2, V).count(64)
    program.do("VEXP.f32", at(UB, 1024), at(UB, 0), word(UNARY))
    for source, target in pipes:
        program.fence(source, target, 2)
    run(unfenced_move(program, 0), X, X)


def test_a_flag_set_too_early_orders_nothing() -> None:
    flags = [word(V), word(MTE2), word(1)]
    program = unfenced_move(Program(), 0).fence(MTE2, V).count(64).do("SET.FLAG.IMM", *flags)
    program.do("VEXP.f32", at(UB, 1024), at(UB, 0), word(UNARY)).do("WAIT.FLAG.IMM", *flags)
    assert fault(unfenced_move(program, 0), X, X).fault.kind == "race"


def test_barrier_of_all_pipes_orders_them_and_that_of_one_does_not() -> None:
    for pipe, races in ((6, False), (1, True)):
        program = unfenced_move(Program(), 0).do("BARRIER", word(pipe)).count(64)
        program.do("VEXP.f32", at(UB, 1024), at(UB, 0), word(UNARY))
        if races:
            assert fault(program, X, X).fault.kind == "race"
        else:
            run(program, X, X)


def test_fault_names_the_source_line() -> None:
    program = Program().do("LINE", word(17)).do("TRAP")
    assert "k_aiv: line 17, block 0 (AIV): TRAP" in str(fault(program, X, X))


def test_deadlock_names_who_waits_for_what() -> None:
    wait = [word(MTE2), word(0)]
    cube = Program(0).do("SYNC.BLOCK.WAIT", word(1), *wait, word(4))
    vector = Program(0).do("SYNC.BLOCK.WAIT", word(2), *wait, word(7))
    with pytest.raises(KernelFault) as caught:
        load(aic=cube, aiv=vector).run((1,), [])
    assert caught.value.fault.kind == "deadlock"
    assert (
        "deadlock: AIC waits for cross-core flag 4 of both AIVs; AIV 0 waits for cross-core flag 7 "
        "of the AIC; AIV 1 waits for cross-core flag 7 of the AIC"
    ) in str(caught.value)


def test_cross_core_flags_count_and_need_both_vector_cores() -> None:
    sync = [word(MTE2), word(0)]
    cube = Program(0).do("SYNC.BLOCK.SET", word(1), *sync, word(2))
    cube.do("SYNC.BLOCK.SET", word(1), *sync, word(2)).do(
        "SYNC.BLOCK.WAIT", word(1), *sync, word(3)
    )
    vector = Program(0).do("SYNC.BLOCK.WAIT", word(2), *sync, word(2))
    vector.do("SYNC.BLOCK.WAIT", word(2), *sync, word(2)).do(
        "SYNC.BLOCK.SET", word(2), *sync, word(3)
    )
    assert load(aic=cube, aiv=vector).run((3,), []).blocks == 3


def test_cross_core_flag_left_over() -> None:
    cube = Program(0).do("SYNC.BLOCK.SET", word(1), word(MTE2), word(0), word(2))
    with pytest.raises(KernelFault, match="cross-core flag 2 to AIV 0 was set more often"):
        load(aic=cube, aiv=Program(0)).run((1,), [])


def test_undefined_accumulators_do_not_reach_a_tensor() -> None:
    options = 16 | 1 << 43
    program = Program().do("SET.ND.PARA", word(1))
    target = program.tensor(0)
    shape = word(16 << 4 | 1 << 16 | 16 << 32)
    program.do("FIX.L0C.TO.OUT.f32", target, at(L0C, 0), shape, word(options))
    assert fault(program, X.copy(), X, core="aic").fault.kind == "unwritten"


def test_the_lowest_faulty_block_is_reported() -> None:
    a = np.zeros((200, 64), np.float16)
    b = np.zeros((64, 64), np.float16)
    c = np.zeros((128, 64), np.float16)  # too small: the last blocks write behind it
    with pytest.raises(
        KernelFault, match=r"block 2 \(AIC\): FIX.L0C.TO.OUT.f2h .* writes 128 bytes"
    ):
        Gemm("fp16", "fp16").kernel().run((4, 1), [a, b, c, 200, 64, 64, 64, 64, 64], threads=1)


def test_refused_instruction_says_why() -> None:
    program = Program()
    program.do("FIX.L0C.TO.OUT.s322s16", program.tensor(0), at(L0C, 0), word(0), word(0))
    assert "s322s16 on pipe FIX: where the shift lies" in str(fault(program, X, X, core="aic"))


def test_bad_launches() -> None:
    kernel = load(aiv=Program(1))
    with pytest.raises(UsageError, match="takes 1 arguments, 2 were given"):
        kernel.run((1,), [X, X])
    with pytest.raises(UsageError, match="takes a tensor or an array"):
        kernel.run((1,), [5])
    with pytest.raises(UsageError, match="at most 65535"):
        kernel.run((65536,), [X])
    assert kernel.run((0, 4), [X]).blocks == 0
