"""A stage with an alternative: when it is tried, when the compilation goes back, what is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from flagc.ir.locations import SourceLocation
from flagc.pipeline.diagnostics import Declined, Diagnostic, Findings
from flagc.pipeline.loading import load_installed_passes
from flagc.pipeline.passes import Pass, register
from flagc.pipeline.pipeline_text import parse_pipeline
from flagc.pipeline.sequence import StageSequence
from flagc.pipeline.stages import Alternative, Payload, Stage, StepObserver


@pytest.fixture(autouse=True)
def installed() -> None:
    load_installed_passes()


@register
@dataclass(frozen=True)
class WorksOnOther(Pass):
    """Works on the level of the alternative's second stage."""

    name = "works-on-other"
    level = "other2"

    def run(self, module, context) -> None:
        raise AssertionError("never run")


class ToyStage(Stage):
    """Appends its name to a text."""

    suffix = ".toy"

    def __init__(self, name: str, applies: Callable[[Payload], bool] | None = None) -> None:
        self.name = name
        self.level = name
        if applies is not None:
            self.alternative = Alternative(("other1", "other2"), "theirs", "ours", "--toy auto")
            self._applies = applies

    def applies(self, payload: Payload) -> bool:
        return self._applies(payload)

    def run(
        self, payload: Payload, observer: StepObserver | None, first_step: str | None = None
    ) -> Payload:
        return f"{payload} {self.name}"

    def text(self, payload: Payload, *, debug: bool = True) -> str:
        return str(payload)


def always(payload: Payload) -> bool:
    return True


def stages(applies: Callable[[Payload], bool] = always) -> list[Stage]:
    names = ("other1", "other2", "last")
    return [ToyStage("first"), ToyStage("own", applies), *map(ToyStage, names)]


def follow(sequence: StageSequence, declining: str = "") -> tuple[str, list[str]]:
    """Run a sequence, in which stage `declining` declines; return payload and what was dropped."""
    dropped: list[str] = []
    while (stage := sequence.next_stage()) is not None:
        if stage.name == declining:
            location = SourceLocation("k.py", 3, 1)
            found = Diagnostic("error", "cannot", "a-pass", stage.name, "tt.load", location)
            dropped += sequence.fall_back(Declined(found))
            declining = ""
            continue
        sequence.payload = stage.run(sequence.payload, None)
    sequence.finish()
    return sequence.payload, dropped


def sequence(
    findings: Findings,
    passes: str = "",
    stop_after: str | None = None,
    applies: Callable[[Payload], bool] = always,
) -> StageSequence:
    return StageSequence(stages(applies), "in", parse_pipeline(passes), stop_after, findings)


def test_the_stage_stands_for_its_alternative() -> None:
    findings = Findings()
    assert follow(sequence(findings)) == ("in first own last", [])
    (remark,) = findings.diagnostics
    assert str(remark) == (
        "remark: ours lowers this kernel, not theirs (--toy auto): every pass of it applies"
    )


@pytest.mark.parametrize(("declining", "dropped"), [("own", ["own"]), ("last", ["own", "last"])])
def test_going_back(declining: str, dropped: list[str]) -> None:
    findings = Findings([Diagnostic("warning", "of the first stage")], statistics={"kept": 1})
    chain = sequence(findings)
    assert chain.next_stage() is not None
    chain.payload = "in first"
    original = chain.fall_back

    def fall_back(declined: Declined) -> list[str]:
        findings.diagnostics.append(Diagnostic("remark", "of work that is dropped"))
        findings.statistics.update(kept=2, dropped=1)
        return original(declined)

    chain.fall_back = fall_back  # type: ignore[method-assign]
    assert follow(chain, declining) == ("in first other1 other2 last", dropped)
    assert [str(said) for said in findings.diagnostics] == [
        "warning: of the first stage",
        "k.py:3:1: remark: 'tt.load': theirs lowers this kernel, not ours (--toy auto): cannot "
        "[a-pass]",
    ]
    assert findings.statistics == {"kept": 1}


def test_a_stage_that_does_not_apply_is_left_out_in_silence() -> None:
    findings = Findings()
    chain = sequence(findings, applies=lambda payload: payload != "in first")
    assert follow(chain)[0] == "in first other1 other2 last"
    assert not findings.diagnostics


@pytest.mark.parametrize(
    ("passes", "stop_after", "reason", "end"),
    [
        ("works-on-other", None, "pass 'works-on-other' works there", "last"),
        ("other1:count-ops", None, "pass 'other1:count-ops' works there", "last"),
        ("other1@before(x):count-ops", None, "works there", "last"),
        ("", "other1", "stage other1 was asked for", "other1"),
    ],
)
def test_the_users_wish_for_the_alternative(
    passes: str, stop_after: str | None, reason: str, end: str
) -> None:
    findings = Findings()
    payload, _ = follow(sequence(findings, passes, stop_after))
    assert payload.startswith("in first other1")
    assert payload.endswith(end)
    (remark,) = findings.diagnostics
    assert str(remark).startswith("remark: theirs lowers this kernel, not ours (--toy auto): ")
    assert reason in str(remark)


def test_a_pass_without_a_place_on_any_level_is_no_wish() -> None:
    findings = Findings()
    assert follow(sequence(findings, "count-ops"))[0] == "in first own last"


def test_who_stops_at_the_stage_gets_it_or_the_reason() -> None:
    assert follow(sequence(Findings(), stop_after="own"))[0] == "in first own"
    with pytest.raises(Declined, match="cannot"):
        follow(sequence(Findings(), stop_after="own"), "own")
    not_applying = sequence(Findings(), stop_after="own", applies=lambda _: False)
    assert follow(not_applying)[0] == "in first"


def test_declining_without_an_alternative_is_the_error() -> None:
    with pytest.raises(Declined, match=r"k\.py:3:1: error: 'tt\.load': cannot \[a-pass\]"):
        follow(sequence(Findings()), "first")
