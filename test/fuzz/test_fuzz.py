"""Random kernels on random shapes: no mismatch, no fault, no crash."""

from __future__ import annotations

import pytest

from fuzz.cases import RUNS, Case
from fuzz.gemm import GemmTemplate
from fuzz.pointwise import PointwiseTemplate
from fuzz.reduction import ReductionTemplate
from fuzz.staged_gemm import StagedGemmTemplate

TEMPLATES = {
    template.name: template
    for template in (
        GemmTemplate(),
        StagedGemmTemplate(),
        ReductionTemplate(),
        PointwiseTemplate(masked=False),
        PointwiseTemplate(masked=True),
    )
}

# In about one of five of these a vector move of the vendor's is misaligned, or reads or writes past
# what belongs to it (--seed 102, masked/1/0, 4/15, 5/0, 13/0, 15/11); they run with --slow.
UNFINISHED = ("masked",)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    one = metafunc.config.getoption("--fuzz-case")
    if one:
        name, specialisation, run = one.split("/")
        metafunc.parametrize(
            ("name", "specialisation", "runs"), [(name, int(specialisation), [int(run)])]
        )
        return
    count = -(-metafunc.config.getoption("--fuzz") // (RUNS * (len(TEMPLATES) - len(UNFINISHED))))
    chosen = [(name, index, range(RUNS)) for index in range(count) for name in TEMPLATES]
    ids = [f"{name}-{index}" for name, index, _ in chosen]
    cases = [
        pytest.param(*case, id=name, marks=pytest.mark.slow if case[0] in UNFINISHED else ())
        for case, name in zip(chosen, ids, strict=True)
    ]
    metafunc.parametrize(("name", "specialisation", "runs"), cases)


def test_random_kernels(name: str, specialisation: int, runs: range, base_seed: int) -> None:
    cases = [Case(base_seed, TEMPLATES[name], specialisation, run) for run in runs]
    chosen = cases[0].chosen()
    for case in cases:
        case.check(chosen)
