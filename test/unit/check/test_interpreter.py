"""The reference interpreter: floats in float64, and what it notes about the launch."""

import pytest
import torch

from flagc.check.evidence import Reference
from flagc.check.interpreter import interpreted
from flagc.check.judge import Judge
from flagc.check.snapshot import snapshot
from flagc.errors import KernelError
from kernels import checked_kernels as kernels


def run(kernel, *arguments, grid=(1, 1, 1), **constants) -> Reference:
    names = kernel.arg_names[: len(arguments)]
    values = snapshot({**dict(zip(names, arguments, strict=True)), **constants})
    return interpreted(kernel, grid, values)


def test_float_casts_and_narrow_sums_do_not_round() -> None:
    x = torch.ones((4100, 16), dtype=torch.float16)
    reference = run(kernels.careless_sum, x, torch.zeros(16), 4100, BLOCK=16)
    assert reference.wide
    # In fp16 the sum stops at 2048: 2048 + 1 is not representable.
    assert torch.equal(reference.tensors["out_ptr"], torch.full((16,), 4100.0).double())
    assert reference.outputs["out_ptr"].terms == 4100
    assert reference.roundings == {"fp16": 1}


def test_bits_of_floats_are_those_of_their_own_type() -> None:
    x = torch.tensor([1.0, -2.0, 0.0, 65504.0], dtype=torch.float16)
    reference = run(kernels.bits_of, x, torch.zeros(4, dtype=torch.int16), BLOCK=4)
    assert not reference.wide
    assert "bitcast from fp16 to int16" in str(reference)
    assert reference.tensors["out_ptr"].tolist() == [0x3C00, 0x4000, 0, 0x7BFF]


def test_bf16_is_exact() -> None:
    x = torch.tensor([1.0078125, 3.0], dtype=torch.bfloat16)
    y = torch.tensor([-(2.0**-20), 4.0], dtype=torch.bfloat16)
    reference = run(kernels.scaled_bf16, x, y, torch.zeros(2, dtype=torch.bfloat16), BLOCK=2)
    assert reference.tensors["out_ptr"].tolist() == [1.0078125 * 1.5 + 2.0**-20, 8.5]


def test_atomic_additions_are_counted_and_must_start_at_zero() -> None:
    x = torch.full((4, 8), 2.0**-12, dtype=torch.float16)
    out = torch.zeros(8, dtype=torch.float16)
    out[5] = 1.0
    reference = run(kernels.split_sum, x, out, grid=(4, 1, 1), BLOCK=8)
    evidence = reference.outputs["out_ptr"]
    assert evidence.additions == 4
    assert evidence.nonzero_start == ((5,), 1.0)
    # Not lost, as each addition to 1 would be in fp16.
    assert reference.tensors["out_ptr"][5] == 1.0 + 2.0**-10
    assert evidence.stored_by.tolist() == [3] * 8  # the last one


def test_lanes_that_nothing_fills_are_traced_to_the_output() -> None:
    a, b = torch.ones((16, 20)), torch.ones((20, 16))
    reference = run(kernels.product, a, b, torch.zeros((16, 16)), 20, BLOCK=16)
    assert torch.equal(reference.tensors["c_ptr"], torch.full((16, 16), 20.0).double())
    assert reference.outputs["c_ptr"].terms == 32
    assert len(reference.unfilled) == 2
    assert reference.depends_on_unfilled == {"c_ptr": 256}
    # The K tail: columns of A and rows of B from lane 4 of the second block on.
    (of_a, of_b) = sorted(reference.unfilled)
    assert reference.tails == {(of_a, 1): 4, (of_b, 0): 4}
    a, b = torch.ones((16, 16)), torch.ones((16, 16))
    full = run(kernels.product, a, b, torch.zeros((16, 16)), 16, BLOCK=16)
    assert full.unfilled == ()
    assert full.depends_on_unfilled == {}


def test_arguments_that_share_memory_still_do() -> None:
    x = torch.arange(32, dtype=torch.float32)
    reference = run(kernels.double_in_place, x[:16], x[8:24], grid=(2, 1, 1), BLOCK=8)
    # The second program reads what the first one wrote.
    assert reference.tensors["out_ptr"].tolist() == [2 * i for i in range(8)] + [
        4 * i for i in range(8)
    ]
    assert reference.outputs["out_ptr"].stored_by.tolist() == [0] * 8 + [1] * 8
    assert torch.equal(x, torch.arange(32, dtype=torch.float32))  # on copies


def test_integers_may_round_either_way_but_no_other() -> None:
    # 100 * 0.29 is 28.999999999999996 in float64, and 29 in fp32.
    x = torch.arange(0, 128, dtype=torch.float32)
    out = torch.zeros(128, dtype=torch.int8)
    values = {"x_ptr": x, "out_ptr": out, "BLOCK": 128}
    judge = Judge("to_int8", kernels.to_int8, (1, 1, 1), snapshot(values), None)
    native = (x * torch.tensor(0.29, dtype=torch.float32)).to(torch.int8)
    assert judge.judge({"x_ptr": x, "out_ptr": native}).mismatches == ()
    exact = (x.double() * 0.29).to(torch.int8)
    assert (native - exact).nonzero().flatten().tolist() == [100]
    assert judge.judge({"x_ptr": x, "out_ptr": exact}).mismatches == ()
    off = native.clone()
    off[77] += 1
    (mismatch,) = judge.judge({"x_ptr": x, "out_ptr": off}).mismatches
    assert mismatch.first == (77,)


def test_a_kernel_that_leaves_its_tensors_is_an_error() -> None:
    x = torch.ones((3, 16), dtype=torch.float16)
    with pytest.raises(KernelError, match=r"careless_sum.*OutOfReach.*none of the tensors"):
        run(kernels.careless_sum, x, torch.zeros(16), 1 << 20, BLOCK=16)
