"""`fp8-stores-as-bits` rounds as PyTorch does, but for what is too large: that saturates."""

import numpy as np
import pytest
import torch

from flagc.passes.ttir.fp8_stores_as_bits import Fp8StoresAsBits
from support import ttir_interpreter
from support.running import transformed

COUNT = 2048
KERNEL = f"""
tt.func public @round(%in: !tt.ptr<f32>, %out: !tt.ptr<KIND>) {{
  %r = tt.make_range {{end = {COUNT} : i32, start = 0 : i32}} : tensor<{COUNT}xi32>
  %ins = tt.splat %in : !tt.ptr<f32> -> tensor<{COUNT}x!tt.ptr<f32>>
  %from = tt.addptr %ins, %r : tensor<{COUNT}x!tt.ptr<f32>>, tensor<{COUNT}xi32>
  %v = tt.load %from : tensor<{COUNT}x!tt.ptr<f32>>
  %small = tt.fp_to_fp %v, rounding = rtne : tensor<{COUNT}xf32> -> tensor<{COUNT}xKIND>
  %outs = tt.splat %out : !tt.ptr<KIND> -> tensor<{COUNT}x!tt.ptr<KIND>>
  %to = tt.addptr %outs, %r : tensor<{COUNT}x!tt.ptr<KIND>>, tensor<{COUNT}xi32>
  tt.store %to, %small : tensor<{COUNT}x!tt.ptr<KIND>>
  tt.return
}}
"""
KINDS = {"f8E4M3FN": (torch.float8_e4m3fn, 448.0), "f8E5M2": (torch.float8_e5m2, 57344.0)}


def numbers(kind):
    """Every number of the format, all midpoints, their neighbours, and what is out of range."""
    exact = torch.arange(256, dtype=torch.uint8).view(kind).float().numpy()
    finite = np.unique(exact[np.isfinite(exact)])
    middle = (finite[1:] + finite[:-1]) / 2
    near = [np.nextafter(middle, np.float32(side)) for side in (-np.inf, np.inf)]
    large = np.array([1e6, -1e6, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 0.0], np.float32)
    listed = np.concatenate([exact, middle, *near, large, -exact]).astype(np.float32)
    noise = np.random.default_rng(0).standard_normal(COUNT - len(listed)).astype(np.float32)
    return np.concatenate([listed, noise])


@pytest.mark.parametrize("kind", KINDS)
def test_rounding(kind):
    dtype, largest = KINDS[kind]
    module, remarks = transformed(Fp8StoresAsBits(), KERNEL.replace("KIND", kind))
    assert remarks == []
    # The interpreter knows no 8-bit numbers; their addresses count bytes, as those of i8 do.
    module.replace_in_types_and_attributes(f"!tt.ptr<{kind}>", "!tt.ptr<i8>")
    given, out = numbers(dtype), np.zeros(COUNT, np.int8)
    ttir_interpreter.run(module, [given, out])
    got = torch.from_numpy(out).view(torch.uint8).view(dtype).float().numpy()
    clipped = torch.from_numpy(np.clip(given, -largest, largest))
    expected = clipped.to(dtype).float().numpy()
    np.testing.assert_array_equal(got, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got)[known], np.signbit(expected)[known])
