"""What `--check` makes of situations that users reported."""

from e2e.checking import checked
from e2e.commands import INPUTS, flagc

SCRIPT = INPUTS / "reported_cases.py"


def test_a_k_tail_without_other_is_shown_and_right_on_ascend() -> None:
    done, (launch,) = checked(SCRIPT, "--", "tail-other")
    assert done.status == 0, done.stderr
    assert launch["mismatches"] == []  # the unread part of a tile is zero
    (warning,) = launch["warnings"]
    lines = SCRIPT.read_text().splitlines()
    of_a, of_b = (i for i, text in enumerate(lines, start=1) if "= tl.load(" in text)
    # 101 is 37 more than a block of 64: columns of A and rows of B. M and N have tails as well,
    # which reach nothing that is stored.
    assert "9900 elements of 'c_ptr' depend on masked lanes" in warning
    assert f"dimension 1, lanes 37 and up, of the load at {SCRIPT}:{of_a}" in warning
    assert f"dimension 0, lanes 37 and up, of the load at {SCRIPT}:{of_b}" in warning
    assert warning.count("lanes 37 and up") == 2
    assert warning.count("the tail of dimension") == 2


def test_split_k_reports_the_growth_of_the_error_and_what_c_starts_at() -> None:
    for arguments, warns in ((["split-k"], False), (["split-k", "dirty"], True)):
        done, (launch,) = checked(SCRIPT, "--", *arguments)
        assert done.status == 0, done.stderr
        (output,) = launch["outputs"]
        assert output["additions"] == 4
        assert "4 atomic additions, each rounded to float16" in output["bound"]
        # C is of size sqrt(2048); rounding it once to fp16 is off by 2**-6 at most below 64.
        assert output["largest_error"] > 2.0**-6
        assert output["used"] < 1
        starts = "must start at zero, but held 5 at [0, 0]"
        assert any(starts in warning for warning in launch["warnings"]) == warns


def test_a_k_tail_of_72_and_int8_with_an_accumulator_are_right() -> None:
    for case, most in (("k-tail-72", 0.75), ("int8", 0.0)):
        done, (launch,) = checked(SCRIPT, "--", case)
        assert done.status == 0, done.stderr
        assert launch["outputs"][0]["used"] <= most


def test_a_block_of_24_is_refused_with_its_reason() -> None:
    done = flagc(SCRIPT, "--target", "ascend", "--run", "--check", "--", "block-k-24")
    assert done.status == 1
    (line,) = done.error_lines
    assert "arange's range must be a power of 2" in line
