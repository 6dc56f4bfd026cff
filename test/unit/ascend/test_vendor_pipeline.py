"""The vendor's passes in segments against bishengir-compile in one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from flagc.errors import KernelError
from flagc.targets.ascend.chips import chip
from flagc.targets.ascend.pass_text import VendorPass
from flagc.targets.ascend.pass_trace import trace_passes
from flagc.targets.ascend.stages import FinalStage, HivmStage, VendorText
from flagc.targets.ascend.vendor_driver import compile_linalg
from flagc.targets.ascend.vendor_pipeline import (
    canonical,
    run_passes,
    vendor_passes,
)
from flagc.targets.ascend.vendor_process import VendorError

Text = Callable[[str], str]
CHIP = "Ascend910B3"
KERNELS = [
    "gemm",
    "gemm_bf16",
    "gemm_bias_relu",
    "vector_add",
    "layernorm",
    "softmax",
    "rmsnorm_loop",
    "cumsum",
    "while_sum",
    "attention",
]


def run_cut(text: str, passes: Sequence[VendorPass], cuts: Sequence[int]) -> str:
    """Run `passes` in one process for each segment between `cuts`."""
    begin = 0
    for end in [*cuts, len(passes)]:
        text = run_passes(text, passes[begin:end], generic_out=True)
        begin = end
    return text


class Interceptor:
    """An observer that hands the module after each of its anchors to a function."""

    replaces = True

    def __init__(self, **after: Callable[[str], str]) -> None:
        self.functions = {f"{name.replace('_', '-')}#2": code for name, code in after.items()}

    def wants(self, step: str) -> bool:
        return step in self.functions

    def before(self, step: str, payload: VendorText) -> VendorText:
        return payload

    def after(self, step: str, payload: VendorText, seconds: float | None = None) -> VendorText:
        return VendorText(self.functions[step](payload.text))


def staged(text: str, observer: Interceptor) -> tuple[str, int]:
    """The final module that the stages make, and the attempt that made it."""
    metadata: dict[str, int] = {}
    hivm = HivmStage(chip(CHIP), metadata, []).run(VendorText(text), observer)
    final = FinalStage(chip(CHIP), metadata, []).run(hivm, None)
    return final.text, metadata["vendor_attempt"]


@pytest.mark.parametrize("name", KERNELS)
def test_whole_and_cut_pipeline_give_the_drivers_module(
    name: str, linalg: Text, final: Text
) -> None:
    passes = vendor_passes(CHIP)
    expected = canonical(final(name))
    assert canonical(run_passes(linalg(name), passes)) == expected
    cuts = [len(passes) * part // 6 for part in range(1, 6)]
    assert canonical(run_cut(linalg(name), passes, cuts)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_cut_at_every_pass(name: str, linalg: Text, final: Text) -> None:
    passes = vendor_passes(CHIP)
    cut = run_cut(linalg(name), passes, range(1, len(passes)))
    assert canonical(cut) == canonical(final(name))


def test_retries_with_less_buffering_as_the_driver_does(linalg: Text) -> None:
    text = linalg("gemm_without_double_buffers")
    driver = compile_linalg(text, CHIP)
    final, attempt = staged(text, Interceptor())
    assert (driver.attempt, attempt) == (3, 3)
    assert canonical(final) == canonical(driver.final)


def test_overflow_in_every_attempt_is_the_drivers_error(linalg: Text) -> None:
    with pytest.raises(VendorError) as driver:
        compile_linalg(linalg("gemm_l0c_overflow"), CHIP)
    text = "cc overflow, requires 2097152 bits while 1048576 bits available!"
    assert any(entry.text.startswith(text) for entry in driver.value.diagnostics)
    with pytest.raises(KernelError, match="262144 bytes"):
        staged(linalg("gemm_l0c_overflow"), Interceptor())


def test_an_observer_sees_buffers_get_addresses(linalg: Text, final: Text) -> None:
    seen: dict[str, str] = {}

    def keep(name: str) -> Callable[[str], str]:
        return lambda text: seen.setdefault(name, text)

    observer = Interceptor(hivm_mark_multi_buffer=keep("before"), hivm_plan_memory=keep("after"))
    text, _ = staged(linalg("gemm"), observer)
    assert "memref.alloc()" in seen["before"]
    assert "hivm.hir.pointer_cast" not in seen["before"]
    assert "hivm.hir.pointer_cast" in seen["after"]
    assert "memref.alloc()" not in seen["after"]
    assert canonical(text) == canonical(final("gemm"))


def test_what_an_observer_returns_is_compiled(linalg: Text) -> None:
    def rename(text: str) -> str:
        return text.replace("@vector_add(", "@renamed(")

    text, _ = staged(linalg("vector_add"), Interceptor(hivm_plan_memory=rename))
    assert "@renamed(" in text


def test_chip_is_the_only_difference_between_chips() -> None:
    one = [entry.text.replace("910B1", "910B4") for entry in vendor_passes("910B1")]
    assert one == [entry.text for entry in vendor_passes("910B4")]


def test_attempts_differ_in_code_motion_and_buffering_only() -> None:
    first, second, third = (vendor_passes(CHIP, attempt) for attempt in (1, 2, 3))
    gone = {entry.name for entry in first} - {entry.name for entry in second}
    assert gone == {"loop-invariant-code-motion", "loop-invariant-subset-hoisting"}
    changed = {a.name for a, b in zip(second, third, strict=True) if a.text != b.text}
    assert changed == {"hivm-mark-multi-buffer"}


def test_hivm_stage_still_has_whole_tile_ops(linalg: Text) -> None:
    text = compile_linalg(linalg("gemm"), CHIP).hivm
    for operation in ("mmadL1", "nd2nz", "fixpipe", "set_flag", "wait_flag"):
        assert f"hivm.hir.{operation}" in text


def test_trace_has_a_module_for_every_pass(linalg: Text, final: Text) -> None:
    passes = vendor_passes(CHIP)
    trace = trace_passes(linalg("gemm_bias_relu"), passes)
    assert [entry.entry for entry in trace] == passes
    assert canonical(trace[-1].text) == canonical(final("gemm_bias_relu"))
    split = next(i for i, entry in enumerate(trace) if entry.entry.name == "hivm-split-mix-kernel")
    assert "gemm_bias_relu_mix_aic" not in trace[split - 1].text
    assert "gemm_bias_relu_mix_aic" in trace[split].text
    rest = run_passes(trace[split].text, passes[split + 1 :])
    assert canonical(rest) == canonical(final("gemm_bias_relu"))
    assert 0 < sum(entry.seconds for entry in trace) < 5
