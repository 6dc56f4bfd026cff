"""Each entry of the libdevice table computes its function, seen with numpy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy_interpreter import TYPES, returned

from flagc.ir.module import Module
from flagc.passes.ttir.libdevice_functions import FUNCTIONS
from flagc.passes.ttir.libdevice_to_math import LibdeviceToMath
from flagc.pipeline.context import PassContext
from flagc.pipeline.diagnostics import Findings

SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan]


def call(symbol, *arguments, result):
    """Lower one libdevice call with the pass and evaluate it."""
    names = {np.dtype(numpy): name for name, numpy in TYPES.items()}
    count = len(arguments[0])
    types = [f"tensor<{count}x{names[argument.dtype]}>" for argument in arguments]
    inputs = ", ".join(f"%a{i}" for i in range(len(types)))
    parameters = ", ".join(f"%a{i}: {text}" for i, text in enumerate(types))
    module = Module.parse(
        f""""builtin.module"() ({{ "tt.func"() ({{ ^bb0({parameters}):
        %r = "tt.extern_elementwise"({inputs}) {{symbol = "{symbol}"}} :
            ({", ".join(types)}) -> tensor<{count}x{result}>
        "tt.return"(%r) : (tensor<{count}x{result}>) -> ()
        }}) {{sym_name = "f"}} : () -> () }}) : () -> ()""",
        "ttir",
    )
    findings = Findings()
    with module.context:
        LibdeviceToMath().run(module, PassContext(module, "", "ttir", None, {}, findings))
    assert not list(module.walk("tt.extern_elementwise"))
    return returned(module, arguments)


def samples(low, high, count=4000):
    return np.random.default_rng(0).uniform(low, high, count).astype(np.float32)


def wide(name):
    return lambda x: getattr(np, name)(x.astype(np.float64))


@pytest.mark.parametrize(
    ("name", "low", "high", "reference", "ulps"),
    [
        ("sinh", -80, 80, wide("sinh"), 4),
        ("sinh", -0.5, 0.5, wide("sinh"), 8),
        ("sinh", -1e-6, 1e-6, wide("sinh"), 2),
        ("cosh", -80, 80, wide("cosh"), 4),
        ("asinh", -0.4, 0.4, wide("arcsinh"), 8),
        ("asinh", -1e6, 1e6, wide("arcsinh"), 4),
        ("asinh", -1e30, 1e30, wide("arcsinh"), 4),
        ("cbrt", -1e30, 1e30, wide("cbrt"), 4),
        ("cbrt", -1e-3, 1e-3, wide("cbrt"), 4),
        ("rcbrt", 1e-3, 1e3, lambda x: 1 / np.cbrt(x.astype(np.float64)), 6),
        ("exp10", -30, 30, lambda x: 10 ** x.astype(np.float64), 100),
        ("sinpi", -0.5, 0.5, lambda x: np.sin(np.pi * x.astype(np.float64)), 4),
        ("tanh", -5, 5, wide("tanh"), 2),
        ("erf", -4, 4, lambda x: np.vectorize(math.erf)(x.astype(np.float64)), 2),
        ("rsqrt", 1e-3, 1e3, lambda x: 1 / np.sqrt(x.astype(np.float64)), 2),
    ],
)
def test_functions_of_one_float(name, low, high, reference, ulps):
    x = samples(low, high)
    result = call(f"__nv_{name}f", x, result="f32")
    expected = reference(x)
    error = np.abs(result.astype(np.float64) - expected) / np.spacing(
        np.abs(expected).astype(np.float32)
    )
    assert error.max() <= ulps


ROUNDINGS = {
    "trunc": np.trunc,
    "rint": np.rint,
    "nearbyint": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x.astype(np.float64)) + 0.5), x),
}


@pytest.mark.parametrize("name", ROUNDINGS)
def test_rounding_is_exact(name):
    halves = np.arange(-9, 9, 0.5, dtype=np.float32)
    beside = np.concatenate([np.nextafter(halves, np.float32(s * 100)) for s in (-1, 1)])
    large = np.array([2**23 - 0.5, 2**23 + 1, 2**30, -(2**24) - 2.0], np.float32)
    x = np.concatenate([halves, beside, large, samples(-1e4, 1e4), np.float32(SPECIAL)])
    result = call(f"__nv_{name}f", x, result="f32")
    expected = ROUNDINGS[name](x).astype(np.float32)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result[:-1]), np.signbit(expected[:-1]))


@pytest.mark.parametrize("name", ["sinh", "asinh", "cbrt", "trunc", "round"])
def test_odd_functions_keep_zeros_and_infinities(name):
    x = np.float32(SPECIAL)
    result = call(f"__nv_{name}f", x, result="f32")
    np.testing.assert_array_equal(result, x)


def test_division_towards_zero():
    """As exact fractions: the largest float that is not above the quotient."""
    rng = np.random.default_rng(1)
    y = rng.integers(1, 2000, 3000).astype(np.float32) * rng.choice([-1, 1], 3000).astype("f4")
    multiples = (y * rng.integers(-500, 500, 3000)).astype(np.float32)
    x = np.concatenate([multiples, samples(-1e6, 1e6, 3000)])
    y = np.concatenate([y, y])
    result = call("__nv_fdiv_rz", x, y, result="f32")
    for dividend, divisor, quotient in zip(x, y, result, strict=True):
        exact = abs(Fraction(float(dividend)) / Fraction(float(divisor)))
        size = abs(quotient)
        next_size = np.nextafter(size, np.float32(math.inf))
        assert Fraction(float(size)) <= exact < Fraction(float(next_size))
    with np.errstate(all="ignore"):
        ends = np.float32(SPECIAL)
        one = np.float32([2, 2, 2, 2, 2])
        np.testing.assert_array_equal(call("__nv_fdiv_rz", ends, one, result="f32"), ends / one)
        np.testing.assert_array_equal(call("__nv_fdiv_rz", one, ends, result="f32"), one / ends)


def test_classification():
    x = np.float32([*SPECIAL, 1.5, -3e38])
    for name, expected in (
        ("isnanf", np.isnan(x)),
        ("isinff", np.isinf(x)),
        ("finitef", np.isfinite(x)),
        ("signbitf", np.signbit(x)),
    ):
        np.testing.assert_array_equal(call(f"__nv_{name}", x, result="i32"), expected)


def test_functions_of_two_floats():
    x, y = samples(-50, 50), samples(-50, 50)[::-1].copy()
    for name, expected in (
        ("copysignf", np.copysign(x, y)),
        ("fdimf", np.where(x > y, x - y, np.float32(0))),
        ("fmodf", np.fmod(x, y)),
        ("fmaxf", np.fmax(x, y)),
        ("fdiv_rn", x / y),
    ):
        np.testing.assert_array_equal(call(f"__nv_{name}", x, y, result="f32"), expected)
    angles = np.arctan2(x.astype(np.float64), y)
    np.testing.assert_allclose(call("__nv_atan2f", x, y, result="f32"), angles, 4e-7)
    huge = np.float32(1e30)
    close = np.testing.assert_allclose
    close(call("__nv_hypotf", x * huge, y * huge, result="f32"), np.hypot(x * huge, y * huge), 4e-7)
    zeros = np.float32([0, 0, math.inf])
    close(call("__nv_hypotf", zeros, np.float32([0, -3, 1]), result="f32"), [0, 3, math.inf])


def test_angles_of_special_values():
    ends = np.float32([*SPECIAL, 1.0, -2.0])
    y, x = (part.ravel() for part in np.meshgrid(ends, ends))
    result = call("__nv_atan2f", y, x, result="f32")
    expected = np.arctan2(y.astype(np.float64), x)
    np.testing.assert_allclose(result, expected, 4e-7)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result[numbers]), np.signbit(expected[numbers]))


def test_powers():
    x = samples(-4, 4)
    n = np.random.default_rng(2).integers(-6, 7, len(x)).astype(np.int32)
    np.testing.assert_allclose(
        call("__nv_powif", x, n, result="f32"), x.astype(np.float64) ** n, rtol=1e-6
    )


def test_conversions():
    x = samples(-1e4, 1e4)
    np.testing.assert_array_equal(call("__nv_float2int_rn", x, result="i32"), np.rint(x))
    np.testing.assert_array_equal(call("__nv_float2int_rz", x, result="i32"), np.trunc(x))
    np.testing.assert_array_equal(call("__nv_float_as_int", x, result="i32"), x.view(np.int32))


def test_doubles():
    x = np.random.default_rng(3).uniform(-30, 30, 1000)
    np.testing.assert_allclose(call("__nv_cosh", x, result="f64"), np.cosh(x), rtol=1e-14)
    np.testing.assert_array_equal(call("__nv_rint", x, result="f64"), np.rint(x))
    np.testing.assert_array_equal(call("__nv_isnand", x, result="i32"), 0)


def test_no_symbol_twice_with_another_meaning():
    assert len(FUNCTIONS) > 120
    assert all(symbol.startswith("__nv_") for symbol in FUNCTIONS)
