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
    "stage-loads": "stage-loads puts it there",
    "stage-dot-on-cube": "stage-dot-on-cube puts it there",
    "stage-store": "run stage-store",
    "plan-memory": "run plan-memory",
    "insert-sync": "no flag orders the two",
}

USERS_PASS = '''
from dataclasses import dataclass

from flagc.pipeline.passes import Pass, lookup, register


@register
@dataclass(frozen=True)
class Mine(Pass):
    """Does what the built-in pass does, and says so."""

    name = "my-{name}"
    level = "staged"

    def run(self, module, context):
        print("{name} of mine")
        lookup("{name}")().run(module, context)
'''


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


@pytest.mark.parametrize("name", STAGED_PASSES)
def test_with_a_users_version(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load = tmp_path / "passes.py"
    load.write_text(USERS_PASS.replace("{name}", name))
    at = STAGED_PASSES.index(name)
    last = at + 1 == len(STAGED_PASSES)
    place = f"after({STAGED_PASSES[at - 1]})" if last else f"before({STAGED_PASSES[at + 1]})"
    passes = f"staged@{place}:my-{name}"
    check(pipeline="flagc", without=[name], load=[str(load)], passes=passes)
    assert f"{name} of mine" in capsys.readouterr().out
