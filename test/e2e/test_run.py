"""Unchanged scripts run on the emulated AI Core, and their own checks decide."""

import json
from pathlib import Path

import pytest

from e2e.commands import EXAMPLES, INPUTS, flagc

NAMES = ["gemm", "gemm_bias_act", "vector_add", "layernorm", "softmax", "attention"]


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_right(name: str) -> None:
    done = flagc(EXAMPLES / f"{name}.py", "--target", "ascend", "--run", "--format", "json")
    assert done.status == 0, done.stderr
    first, _, document = done.stdout.partition("\n")
    assert first == f"{name}: ok"
    (kernel,) = json.loads(document)["kernels"]
    (execution,) = kernel["executions"]
    x, y, z = kernel["grids"][0]
    assert execution["blocks"] == x * y * z
    assert execution["instructions"] > 10 * execution["blocks"]


def test_a_wrong_kernel_fails_the_scripts_own_check(tmp_path: Path) -> None:
    script = tmp_path / "wrong.py"
    source = (EXAMPLES / "vector_add.py").read_text()
    script.write_text(source.replace("x + y, mask=mask", "x - y, mask=mask"))
    done = flagc(script, "--target", "ascend", "--run")
    assert done.status == 1
    assert "wrong.py:" in done.error_lines[0]
    assert "AssertionError" in done.error_lines[0]
    # Only recorded, the same script is no failure: its results are not real.
    assert flagc(script, "--target", "ascend").status == 0


def test_an_access_past_the_tensor_is_a_fault_with_line_block_and_tensor(tmp_path: Path) -> None:
    script = tmp_path / "past.py"
    source = (EXAMPLES / "vector_add.py").read_text()
    script.write_text(
        source.replace("x + y, mask=mask", "x + y").replace("mask = offsets < n", "mask = None")
    )
    done = flagc(script, "--target", "ascend", "--run")
    assert done.status == 1
    lines = script.read_text().split("\n")
    load, store = (
        next(i for i, text in enumerate(lines, start=1) if part in text)
        for part in ("x = tl.load", "tl.store")
    )
    assert f"past.py:{store}:" in done.error_lines[0]
    assert f"line {load} reads 4096 bytes outside the tensors" in done.error_lines[0]
    assert "block 96" in done.error_lines[0]  # 98432 elements end within the 97th block
    assert "x_ptr, which has 393728" in done.error_lines[0]
    assert "add_kernel" in done.error_lines[0]


def test_several_kernels_autotuned_and_with_heuristics(tmp_path: Path) -> None:
    script = tmp_path / "several.py"
    script.write_text(
        (INPUTS / "several_kernels.py")
        .read_text()
        .replace("torch.zeros(1024), torch.zeros(1000)", "torch.randn(1024), torch.randn(1000)")
        .replace("copy_kernel[(8,)](x, torch.empty_like(x)", "copy_kernel[(8,)](x, x2")
        .replace("tuned_kernel[lambda", "y2 = torch.empty_like(y)\ntuned_kernel[lambda")
        .replace("(y, torch.empty_like(y), 1000)\n", "(y, y2, 1000)\n")
        .replace("copy_kernel[(8,)](x, x2", "x2 = torch.empty_like(x)\ncopy_kernel[(8,)](x, x2")
        + "assert torch.equal(x, x2) and torch.equal(y * 2, y2)\nprint('all right')\n"
    )
    done = flagc(script, "--target", "ascend", "--run", "--threads", 1)
    assert done.status == 0, done.stderr
    assert "all right" in done.stdout
    assert "ran 2 launches on the emulated 910B3: 24 blocks" in done.stdout


def test_an_autotuned_config_that_does_not_fit_gives_way(tmp_path: Path) -> None:
    script = tmp_path / "tuned.py"
    script.write_text(
        (INPUTS / "several_kernels.py").read_text().replace('{"BLOCK": 128}', '{"BLOCK": 131072}')
    )
    done = flagc(script, "--target", "ascend", "--run", "--format", "json")
    assert done.status == 0, done.stderr
    (tuned,) = [k for k in json.loads(done.stdout)["kernels"] if k["kernel"] == "tuned_kernel"]
    assert tuned["constexprs"]["BLOCK"] == "256"
    assert tuned["executions"]


def test_trace_has_every_instruction_of_every_block(tmp_path: Path) -> None:
    lines, chrome = tmp_path / "gemm.jsonl", tmp_path / "gemm.json"
    for path in (lines, chrome):
        done = flagc(EXAMPLES / "gemm.py", "--target", "ascend", "--run", "--trace", path)
        assert done.status == 0, done.stderr
    records = [json.loads(line) for line in lines.read_text().splitlines()]
    assert f"{len(records)} instructions" in done.stdout
    assert {record["block"] for record in records} == set(range(16))
    # 512x512x512 multiply-accumulates in all; A and B tiles of 128x64 fp16 a K step, 8 steps.
    assert sum(record["macs"] for record in records) == 512**3
    loaded = sum(r["bytes_written"] for r in records if "OUT.TO.L1" in r["name"])
    assert loaded == 16 * 8 * 2 * 128 * 64 * 2
    assert {r["pipe"] for r in records} >= {"MTE2", "MTE1", "M", "FIX"}
    events = json.loads(chrome.read_text())["traceEvents"]
    timed = [event for event in events if event["ph"] == "X"]
    assert len(timed) == len(records)
    first = [event["ts"] for event in timed if event["pid"] == 3]
    assert first == list(range(len(first)))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([EXAMPLES / "gemm.py", "--target", "ascend", "--trace", "x.json"], "--run"),
        (
            [EXAMPLES / "vector_add.py", "--target", "ascend", "--run", "--kernel", "add_kernel"],
            "needs a script",
        ),
    ],
)
def test_what_cannot_run_says_so(arguments: list, says: str) -> None:
    done = flagc(*arguments)
    assert done.status == 2
    assert says in done.error_lines[0]
