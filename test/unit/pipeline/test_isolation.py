"""Work in a child process: results, errors, crashes and time limits reach the parent."""

import os
import signal
import time

import pytest

from flagc.errors import EnvironmentProblem, KernelError, UsageError
from flagc.pipeline.instrumentation import heartbeat
from flagc.pipeline.isolation import CompilerCrash, run_isolated


def test_result_and_errors_come_back() -> None:
    assert run_isolated(lambda journal: {"pid": os.getpid()}, time_limit=10)["pid"] != os.getpid()

    def refuse(journal):
        raise UsageError("no")

    with pytest.raises(UsageError, match=r"^no$"):
        run_isolated(refuse, time_limit=10)


def test_a_bug_of_our_own_is_reported_with_its_traceback() -> None:
    def broken(journal):
        return {}["missing"]

    with pytest.raises(KernelError, match=r"KeyError: 'missing'"):
        run_isolated(broken, time_limit=10)


def test_crash_in_a_native_step_is_found_step_by_step() -> None:
    def crash(journal):
        journal.enter("ttgir", "")
        if journal.detailed:
            journal.enter("ttgir", "first", ir=lambda: "ir one")
            journal.enter("ttgir", "second", ir=lambda: "ir two")
        os.write(2, b"Assertion `x' failed.\n")
        os.kill(os.getpid(), signal.SIGABRT)

    with pytest.raises(CompilerCrash) as caught:
        run_isolated(crash, time_limit=10)
    crash_report = caught.value.crash
    assert (crash_report.entry.stage, crash_report.entry.step) == ("ttgir", "second")
    assert crash_report.step_input == "ir two"
    assert "Assertion `x' failed." in crash_report.stderr
    assert "SIGABRT" in crash_report.what


def test_a_crash_that_does_not_come_again_says_so() -> None:
    def crash_once(journal):
        if not journal.detailed:
            os.kill(os.getpid(), signal.SIGSEGV)

    with pytest.raises(CompilerCrash, match="not when its passes were run one by one"):
        run_isolated(crash_once, time_limit=10)


def test_time_limit_counts_from_the_last_sign_of_life() -> None:
    def slow_but_alive(journal):
        for _ in range(4):
            time.sleep(0.5)
            heartbeat()
        return "done"

    assert run_isolated(slow_but_alive, time_limit=1.2) == "done"

    def stuck(journal):
        journal.enter("ttir", "stuck", native=False, ir=lambda: "the ir")
        time.sleep(60)

    started = time.monotonic()
    with pytest.raises(CompilerCrash) as caught:
        run_isolated(stuck, time_limit=0.5)
    assert time.monotonic() - started < 10
    assert caught.value.crash.timed_out
    assert caught.value.crash.step_input == "the ir"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_from_outside_is_no_fault_of_the_kernel(number: int) -> None:
    with pytest.raises(EnvironmentProblem, match=signal.Signals(number).name):
        run_isolated(lambda journal: os.kill(os.getpid(), number), time_limit=10)


def test_full_disk_in_the_child_is_an_environment_problem() -> None:
    def no_space(journal):
        raise OSError(28, "No space left on device")

    with pytest.raises(EnvironmentProblem, match="No space left"):
        run_isolated(no_space, time_limit=10)
