"""`polynomial-erf`: within its stated errors of erf, on all f32 that matter."""

import math

import numpy as np

from flagc.passes.ttir.polynomial_erf import COEFFICIENTS, END, PolynomialErf
from support.running import assert_same, parsed, transformed
from support.ttir_interpreter import run

TEXT = """
module {{ tt.func public @k(%p: !tt.ptr<f32>, %q: !tt.ptr<{kind}>) {{
  %lane = tt.make_range {{start = 0 : i32, end = 4096 : i32}} : tensor<4096xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<4096x!tt.ptr<f32>>
  %pl = tt.addptr %ps, %lane : tensor<4096x!tt.ptr<f32>>, tensor<4096xi32>
  %x = tt.load %pl : tensor<4096x!tt.ptr<f32>>
  {cast}
  %e = math.erf %y : tensor<4096x{kind}>
  %qs = tt.splat %q : !tt.ptr<{kind}> -> tensor<4096x!tt.ptr<{kind}>>
  %ql = tt.addptr %qs, %lane : tensor<4096x!tt.ptr<{kind}>>, tensor<4096xi32>
  tt.store %ql, %e : tensor<4096x!tt.ptr<{kind}>>
  tt.return
}} }}"""
SINGLE = TEXT.format(kind="f32", cast="%y = arith.addf %x, %x : tensor<4096xf32>")
DOUBLE = TEXT.format(kind="f64", cast="%y = arith.extf %x : tensor<4096xf32> to tensor<4096xf64>")
erf = np.vectorize(math.erf, otypes=[np.float64])


def polynomial(numbers: np.ndarray) -> np.ndarray:
    """Run the rewritten kernel, which doubles its input."""
    module, said = transformed(PolynomialErf(), SINGLE)
    assert said == []
    arrays = [(numbers / 2).astype(np.float32), np.zeros(4096, np.float32)]
    run(parsed(module.text()), arrays)
    return arrays[1].astype(np.float64)


def test_errors():
    """Absolute and relative ones are as documented, whatever the sign."""
    random = np.random.default_rng()
    near = random.uniform(-END - 1, END + 1, 3072)
    tiny = 10.0 ** random.uniform(-37, 0, 1024) * random.choice((-1, 1), 1024)
    numbers = np.concatenate([near, tiny]).astype(np.float32)
    error = np.abs(polynomial(numbers) - erf(numbers.astype(np.float64)))
    assert error.max() <= 2.5e-7
    assert (error / np.abs(erf(numbers.astype(np.float64)))).max() <= 7.5e-7


def test_beyond_the_end_it_is_exactly_one():
    numbers = np.resize([END, 4, 10, 3e38, math.inf, -END, -4, -3e38, -math.inf, math.nan], 4096)
    found = polynomial(numbers.astype(np.float32))
    assert found[:9].tolist() == [1] * 5 + [-1] * 4
    assert math.isnan(found[9])


def test_other_types_are_left_alone():
    _, said = transformed(PolynomialErf(), DOUBLE)
    assert said == ["left as it is: f64 is not f32"]


def test_the_coefficients_are_singles():
    assert all(float(np.float32(number)) == number for number in COEFFICIENTS)
    numbers = np.linspace(-5, 5, 4096).astype(np.float32)
    assert_same(PolynomialErf(), SINGLE, [numbers, np.zeros(4096, np.float32)], tolerance=1e-6)
