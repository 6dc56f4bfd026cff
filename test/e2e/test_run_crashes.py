"""What becomes of `--run` when emulated code or the script dies on the way."""

import os
import signal
import subprocess
import sys

import pytest

from e2e.checking import document
from e2e.commands import INPUTS, flagc

SCRIPT = INPUTS / "crashing.py"
FLAGS = ["--target", "ascend", "--run", "--no-checks", "--format", "json"]

DEATHS = {
    "divide": "kernel 'divide', launch 2 (grid 1x1x1), crashed (SIGFPE); its scalar code divides",
    "follow": "kernel 'follow', launch 2 (grid 1x1x1), crashed (SIGSEGV); without --no-checks",
    "outside": "the script, outside of its launches, crashed (SIGSEGV)",
    "fail": "ValueError: no more",
    "exit": "the script exited with status 3",
}


@pytest.mark.parametrize("how", DEATHS)
def test_a_death_is_one_error_after_the_launches_so_far(how: str) -> None:
    done = flagc(SCRIPT, *FLAGS, "--", how)
    assert done.status == 1
    (line,) = done.error_lines
    assert DEATHS[how] in line
    assert "crashing.py" in line
    assert done.stdout.startswith("the script says 1\n")
    result = document(done)
    assert DEATHS[how] in result["error"]
    first, *others = result["kernels"]
    assert first["kernel"] == "add_one"
    assert first["executions"][0]["blocks"] == 1
    assert [other["kernel"] for other in others] == ([how] if how in ("divide", "follow") else [])
    assert not any("executions" in other for other in others)


def test_with_checks_the_wrong_access_is_named() -> None:
    done = flagc(SCRIPT, "--target", "ascend", "--run", "--", "follow")
    assert done.status == 1
    (line,) = done.error_lines
    assert "crashing.py:" in line
    assert "error: follow:" in line
    assert "reads 4 bytes of global memory outside the tensors of this launch" in line


@pytest.mark.parametrize("to_group", [True, False], ids=["terminal", "kill"])
def test_an_interrupt_ends_script_and_command(to_group: bool) -> None:
    code = "from flagc.cli.main import main; main()"
    command = [sys.executable, "-c", code, str(SCRIPT), *FLAGS, "--", "wait"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "the script says 1\n"
    assert process.stdout.readline() == "waiting\n"
    if to_group:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # nobody is left
