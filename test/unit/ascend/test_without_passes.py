"""A lowering without one of its passes: a right result, the vendor's instead, or an error."""

import sys
from pathlib import Path

import pytest
import torch

import flagc
from flagc.errors import KernelError
from flagc.targets.ascend.lowerings import NEEDED_PASSES, STAGED_PASSES
from support.comparing import assert_rounded, product_error

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
from gemm import gemm

SAYS = {
    "stage-loads": "not from memory",
    "stage-dot-on-cube": "between the Cube and the store",
    "stage-store": "run stage-store",
    "plan-memory": "run plan-memory",
    "insert-sync": "no flag orders the two",
}


def check(**how: object) -> None:
    a, b = torch.randn(150, 200).half(), torch.randn(200, 140).half()
    with flagc.use("ascend:910B3", threads=2, **how):
        c = gemm(a, b)
    assert_rounded(c, a.double() @ b.double(), product_error(a, b))


@pytest.mark.parametrize("name", STAGED_PASSES)
def test_without(name: str) -> None:
    assert set(SAYS) == NEEDED_PASSES
    if name in SAYS:
        with pytest.raises(KernelError, match=SAYS[name]):
            check(pipeline="flagc", without=[name])
    else:
        check(pipeline="flagc", without=[name])


@pytest.mark.parametrize("name", ["stage-loads", "stage-dot-on-cube", "stage-store"])
def test_auto_has_the_vendor(name: str) -> None:
    check(without=[name])


@pytest.mark.parametrize(
    "passes",
    [
        "pack-k{steps=2}",
        "persistent-blocks{cores=3}",
        "multi-buffer{l1=1 l0=1}",
        "staged@after(stage-store):count-ops,insert-sync",
    ],
)
def test_with_the_users_instead(passes: str) -> None:
    check(pipeline="flagc", passes=passes)
