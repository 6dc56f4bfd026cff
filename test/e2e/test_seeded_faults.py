"""Ten faults that users make, each a small change of a right kernel: `--check` finds them."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.checking import checked
from e2e.commands import INPUTS, flagc

RIGHT = (INPUTS / "checked_gemm.py").read_text()


@dataclass(frozen=True)
class Fault:
    """`good` in the kernel's source becomes `bad`.

    Those that the interpreter repeats, because they are in the kernel's own text, need the script's
    reference (`exact`); the others are losses of precision, which float64 does not have.
    """

    good: str
    bad: str
    says: str
    exact: bool = True
    depth: int = 100


ALL_ROWS, TAIL_ROWS = (0, 149), (128, 149)
MISMATCHES = {
    "dropped K tail": Fault("range(0, K, BLOCK)", "range(0, K - BLOCK + 1, BLOCK)", ""),
    "fp16 accumulator": Fault(
        "tl.dot(a, b, accumulator)",
        "tl.dot(a, b, accumulator).to(tl.float16).to(tl.float32)",
        "",
        exact=False,
        depth=2048,
    ),
    "swapped operands": Fault("tl.dot(a, b, accumulator)", "tl.dot(b, a, accumulator)", ""),
    "wrong stride": Fault("inner[:, None] * stride_bk", "inner[:, None] * stride_am", ""),
    "wrong epilogue order": Fault(
        "result = accumulator + bias[None, :]\n    result = tl.maximum(result, 0.0)",
        "result = tl.maximum(accumulator, 0.0)\n    result = result + bias[None, :]",
        "",
    ),
    "uninitialised accumulator": Fault(
        "tl.zeros((BLOCK, BLOCK), dtype=tl.float32)",
        "tl.load(c_ptr + c_offsets, mask=c_mask, other=0.0).to(tl.float32)",
        ": 0 instead of",
    ),
    "off-by-one extent": Fault(
        "c_mask = (rows[:, None] < M)",
        "c_mask = (rows[:, None] < M - 1)",
        "only in the tail of dimension 0 (indices 149..149, 0..139)",
    ),
    "bad cast": Fault("result.to(tl.float16)", "result.to(tl.bfloat16)", "", exact=False),
    "missing bias": Fault("accumulator + bias[None, :]", "accumulator", ""),
}
# The emulator stops these, as they store outside the tensor. Without a mask for N, flagc's lowering
# stores zeros over the beginning of the next row, and behind the last one; the vendor's stores
# columns that nobody computed.
STOPPED = {
    "missing M mask": (
        "c_mask = (rows[:, None] < M) & ",
        "c_mask = (rows[:, None] >= 0) & ",
        "c_ptr, which has 42000",
    ),
    "missing N mask": (
        "(columns[None, :] < N)\n    acc",
        "(columns[None, :] >= 0)\n    acc",
        "c_ptr, which has 42000",
    ),
}
STOPPED_OF_THE_VENDORS = {"missing N mask": "stores an undefined value to a tensor"}


@pytest.mark.parametrize("arguments", [["100"], ["100", "exact"], ["2048"]], ids=" ".join)
def test_the_right_kernel_passes(arguments: list[str]) -> None:
    done, (launch,) = checked(INPUTS / "checked_gemm.py", "--", *arguments)
    assert done.status == 0, done.stderr
    assert launch["mismatches"] == []
    (output,) = launch["outputs"]
    assert output["argument"] == "c_ptr"
    # Half a unit in the last place is half of the bound: nothing is gained by a loose one.
    assert 0.3 < output["used"] < 0.75


@pytest.mark.parametrize("name", MISMATCHES)
def test_a_fault_is_a_mismatch(name: str, tmp_path: Path) -> None:
    fault = MISMATCHES[name]
    assert RIGHT.count(fault.good) == 1
    script = tmp_path / "faulty.py"
    script.write_text(RIGHT.replace(fault.good, fault.bad))
    arguments = [str(fault.depth), *(["exact"] if fault.exact else [])]
    done, (launch,) = checked(script, "--", *arguments)
    assert done.status == 1
    (mismatch,) = launch["mismatches"]
    assert mismatch["argument"] == "c_ptr"
    assert launch["repeatable"] is True
    (line,) = done.error_lines
    assert "'c_ptr' (150, 140)" in line
    assert fault.says in line
    assert mismatch["place"]["stored"] == 9
    if name == "off-by-one extent":
        assert mismatch["wrong"] == 140


@pytest.mark.parametrize("pipeline", ["auto", "vendor"])
@pytest.mark.parametrize("name", STOPPED)
def test_a_fault_is_stopped_at_its_line(name: str, pipeline: str, tmp_path: Path) -> None:
    good, bad, message = STOPPED[name]
    if pipeline == "vendor":
        message = STOPPED_OF_THE_VENDORS.get(name, message)
    assert RIGHT.count(good) == 1
    script = tmp_path / "faulty.py"
    script.write_text(RIGHT.replace(good, bad))
    target = ("--target", "ascend", "--pipeline", pipeline)
    done = flagc(script, *target, "--run", "--check", "--", "100")
    assert done.status == 1
    lines = script.read_text().splitlines()
    line = next(i for i, text in enumerate(lines, start=1) if "tl.store(" in text)
    assert f"faulty.py:{line}:" in done.error_lines[0]
    assert message in done.error_lines[0]
