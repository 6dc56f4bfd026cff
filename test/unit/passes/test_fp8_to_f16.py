"""`fp8-to-f16` decodes every one of the 256 codes as PyTorch does."""

import numpy as np
import pytest
import torch

from flagc.passes.ttir.fp8_to_f16 import Fp8ToF16
from support import ttir_interpreter
from support.running import transformed

KERNEL = """
tt.func public @extend(%in: !tt.ptr<KIND>, %out: !tt.ptr<f32>, %n: i32) {
  %none = arith.constant dense<OTHER> : tensor<256xKIND>
  %r = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
  %ns = tt.splat %n : i32 -> tensor<256xi32>
  %mask = arith.cmpi slt, %r, %ns : tensor<256xi32>
  %ins = tt.splat %in : !tt.ptr<KIND> -> tensor<256x!tt.ptr<KIND>>
  %from = tt.addptr %ins, %r : tensor<256x!tt.ptr<KIND>>, tensor<256xi32>
  %v = tt.load %from, %mask, %none : tensor<256x!tt.ptr<KIND>>
  %wide = tt.fp_to_fp %v : tensor<256xKIND> -> tensor<256xf32>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %to = tt.addptr %outs, %r : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  tt.store %to, %wide : tensor<256x!tt.ptr<f32>>
  tt.return
}
"""
KINDS = {"f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2}


@pytest.mark.parametrize("other", ["0.0", "1.5"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_codes(kind, other):
    text = KERNEL.replace("KIND", kind).replace("OTHER", other)
    module, remarks = transformed(Fp8ToF16(), text)
    assert remarks == []
    codes = np.arange(256, dtype=np.uint8).view(np.int8)
    for count in (256, 200):
        out = np.zeros(256, np.float32)
        ttir_interpreter.run(module, [codes, out, count])
        expected = torch.arange(256, dtype=torch.uint8).view(KINDS[kind]).float().numpy()
        expected[count:] = float(other)
        np.testing.assert_array_equal(out, expected)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(out)[numbers], np.signbit(expected)[numbers])
