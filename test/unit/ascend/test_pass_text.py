"""Pass pipelines as data."""

from __future__ import annotations

import pytest

from flagc.targets.ascend.pass_text import (
    PipelineSyntaxError,
    parse_pipeline,
    render_pipeline,
)

TEXT = "builtin.module(a{x=1 y={2}},func.func(b,cse),func.func(b),cse)"


def test_round_trip() -> None:
    assert render_pipeline(parse_pipeline(TEXT)) == TEXT


def test_repeats_are_numbered_from_one() -> None:
    anchors = [entry.anchor for entry in parse_pipeline(TEXT)]
    assert anchors == ["a", "b", "cse", "b#2", "cse#2"]


def test_segment_inside_a_nested_pipeline_keeps_its_nesting() -> None:
    passes = parse_pipeline(TEXT)
    assert render_pipeline(passes[2:4]) == "builtin.module(func.func(cse),func.func(b))"
    assert render_pipeline(passes[1:2]) == "builtin.module(func.func(b))"


def test_split_groups_finishes_each_pass_on_all_functions() -> None:
    passes = parse_pipeline("builtin.module(func.func(a,b))")
    assert render_pipeline(passes, split_groups=True) == "builtin.module(func.func(a),func.func(b))"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("builtin.module(a", r"column 17: expected '\)'"),
        ("builtin.module(a{b=1)", "expected '}'"),
        ("builtin.module(,)", "a pass name"),
        ("builtin.module(a) b", "end of the pipeline"),
        ("func.func(a)", "builtin.module"),
    ],
)
def test_syntax_errors_name_the_place(text: str, said: str) -> None:
    with pytest.raises(PipelineSyntaxError, match=said):
        parse_pipeline(text)
