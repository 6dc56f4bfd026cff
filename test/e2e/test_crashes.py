"""A crash in a pass or a compiler is a diagnostic with pass, op and reproducer."""

import shlex
from pathlib import Path

import pytest

from e2e.commands import EXAMPLES, INPUTS, command, flagc

GEMM = EXAMPLES / "gemm.py"
BAD = INPUTS / "bad_passes.py"


def run_bad(passes: str, tmp_path: Path, *more: object):
    where = {"TMPDIR": str(tmp_path)}
    return flagc(GEMM, "--load", BAD, "--passes", passes, *more, environment=where)


def reproducer(stderr: str) -> list[str]:
    (line,) = [line for line in stderr.splitlines() if line.startswith("  reproduce: ")]
    words = shlex.split(line.removeprefix("  reproduce: "))
    assert words[0] == "flagc-opt"
    return words[1:]


@pytest.mark.parametrize("place", ["ttgir@after(accelerate_matmul):", ""])
def test_abort_in_the_compiler_names_pass_op_and_reproducer(place: str, tmp_path: Path) -> None:
    done = run_bad(f"{place}bad-mma-shape", tmp_path)
    assert done.status == 1
    assert "pass 'bad-mma-shape' (stage ttgir) left IR on which the compiler" in done.stderr
    assert "SIGABRT" in done.stderr
    assert "'ttng.warp_group_dot' (gemm.py:" in done.stderr
    again = command("opt", *reproducer(done.stderr), environment={"TMPDIR": str(tmp_path)})
    assert again.status == 1
    assert "bad-mma-shape" in again.stderr
    assert "SIGABRT" in again.stderr


def test_segfault_in_a_pass(tmp_path: Path) -> None:
    done = run_bad("segfault", tmp_path)
    assert done.status == 1
    assert "pass 'segfault' (stage ttir) crashed (SIGSEGV)" in done.stderr
    again = command("opt", *reproducer(done.stderr), environment={"TMPDIR": str(tmp_path)})
    assert "SIGSEGV" in again.stderr


def test_endless_loop_in_a_pass(tmp_path: Path) -> None:
    done = run_bad("endless", tmp_path, "--time-limit", 1)
    assert done.status == 1
    assert "pass 'endless' (stage ttir) did not finish within 1 s" in done.stderr
    assert reproducer(done.stderr)


def test_child_killed_from_outside(tmp_path: Path) -> None:
    done = run_bad("killed", tmp_path)
    assert done.status == 2
    assert len(done.error_lines) == 1
    assert "was killed (SIGKILL)" in done.error_lines[0]
    assert not list(tmp_path.glob("flagc-run-*"))


def test_python_error_in_a_pass_shows_the_passes_line(tmp_path: Path) -> None:
    done = run_bad("raising", tmp_path)
    assert done.status == 1
    lines = BAD.read_text().split("\n")
    line = next(i for i, text in enumerate(lines, start=1) if "raise KeyError" in text)
    assert f"bad_passes.py:{line})" in done.error_lines[0]


def test_invalid_ir_names_pass_and_op(tmp_path: Path) -> None:
    done = run_bad("invalid-ir", tmp_path)
    assert done.status == 1
    assert "[invalid-ir]" in done.error_lines[0]
    assert "'tt.make_range'" in done.error_lines[0]
    assert "gemm.py:" in done.error_lines[0]


def test_refusal_names_the_kernels_line(tmp_path: Path) -> None:
    done = run_bad("refusing", tmp_path)
    assert done.status == 1
    lines = GEMM.read_text().split("\n")
    line = next(i for i, text in enumerate(lines, start=1) if "tl.dot(" in text)
    assert f"gemm.py:{line}:" in done.error_lines[0]
    assert "no dots here, please" in done.error_lines[0]


def test_one_bad_kernel_does_not_stop_the_others(tmp_path: Path) -> None:
    script = tmp_path / "two.py"
    script.write_text(
        "import torch, triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def bad(x_ptr):\n    tl.store(x_ptr, undefined_name)\n\n\n@triton.jit\n"
        "def good(x_ptr):\n    tl.store(x_ptr, 1.0)\n\n\n"
        "x = torch.zeros(16)\nbad[(1,)](x)\ngood[(1,)](x)\n"
    )
    done = flagc(script, "--target", "cuda:sm90")
    assert done.status == 1
    assert f"{script}:7:" in done.stderr
    assert "good for cuda:sm90" in done.stdout
