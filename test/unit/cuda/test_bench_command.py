"""`--bench` on the command line, with a GPU whose launches multiply on the CPU in known times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from e2e.commands import EXAMPLES
from flagc.cli.main import command
from flagc.frontend.execution import Argument, Execution
from flagc.targets.cuda.executor import CudaExecutor
from flagc.targets.cuda.target import CudaTarget
from unit.bench.test_benching import Clock

SCRIPT = str(EXAMPLES / "gemm_baselines.py")


class Ticking(Clock):
    """A clock on which no call takes no time: torch's product here does not spend any."""

    def time(self, replays: Sequence[Any]) -> list[float]:
        return [seconds + 1e-10 for seconds in super().time(replays)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    device = Ticking()

    def call(self: CudaExecutor, launch: Any, grid: Any, arguments: Sequence[Argument]) -> Any:
        facts = self.image(launch).facts
        values = {argument.name: argument.value for argument in arguments}

        def run() -> None:
            device.spend(1e-3 if self.passes or facts["num_warps"] == 8 else 2e-3)
            torch.matmul(values["a_ptr"], values["b_ptr"], out=values["c_ptr"])

        return run

    def execute(self: CudaExecutor, launch: Any, grid: Any, arguments: Any) -> Execution:
        self.call(launch, grid, arguments)()
        return Execution(grid, 1, 0, 0.0, device="a clock")

    monkeypatch.setattr(CudaExecutor, "call", call)
    monkeypatch.setattr(CudaExecutor, "execute", execute)
    monkeypatch.setattr(CudaTarget, "tensor_device", lambda self: "cpu")
    monkeypatch.setattr(CudaTarget, "bench_device", lambda self: device)
    monkeypatch.setattr("flagc.targets.cuda.target.require_gpu", lambda *_: None)
    return device


def bench(*flags: str) -> int:
    arguments = [SCRIPT, "--target", "cuda:sm90", "--bench", "--in-process", *flags]
    return command.main([*arguments, "--", "64", "48", "32"], standalone_mode=False)


def test_passes_the_plain_kernel_and_the_baseline_in_turn(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("--passes", "swizzle-program-ids{group-m=4}", "--format", "json") == 0
    (found,) = json.loads(capsys.readouterr().out)["benched"]
    assert list(found["candidates"]) == ["with passes", "without passes", "cuBLAS"]
    assert {c["result"] for c in found["candidates"].values()} == {"right"}
    assert found["flops"] == 2 * 64 * 48 * 32
    assert found["candidates"]["without passes"]["kernel_is_faster_by"][0] == pytest.approx(2.0)
    assert found["against"] == "@flagc.reference in_float64"
    assert found["config"]["BLOCK_M"] == "128"


def test_options_alone_are_compared_with_the_script_as_it_is(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("--num-warps", "8", "--check") == 0
    shown = capsys.readouterr().out
    assert "2.000x" in shown
    assert "checked launches" in shown
    assert "measured on a clock" in shown


def test_a_wrong_kernel_is_exit_status_1(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = CudaExecutor.call

    def wrong(self: CudaExecutor, launch: Any, grid: Any, arguments: Any) -> Any:
        call = real(self, launch, grid, arguments)
        (c,) = (a.value for a in arguments if a.name == "c_ptr")

        def run() -> None:
            call()
            c[5].zero_()

        return run

    monkeypatch.setattr(CudaExecutor, "call", wrong)
    assert bench() == 1
    assert "48 of 3072 elements are wrong" in capsys.readouterr().err
