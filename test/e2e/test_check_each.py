"""`--check-each` names the pass that makes a right kernel wrong."""

from pathlib import Path

import pytest
import torch

from e2e.checking import document
from e2e.commands import EXAMPLES, INPUTS, flagc

KERNEL = INPUTS / "checked_gemm.py"
FLAGS = ["--target", "ascend", "--run", "--check-each", "--load", INPUTS / "wrong_passes.py"]
RIGHT = ["swizzle-program-ids{group-m=2}", "set-num-stages{n=2}", "explicit-other"]


def test_one_wrong_pass_of_six_is_named() -> None:
    passes = [*RIGHT, "adds-to-subs", "drop-cache-hints", "count-ops"]
    done = flagc(KERNEL, *FLAGS, "--passes", ",".join(passes), "--format", "json", "--", 100)
    assert done.status == 1
    (checked,) = document(done)["checked_each"]
    assert checked["culprit"] == "adds-to-subs"
    assert [step["name"] for step in checked["steps"]] == ["(without your passes)", *passes]
    assert [step["status"] for step in checked["steps"]] == ["right"] * 4 + ["wrong"] * 3
    changed = [step["changed"] for step in checked["steps"]]
    assert changed == [None, False, False, False, True, False, False]
    assert "pass 'adds-to-subs' makes it wrong: 'c_ptr' (150, 140)" in done.error_lines[-1]


def test_a_pass_that_makes_it_fault_is_named_in_the_table() -> None:
    passes = "explicit-other,drop-store-masks,drop-cache-hints"
    done = flagc(KERNEL, *FLAGS, "--passes", passes, "--", 100)
    assert done.status == 1
    assert any("pass 'drop-store-masks' makes it fault" in line for line in done.error_lines)
    rows = [line for line in done.stdout.splitlines() if "FAULT" in line]
    assert [row.split()[1] for row in rows] == ["drop-store-masks", "drop-cache-hints"]


def test_right_passes_pass() -> None:
    done = flagc(KERNEL, *FLAGS, "--passes", ",".join(RIGHT[:2]), "--", 100)
    assert done.status == 0, done.stderr
    assert "right after every pass, and the same bits" in done.stdout


def test_a_kernel_that_is_wrong_without_passes_blames_none(tmp_path: Path) -> None:
    script = tmp_path / "bad_cast.py"
    source = KERNEL.read_text().replace("result.to(tl.float16)", "result.to(tl.bfloat16)")
    script.write_text(source)
    done = flagc(script, *FLAGS, "--passes", "set-num-stages{n=2}", "--", 100)
    assert done.status == 1
    assert "wrong whatever the passes: 'c_ptr'" in done.error_lines[-1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--target", "ascend", "--check-each"], "--check-each needs --run"),
        pytest.param(
            ["--target", "cuda:sm90", "--run", "--check-each"],
            "cannot run on a GPU",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here"),
        ),
        (
            ["--target", "ascend", "--run", "--check-each", "--trace", "x.json"],
            "leave out --bench and --trace",
        ),
    ],
)
def test_where_it_cannot_be_done_one_line_says_so(arguments: list[str], says: str) -> None:
    done = flagc(EXAMPLES / "vector_add.py", *arguments)
    assert done.status == 2
    (line,) = done.error_lines
    assert says in line
