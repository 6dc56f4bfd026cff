"""Pipelines as text: what is accepted, what it means, and what is said about the rest."""

from dataclasses import dataclass
from typing import Literal

import pytest

from flagc.errors import UsageError
from flagc.pipeline.loading import load_installed_passes
from flagc.pipeline.passes import Pass, options_of, register
from flagc.pipeline.pipeline_text import Anchor, parse_anchor, parse_pipeline


@register
@dataclass(frozen=True)
class OptionKinds(Pass):
    """Has an option of every kind."""

    name = "option-kinds"
    needed_number: int
    ratio: float = 0.5
    flag: bool = False
    shape: tuple[int, ...] = (16, 8)
    mode: Literal["rows", "columns"] = "rows"
    title: str | None = None

    def run(self, module, context) -> None:
        raise AssertionError("never run")


@pytest.fixture(autouse=True)
def installed() -> None:
    load_installed_passes()


def test_options_become_typed_fields() -> None:
    text = "option-kinds{needed-number=3 ratio=2.5,flag=true shape=[32,16] mode=columns title=x}"
    (placed,) = parse_pipeline(text)
    assert placed.instance == OptionKinds(3, 2.5, True, (32, 16), "columns", "x")
    assert placed.stage is None
    assert placed.anchor is None


def test_snake_case_options_and_x_shapes_are_taken_too() -> None:
    (placed,) = parse_pipeline("option-kinds{needed_number=-3 shape=64x32}")
    assert placed.instance == OptionKinds(-3, shape=(64, 32))


def test_places() -> None:
    first, second, third = parse_pipeline(
        " count-ops , ttgir:count-ops,ttgir@after(canonicalizer#2):count-ops"
    )
    assert (first.stage, first.anchor) == (None, None)
    assert (second.stage, second.anchor) == ("ttgir", None)
    assert third.anchor == Anchor("ttgir", "after", "canonicalizer#2")
    assert parse_anchor("ttir@before(loop_unroll)") == Anchor("ttir", "before", "loop_unroll")


@pytest.mark.parametrize(
    "text",
    [
        "count-ops",
        "ttgir:count-ops",
        "ttir@before(loop_unroll):option-kinds{needed-number=1 shape=[4,2]}",
        "option-kinds{needed-number=0 ratio=0.25 flag=true mode=columns}",
    ],
)
def test_spelling_reads_back(text: str) -> None:
    (placed,) = parse_pipeline(text)
    assert str(placed) == text
    assert parse_pipeline(str(placed)) == [placed]


def test_empty_pipeline() -> None:
    assert parse_pipeline("") == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("count-ops,", "ends with a comma"),
        (",count-ops", "cannot read the pass pipeline"),
        ("count-ops count-ops", "cannot read the pass pipeline"),
        ("count-ops{", "cannot read the pass pipeline"),
        ("ttgir@around(pipeline):count-ops", "'before' or 'after'"),
        ("ttgir@after():count-ops", "cannot read the pass pipeline"),
        ("option-kinds", "needs option 'needed-number'"),
        ("option-kinds{needed-number=1 flag=perhaps}", "is no bool"),
        ("option-kinds{needed-number=1 mode=diagonal}", "rows, columns"),
        ("option-kinds{needed-number=1 shape=[a]}", "is no"),
        ("option-kinds{needed-number}", "cannot read the options"),
        ("option-kinds{neded-number=1}", "needed-number"),
        ("option-kind", "option-kinds"),
    ],
)
def test_what_is_wrong_is_said(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says.replace("(", r"\(")):
        parse_pipeline(text)


def test_options_are_listed_with_types_and_defaults() -> None:
    listed = [(o.name, o.default) for o in options_of(OptionKinds)]
    assert listed[:4] == [
        ("needed-number", ""),
        ("ratio", "0.5"),
        ("flag", "false"),
        ("shape", "[16,8]"),
    ]


def test_two_passes_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two passes are called 'count-ops'"):

        @register
        @dataclass(frozen=True)
        class Second(Pass):
            name = "count-ops"

            def run(self, module, context) -> None:
                raise AssertionError("never run")


def test_a_pass_must_be_a_dataclass_with_a_name() -> None:
    class NotADataclass(Pass):
        name = "not-a-dataclass"

        def run(self, module, context) -> None:
            raise AssertionError("never run")

    with pytest.raises(UsageError, match="must be a dataclass"):
        register(NotADataclass)
