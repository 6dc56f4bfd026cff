"""Staged IR to final modules: hand-written GEMMs on the emulated AI Core, with all checks."""

from __future__ import annotations

import pytest
import torch

from flagc.aicore.runner import KernelFault
from flagc.errors import KernelError
from support.staged_gemm import StagedGemm
from support.staged_running import check, compiled, final_text

KINDS = [("f16", "f16"), ("bf16", "bf16"), ("f32", "f32"), ("i8", "i32")]
ORDERS = ["NN", "TN", "NT", "TT"]
# M, N, K: one element, all ends inside fractals, ends on fractals, several blocks.
SHAPES = [(1, 1, 1), (50, 101, 37), (64, 64, 64), (129, 72, 136)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: kinds[0])
def test_products(kinds: tuple[str, str], order: str) -> None:
    for shape in SHAPES:
        check(StagedGemm(*kinds, order), *shape, pad=shape[0] % 3)


@pytest.mark.parametrize("element", ["f16", "bf16", "f32"])
def test_results_of_another_type(element: str) -> None:
    for out in ("f16", "bf16", "f32"):
        check(StagedGemm(element, out), 50, 33, 37)


@pytest.mark.parametrize(("element", "bias"), [("f16", "f32"), ("f16", "f16"), ("i8", "i32")])
def test_bias(element: str, bias: str) -> None:
    out = "i32" if element == "i8" else "f32"
    for columns in (1, 23, 64, 101):
        check(StagedGemm(element, out, bias=bias), 50, columns, 37)


def test_bias_without_k_steps_is_read_once() -> None:
    case = StagedGemm("f32", "f16", bias="f32", relu=True)
    check(case, 17, 64, 130)


def test_relu() -> None:
    for out in ("f16", "bf16", "f32"):
        check(StagedGemm(out=out, relu=True), 50, 33, 37)


@pytest.mark.parametrize(("element", "out"), [("f16", "f32"), ("f16", "f16"), ("bf16", "bf16")])
def test_atomic_add(element: str, out: str) -> None:
    check(StagedGemm(element, out, atomic=True), 50, 33, 37)


def test_atomic_add_of_integers() -> None:
    case = StagedGemm("i8", "i32", atomic=True)
    a, b = torch.full((5, 3), 7, dtype=torch.int8), torch.full((3, 4), -9, dtype=torch.int8)
    c = torch.arange(20, dtype=torch.int32).reshape(5, 4)
    compiled(case.text()).run((1,), [a, b, c, 5, 4, 3, 3, 4, 4])
    assert torch.equal(c, torch.arange(20, dtype=torch.int32).reshape(5, 4) - 189)


@pytest.mark.parametrize("order", ["NN", "TT"])
def test_rows_further_apart_than_a_field_says(order: str) -> None:
    """The stride of MOV.OUT.TO.L1 has 16 bits: rows come one by one beyond 65535 elements."""
    moves = [
        sum(entry.name.startswith("MOV.OUT.TO.L1") for entry in report.trace)
        for report in (
            check(StagedGemm(order=order), 20, 20, 20, pad=pad, trace=True)
            for pad in (65535 - 20, 65536 - 20)
        )
    ]
    assert moves == [2, 40]


def test_missing_flags_are_races() -> None:
    with pytest.raises(KernelFault, match="no flag orders the two"):
        check(StagedGemm(flags=False), 64, 64, 64)


def test_bishengir_accepts_the_module() -> None:
    text = final_text(StagedGemm().text())
    assert "hacc.entry" in text
    assert "func.call @flagc_mad_f16(" in text
    assert "staged" not in text


def test_small_products_on_one_accumulator_have_a_barrier() -> None:
    """AscendC: fewer than ten fractals are not settled when the next product comes."""

    def barriers(m: int, n: int) -> int:
        report = check(StagedGemm(tile=(64, 64, 64)), m, n, 64, trace=True)
        return sum(e.name == "BARRIER" and e.operands[0] == 2 for e in report.trace)

    assert barriers(64, 33) == 0
    assert barriers(48, 48) == 2


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        ("addresses", "staged.alloc is left without addresses; run plan-memory"),
        ("load", "tt.load is left, which the cube core cannot run: run stage-loads"),
        ("read", "staged.read_accumulator is left, .* run stage-store"),
        ("call", "tt.call is left, which the cube core cannot run"),
    ],
)
def test_what_has_no_emission_names_op_line_and_pass(cut: str, message: str) -> None:
    text = StagedGemm(addresses=cut != "addresses").text()
    accumulator = "!staged.tile<l0c, 64x64xf32>"
    put = {
        "addresses": "",
        "load": '%v = "tt.load"(%a) : (!tt.ptr<f16>) -> f16',
        "read": f'%v = "staged.read_accumulator"(%acc, %true) : ({accumulator}, i1) -> '
        "tensor<64x64xf32>",
        "call": '"tt.call"() {callee = @other} : () -> ()',
    }[cut]
    if put:
        text = text.replace('"tt.return"()', f'{put} loc("k.py":7:1)\n    "tt.return"()')
    else:
        text = text.replace("-> !staged.tile", "-> !staged.tile")
    with pytest.raises(KernelError, match=message) as caught:
        final_text(text)
    if put:
        assert str(caught.value).startswith("k.py:7:1: error: ")


@pytest.mark.parametrize("blocks", [3, 100])
def test_fewer_blocks_than_the_grid_has(blocks: int) -> None:
    """`flagc.max_blocks`: so many are launched, and are told the script's grid."""
    case = StagedGemm(blocks=blocks)
    kernel = compiled(case.text())
    assert kernel.facts.max_blocks == blocks
    # 2 x 4 tiles.
    report = check(case, 100, 200, 70)
    assert report.blocks == min(blocks, 8)


def test_unit_flags_order_products_and_the_fixpipe() -> None:
    case = StagedGemm(unit_flag=True)
    report = check(case, 64, 64, 64, trace=True)
    assert [e.operands[3] >> 55 & 3 for e in report.trace if e.name.startswith("MAD")] == [2, 2]
    (store,) = [entry for entry in report.trace if entry.name.startswith("FIX")]
    assert store.operands[3] >> 32 & 3 == 3
