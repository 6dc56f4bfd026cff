"""Two launches become one; whatever a program does with its tensors, it sees what it wrote."""

import pytest
import torch
import triton

import flagc
from flagc.bench.executor import BenchingExecutor
from flagc.check.executor import CheckingExecutor
from kernels.follow_up_kernels import by_elements, in_place, two_results
from support.lowering import python_file
from support.numpy_launches import numpy_executor, numpy_launches
from unit.bench.test_benching import Clock

M, N, K = 20, 12, 8
PAIR = "gemm_kernel_then_by_elements"


def operands():
    a, b = torch.randn(M, K).half(), torch.randn(K, N).half()
    return a, b, torch.randn(N), torch.randn(M, N)


def product(a, b, c):
    kernel = python_file("examples/gemm.py").gemm_kernel
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    strides = (*a.stride(), *b.stride(), *c.stride())
    kernel[grid](a, b, c, M, N, K, *strides, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16)


def activated(c, bias, residual, out):
    by_elements[(triton.cdiv(M * N, 64),)](c, bias, residual, out, M * N, N, BLOCK=64)


def layer(a, b, bias, residual):
    c = torch.empty(M, N, dtype=torch.float16)
    product(a, b, c)
    out = torch.empty_like(c)
    activated(c.view(-1), bias, residual, out)
    return out


def unmerged(program, *arguments):
    """Return what `program` gives without the pass."""
    with numpy_launches(""):
        return program(*arguments)


def run(program, *arguments):
    """Compare `program` with and without the pass; return which kernels ran, and the recorder."""
    expected = unmerged(program, *(x.clone() for x in arguments))
    with numpy_launches("fuse-epilogue") as recorder:
        found = program(*arguments)
    for left, right in zip(found, expected, strict=True):
        assert torch.equal(left, right)
    return recorder.executor.ran, recorder


def test_a_matrix_that_nobody_reads_is_skipped():
    ran, recorder = run(lambda *x: [layer(*x), layer(*x)], *operands())
    assert ran == [PAIR, PAIR]
    (launch,) = recorder.launches
    assert launch.unwritten == {"c_ptr", "x"}
    assert launch.describe()["merged"] == ["gemm_kernel", "by_elements"]


def test_a_matrix_that_is_read_is_stored_then_and_its_launches_merged_no_more():
    def program(a, b, bias, residual):
        results = []
        for _ in range(2):
            c, out = (torch.zeros(M, N, dtype=torch.float16) for _ in range(2))
            product(a, b, c)
            activated(c, bias, residual, out)
            results += [out.clone(), c + 1]
        return results

    ran, recorder = run(program, *operands())
    assert ran == [PAIR, "gemm_kernel", "gemm_kernel", "by_elements"]
    assert "aten.add.Tensor needs the result of 'gemm_kernel'" in recorder.launches[0].note


def test_a_matrix_is_stored_before_what_it_comes_from_changes():
    def program(a, b, bias, residual):
        c, out = (torch.zeros(M, N, dtype=torch.float16) for _ in range(2))
        product(a, b, c)
        activated(c, bias, residual, out)
        a.mul_(2)
        return [out.clone(), c.clone()]

    ran, _ = run(program, *operands())
    assert ran == [PAIR, "gemm_kernel"]


def test_an_op_between_the_launches_keeps_them_apart():
    def program(a, b, bias, residual):
        c, out = (torch.zeros(M, N, dtype=torch.float16) for _ in range(2))
        product(a, b, c)
        c += 1
        activated(c, bias, residual, out)
        return [out, c]

    ran, _ = run(program, *operands())
    assert ran == ["gemm_kernel", "by_elements"]


def test_a_later_launch_that_reads_the_matrix_finds_it():
    def program(a, b, bias, residual):
        c, out, other = (torch.zeros(M, N, dtype=torch.float16) for _ in range(3))
        product(a, b, c)
        activated(c, bias, residual, out)
        activated(c, bias, residual, other)
        return [out, other]

    ran, _ = run(program, *operands())
    assert ran == [PAIR, "gemm_kernel", "by_elements"]


def test_a_buffer_that_is_used_again_needs_no_matrix():
    def program(a, b, bias, residual):
        c, results = torch.zeros(M, N, dtype=torch.float16), []
        for _ in range(3):
            out = torch.zeros(M, N, dtype=torch.float16)
            product(a, b, c)
            activated(c, bias, residual, out)
            results.append(out)
        return results

    ran, _ = run(program, *operands())
    assert ran == [PAIR] * 3


def test_in_place_there_is_nothing_to_skip():
    def program(a, b, bias, residual):
        c = torch.zeros(M, N, dtype=torch.float16)
        product(a, b, c)
        in_place[(1,)](c, M * N, BLOCK=256)
        return [c.clone()]

    ran, _ = run(program, *operands())
    assert ran == ["gemm_kernel_then_in_place"]


def test_the_last_launch_runs_when_the_program_ends():
    def program(a, b, bias, residual):
        c = torch.zeros(M, N, dtype=torch.float16)
        product(a, b, c)
        return [c]

    ran, _ = run(program, *operands())
    assert ran == ["gemm_kernel"]


def test_launches_that_do_not_fit_say_why():
    def program(a, b, bias, residual):
        c, kept, out = (torch.zeros(M, N, dtype=torch.float16) for _ in range(3))
        product(a, b, c)
        two_results[(1,)](c, kept, out, M * N - 1, BLOCK=256)
        return [c.clone(), kept, out]

    ran, recorder = run(program, *operands())
    assert ran == ["gemm_kernel", "two_results"]
    note = recorder.launches[1].note
    assert note.startswith("not merged into 'gemm_kernel': ")
    assert "its lanes are not the 20x12 elements" in note


@pytest.mark.parametrize("fails", [False, True])
def test_programs_that_fail(fails):
    a, b, _, _ = operands()
    c = torch.zeros(M, N, dtype=torch.float16)
    with pytest.raises(ZeroDivisionError), numpy_launches("fuse-epilogue") as recorder:
        product(a, b, c)
        if fails:
            _ = 1 / 0
        c.sum()
        _ = 1 / 0
    assert recorder.executor.ran == ([] if fails else ["gemm_kernel"])


class OffByOne:
    """An executor whose merged kernels are wrong in one element."""

    def __init__(self, inner):
        self.inner = inner

    def execute(self, launch, grid, arguments):
        execution = self.inner.execute(launch, grid, arguments)
        if launch.parts:
            next(a.value for a in arguments if a.name == "out")[3, 2] += 1
        return execution


@pytest.mark.parametrize("wrong", [False, True])
def test_check_compares_each_kernel_with_its_reference(wrong):
    checked = []

    def checking(executor):
        return CheckingExecutor(OffByOne(executor) if wrong else executor, checked=checked)

    with numpy_launches("fuse-epilogue", checking):
        layer(*operands())
    assert [entry.kernel for entry in checked] == ["gemm_kernel", PAIR]
    first, second = checked
    assert not first.mismatches
    assert [output.argument for output in second.outputs] == ["out"]
    assert bool(second.mismatches) == wrong


def test_bench_compares_one_launch_with_two_and_with_baselines():
    kernels = (python_file("examples/gemm.py").gemm_kernel, by_elements)

    @flagc.baseline(kernels, name="torch")
    def with_torch(a_ptr, b_ptr, bias, residual, out, **rest):
        sums = (a_ptr.double() @ b_ptr.double()).half().float() + bias
        out.copy_((sums.relu() * 0.5 + residual).half())

    class Slow(Clock):
        def time(self, replays):
            super().time(replays)
            return [float(len(replay)) for replay in replays]

    benched = []
    clock, plain = Slow(), numpy_executor("")

    def benching(executor):
        return BenchingExecutor(executor, plain, clock, benched=benched, seconds=1e-9)

    with numpy_launches("fuse-epilogue", benching):
        layer(*operands())
    (entry,) = benched
    assert entry.kernel == PAIR
    assert set(entry.results) == {"with passes", "without passes", "torch"}
    assert set(entry.results.values()) == {"right"}
    assert set(plain.ran) == {"gemm_kernel", "by_elements"}
