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
    "crash": "kernel 'spin', launch 3 (grid 1x1x1), crashed (SIGSEGV); without --no-checks",
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
    assert [other["kernel"] for other in others] == (["spin"] if how == "crash" else [])
    assert [len(other["executions"]) for other in others] == [1] * len(others)


@pytest.mark.parametrize("how", ["divide", "follow"])
def test_scalar_code_that_would_crash_the_host_does_not(how: str) -> None:
    done = flagc(SCRIPT, *FLAGS, "--", how)
    assert done.status == 0, done.stderr
    _, kernel = document(done)["kernels"]
    assert kernel["executions"][0]["speculative_reads"] == (how == "follow")
    assert ("warning: follow: the compiled code reads 4 bytes outside" in done.stderr) == (
        how == "follow"
    )


def test_with_checks_the_wrong_access_is_named() -> None:
    done = flagc(SCRIPT, "--target", "ascend", "--run", "--", "follow")
    assert done.status == 1
    (line,) = done.error_lines
    assert "crashing.py:" in line
    assert "error: follow:" in line
    assert "stores an undefined value to a tensor" in line
    assert "reads 4 bytes outside the tensors of this launch" in line


@pytest.mark.parametrize("to_group", [True, False], ids=["terminal", "kill"])
def test_an_interrupt_ends_script_and_command(to_group: bool) -> None:
    # A test run in the background of a shell ignores interrupts, and its children would too.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from flagc.cli.main import main; main()"
    command = [sys.executable, "-c", code, str(SCRIPT), *FLAGS, "--", "wait"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
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
