"""Lowering passes of a target: the user's replace them, stand beside them, or leave them out."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from flagc.cli.executing import _prefixes
from flagc.errors import UsageError
from flagc.ir.module import Module
from flagc.pipeline.context import PassContext
from flagc.pipeline.defaults import assemble
from flagc.pipeline.diagnostics import Declined, Findings, PassFailure
from flagc.pipeline.loading import load_installed_passes
from flagc.pipeline.manager import PassManager
from flagc.pipeline.passes import Pass, register
from flagc.pipeline.pipeline_text import PlacedPass, parse_pipeline
from flagc.pipeline.places import check_places, names_at_end, passes_at_end
from flagc.targets.ascend.staged_stage import StagedStage
from flagc.targets.ascend.target import AscendTarget

ORDER: list[str] = []


@dataclass(frozen=True)
class Noting(Pass):
    """Notes that it ran."""

    level = "staged"
    size: int = 0

    def run(self, module: Module, context: PassContext) -> None:
        ORDER.append(self.spelling())


@register
@dataclass(frozen=True)
class LowerA(Noting):
    """One lowering pass."""

    name = "lower-a"


@register
@dataclass(frozen=True)
class LowerB(Noting):
    """Another one."""

    name = "lower-b"


@register
@dataclass(frozen=True)
class TunesStaged(Noting):
    """A pass that nothing needs."""

    name = "tunes-staged"


@register
@dataclass(frozen=True)
class AddsWrongly(Pass):
    """Leaves an op that a verifier rejects."""

    name = "adds-wrongly"
    level = "staged"
    upstream: bool = False

    def run(self, module: Module, context: PassContext) -> None:
        (op,) = module.walk("tt.return")
        if self.upstream:
            zero = {"value": "0 : i32"}
            number = module.create("arith.constant", (), ["i32"], zero, before=op).results[0]
            module.create("arith.addi", [number, number], ["i64"], before=op)
        else:
            module.create("staged.barrier", attributes={"pipe": '"L1"'}, before=op)


@register
@dataclass(frozen=True)
class DeclinesReturns(Pass):
    """Cannot do kernels that return."""

    name = "declines-returns"
    level = "staged"

    def run(self, module: Module, context: PassContext) -> None:
        (op,) = module.walk("tt.return")
        context.decline(op, "a kernel that returns")


@pytest.fixture(autouse=True)
def installed() -> None:
    load_installed_passes()


@pytest.fixture
def target() -> AscendTarget:
    chosen = AscendTarget("910B3", "flagc")
    chosen.lowering_passes = "lower-a,tunes-staged,lower-b"
    chosen.default_passes = "explicit-other"
    chosen.needed_passes = frozenset(("lower-a", "lower-b"))
    return chosen


def assembled(target: AscendTarget, user: str = "", *without: str) -> list[str]:
    return [str(placed) for placed in assemble(target, parse_pipeline(user), without)]


def staged_order(target: AscendTarget, user: str) -> list[str]:
    """Return the passes that run at the end of stage staged."""
    passes = assemble(target, parse_pipeline(user))
    check_places(passes, target.stages())
    return [str(placed) for placed in passes_at_end(passes, StagedStage(None))]


def test_the_users_come_after_the_lowering_and_before_the_default_passes(target) -> None:
    assert assembled(target, "count-ops,drop-assume") == [
        *("lower-a", "tunes-staged", "lower-b"),
        *("count-ops", "drop-assume", "explicit-other"),
    ]


def test_a_pass_of_the_same_name_replaces_a_lowering_pass_in_its_place(target) -> None:
    user = "lower-a{size=1},count-ops,lower-a{size=2},explicit-other"
    assert assembled(target, user) == [
        *("lower-a{size=1}", "lower-a{size=2}", "tunes-staged", "lower-b"),
        *("count-ops", "explicit-other", "explicit-other"),
    ]
    placed = "staged:lower-a{size=1},staged@after(lower-b):lower-a{size=2}"
    assert assembled(target, placed)[:3] == ["lower-a", "tunes-staged", "lower-b"]


def test_leaving_out(target) -> None:
    assert assembled(target, "", "tunes-staged,explicit-other") == ["lower-a", "lower-b"]
    assert assembled(target, "lower-a{size=1}", "lower-a")[-2:] == [
        "lower-a{size=1}",
        "explicit-other",
    ]
    with pytest.raises(UsageError, match="did you mean 'lower-a'"):
        assembled(target, "", "lower-aa")
    target.with_pipeline("vendor")
    with pytest.raises(UsageError, match="unknown pipeline 'flag'; did you mean 'flagc'"):
        target.with_pipeline("flag")


def test_anchors_at_python_passes(target) -> None:
    user = (
        "tunes-staged{size=3},staged@before(lower-b):count-ops,staged@after(lower-a):count-ops,"
        "staged@after(lower-b):tunes-staged{size=4},staged:lower-a{size=5}"
    )
    with pytest.raises(UsageError, match="'lower-a' runs 2 times in stage staged; say which"):
        staged_order(target, user)
    assert staged_order(target, user.replace("(lower-a)", "(lower-a#1)")) == [
        *("lower-a", "staged@after(lower-a#1):count-ops", "tunes-staged{size=3}"),
        *("staged@before(lower-b):count-ops", "lower-b"),
        *("staged@after(lower-b):tunes-staged{size=4}", "staged:lower-a{size=5}"),
    ]


def test_anchors_at_python_passes_of_a_stage_with_passes_of_its_own(target) -> None:
    user = "ttir@before(explicit-other):count-ops,ttir@after(cse):count-ops"
    passes = assemble(target, parse_pipeline(user))
    (ttir, *_) = target.stages()
    check_places(passes, [ttir, StagedStage(None)])
    assert [str(placed) for placed in passes_at_end(passes, ttir)] == [
        "ttir@before(explicit-other):count-ops",
        "explicit-other",
    ]
    assert names_at_end(passes, ttir) == ["explicit-other"]


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ("staged@before(lower-c):count-ops", "stage staged has no pass 'lower-c'; did you mean"),
        ("staged@after(lower-a):explicit-other", "works on ttir, not on staged"),
        ("llvm@after(x):count-ops", "Python passes cannot run inside stage 'llvm'"),
        ("hivm:count-ops", "unknown stage 'hivm'"),
    ],
)
def test_places_that_do_not_exist(target, user: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        staged_order(target, user)


def test_check_each_finishes_the_lowering(target) -> None:
    def names(user: str) -> list[tuple[str, list[str]]]:
        placed = parse_pipeline(user)
        prefixes = _prefixes(target, placed, ())
        return [(name, [str(entry) for entry in passes]) for name, passes in prefixes]

    assert names("") == [
        ("(no pass)", ["lower-a", "lower-b"]),
        ("explicit-other", ["lower-a", "lower-b", "explicit-other"]),
        ("tunes-staged", ["lower-a", "tunes-staged", "lower-b", "explicit-other"]),
    ]
    assert names("tunes-staged{size=2}") == [
        ("(without your passes)", ["lower-a", "tunes-staged", "lower-b", "explicit-other"]),
        (
            "tunes-staged{size=2}",
            ["lower-a", "tunes-staged{size=2}", "lower-b", "explicit-other"],
        ),
    ]


KERNEL = """
"builtin.module"() ({
  "tt.func"() ({
    "tt.return"() : () -> () loc("k.py":4:5)
  }) {sym_name = "k", function_type = () -> ()} : () -> ()
}) : () -> ()
"""


def run(passes: list[PlacedPass], findings: Findings | None = None) -> Module:
    manager = PassManager(passes, None, {}, findings=findings or Findings())
    stage = StagedStage(None)
    at_end = [placed.instance for placed in passes_at_end(passes, stage)]
    module = manager.run_passes(at_end, stage, Module.parse(KERNEL, "staged"))
    assert isinstance(module, Module)
    return module


def test_they_run_in_that_order(target) -> None:
    ORDER.clear()
    run(assemble(target, parse_pipeline("tunes-staged{size=1},staged@before(lower-a):lower-b")))
    assert ORDER == ["lower-b", "lower-a", "tunes-staged{size=1}", "lower-b"]


def test_what_a_pass_breaks_is_said_with_op_rule_and_line() -> None:
    with pytest.raises(PassFailure) as failure:
        run(parse_pipeline("adds-wrongly"))
    assert str(failure.value).startswith(
        "k.py:4:5: error: 'staged.barrier': left IR that the verifier rejects: 'L1' is no pipe"
    )
    with pytest.raises(PassFailure, match=r"k\.py:4:5: error: .*'arith\.addi' op") as failure:
        run(parse_pipeline("adds-wrongly{upstream=true}"))
    assert failure.value.diagnostic.pass_name == "adds-wrongly"


def test_a_pass_that_declines() -> None:
    findings = Findings()
    with pytest.raises(Declined) as declined:
        run(parse_pipeline("count-ops,declines-returns"), findings)
    assert str(declined.value) == (
        "k.py:4:5: error: 'tt.return': a kernel that returns [declines-returns]"
    )
    assert isinstance(declined.value, PassFailure)
