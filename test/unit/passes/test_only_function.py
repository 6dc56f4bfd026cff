"""Passes that rewrite a whole kernel leave a module with a second function alone, and say so."""

from __future__ import annotations

import pytest

from flagc.pipeline.loading import load_installed_passes
from flagc.pipeline.passes import instantiate
from support.running import parsed, transformed

TWO = """
module {
  tt.func public @kernel(%p: !tt.ptr<f32>, %x: f32) {
    %0 = tt.call @twice(%x) : (f32) -> f32
    tt.store %p, %0 : !tt.ptr<f32>
    tt.return
  }
  tt.func private @twice(%x: f32) -> f32 {
    %0 = arith.addf %x, %x : f32
    tt.return %0 : f32
  }
}
"""


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("descriptors-by-launcher", {}),
        ("make-persistent", {"programs": "4"}),
        ("persistent-blocks", {"cores": "4"}),
        ("resize-tiles", {"x": "32"}),
        ("split-k", {"ways": "2"}),
        ("split-k-on-cores", {"ways": "2", "cores": "4"}),
        ("trim-grid", {}),
    ],
)
def test_a_second_function_is_left_alone(name: str, options: dict[str, str]) -> None:
    load_installed_passes()
    module, said = transformed(instantiate(name, options), TWO)
    assert said == ["not applied: the module has a second function"]
    assert module.text(debug=False) == parsed(TWO).text(debug=False)
