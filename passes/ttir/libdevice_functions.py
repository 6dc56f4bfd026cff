"""What NVIDIA's libdevice functions are in the arith and math dialects.

`FUNCTIONS` maps a symbol, `__nv_tanhf`, to a function that builds the equivalent. Where the
vendor's Ascend compiler (1.2.0) takes the math op, that is the op alone; cbrt, sinh, cosh, asinh,
trunc, round, roundeven, copysign, fpowi and the isnan family it does not take, and they are
composed here. So is atan2, of which the vendor's polynomial is off by up to 0.004.

Functions with another rounding than to nearest, and those for which a short formula would lose
precision (erfc, lgamma, j0, ldexp, ...), are not in the table, with one exception: division rounded
towards zero, which integer division by way of floats needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from flagc.ir.builder import Builder
from flagc.ir.expressions import Expression
from flagc.ir.module import Value, defining_op
from flagc.ir.types import element_of

# Takes the builder, the operands and the result's type, and returns the result.
Function = Callable[[Builder, list[Value], str], Value]
FloatFormula = Callable[..., Expression]


def _op(name: str) -> Function:
    """One op with the call's own operands and result type."""
    return lambda build, operands, result: build.op(name, operands, result)


def _formula(formula: FloatFormula) -> Function:
    """A formula over float operands; its result has their type."""

    def build_formula(build: Builder, operands: list[Value], result: str) -> Value:
        del result
        return formula(*(Expression(build, operand) for operand in operands)).value

    return build_formula


def _test(formula: Callable[[Expression], Value]) -> Function:
    """A condition; libdevice's result is an integer, 0 or 1."""

    def build_test(build: Builder, operands: list[Value], result: str) -> Value:
        condition = formula(Expression(build, operands[0]))
        if element_of(result) == "i1":
            return condition
        return build.op("arith.extui", [condition], result)

    return build_test


def _trunc(x: Expression) -> Expression:
    return abs(x).apply("math.floor").with_sign_of(x)


def _round_away(x: Expression) -> Expression:
    """Halves away from zero."""
    whole = abs(x).apply("math.floor")
    up = (abs(x) - whole).compare("oge", 0.5)
    return up.choose(whole + 1.0, whole).with_sign_of(x)


def _round_even(x: Expression) -> Expression:
    """Halves to the even neighbour."""
    size = abs(x)
    whole = size.apply("math.floor")
    rest = size - whole
    half = whole * 0.5
    is_odd = half.compare("one", half.apply("math.floor"))
    up = rest.compare("ogt", 0.5) | (rest.compare("oeq", 0.5) & is_odd)
    return up.choose(whole + 1.0, whole).with_sign_of(x)


def _sinh(x: Expression) -> Expression:
    """The definition cancels near zero, where the series is exact to the last bit or two."""
    square = x * x
    series = x * (((square / 5040.0 + 1 / 120.0) * square + 1 / 6.0) * square + 1.0)
    exact = (x.apply("math.exp") - (-x).apply("math.exp")) * 0.5
    return abs(x).compare("olt", 0.3).choose(series, exact)


def _cosh(x: Expression) -> Expression:
    return (x.apply("math.exp") + (-x).apply("math.exp")) * 0.5


def _asinh(x: Expression) -> Expression:
    """log(a + sqrt(a^2 + 1)), with the series near zero, and log(2 a) where a^2 overflows."""
    size = abs(x)
    square = size * size
    series = size * (((square * (-15 / 336) + 3 / 40) * square - 1 / 6) * square + 1.0)
    middle = (size + (square + 1.0).apply("math.sqrt")).apply("math.log")
    large = size.apply("math.log") + math.log(2)
    result = size.compare("ogt", 1e8).choose(large, middle)
    return size.compare("olt", 0.2).choose(series, result).with_sign_of(x)


def _atan2(y: Expression, x: Expression) -> Expression:
    """The arctangent of a ratio of at most one, turned into the octant of (x, y)."""
    width, height = abs(x), abs(y)
    large, small = width.apply("arith.maximumf", height), width.apply("arith.minimumf", height)
    # Also for two zeros and two infinities, which have no quotient.
    same = small.compare("oeq", large)
    whole = large.compare("ogt", 0.0).choose(x.constant(1.0), large)
    ratio = same.choose(whole, small / large)
    angle = ratio.apply("math.atan")
    steep = height.compare("ogt", width)
    angle = steep.choose(x.constant(math.pi / 2) - angle, angle)
    one = x.constant(1.0).with_sign_of(x)  # tells -0 from 0
    angle = one.compare("olt", 0.0).choose(x.constant(math.pi) - angle, angle)
    invalid = x.compare("une", x) | y.compare("une", y)
    return invalid.choose(x + y, angle.with_sign_of(y))


def _cbrt(x: Expression) -> Expression:
    """exp(log(a) / 3) and one step of Newton's method; 0, infinities and NaN are their own root."""
    size = abs(x)
    guess = (size.apply("math.log") * (1 / 3)).apply("math.exp")
    better = guess - (guess - size / (guess * guess)) * (1 / 3)
    ordinary = size.compare("ogt", 0.0) & size.compare("olt", math.inf)
    return ordinary.choose(better.with_sign_of(x), x)


def _hypot(x: Expression, y: Expression) -> Expression:
    """Scaled by the larger operand, so that the squares cannot overflow."""
    large = abs(x).apply("arith.maximumf", abs(y))
    small = abs(x).apply("arith.minimumf", abs(y))
    ratio = small / large
    scaled = large * (ratio * ratio + 1.0).apply("math.sqrt")
    ordinary = large.compare("ogt", 0.0) & large.compare("olt", math.inf)
    return ordinary.choose(scaled, large)


def _divide_towards_zero(x: Expression, y: Expression) -> Expression:
    """The nearest quotient, one step smaller where it is larger than the exact one.

    Whether quotient * divisor exceeds the dividend is decided by the product's exact value, the
    rounded product plus its rounding error (Dekker's). Magnitudes beyond 2**100 in either direction
    get the nearest quotient.
    """
    dividend, divisor = abs(x), abs(y)
    quotient = dividend / divisor
    product = quotient * divisor
    error = _product_error(quotient, divisor, product)
    above = product.compare("ogt", dividend)
    too_large = above | (product.compare("oeq", dividend) & error.compare("ogt", 0.0))
    exact_enough = dividend.compare("olt", math.inf) & quotient.compare("olt", math.inf)
    one = quotient.build.constant(1, quotient.integer_type)
    smaller = quotient.from_bits(quotient.build.subi(quotient.bits, one))
    result = (too_large & exact_enough & quotient.compare("ogt", 0.0)).choose(smaller, quotient)
    return result.with_sign_of(x / y)


def _product_error(a: Expression, b: Expression, product: Expression) -> Expression:
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return (a_high * b_high - product + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(x: Expression) -> tuple[Expression, Expression]:
    """Split a number into two of half the precision, whose products are exact."""
    scaled = x * (4097.0 if x.width == 32 else 134217729.0)
    high = scaled - (scaled - x)
    return high, x - high


def _power_of_integer(build: Builder, operands: list[Value], result: str) -> Value:
    """pow with a converted exponent, which is converted before it is spread over a tensor.

    The vendor's compiler 1.2.0 crashes on a power whose exponent is a converted splat.
    """
    exponent = operands[1]
    source = defining_op(exponent)
    if source is not None and source.name == "tt.splat":
        number = build.op("arith.sitofp", [source.operands[0]], element_of(result))
        exponent = build.op("tt.splat", [number], result)
    else:
        exponent = build.op("arith.sitofp", [exponent], result)
    return build.op("math.powf", [operands[0], exponent], result)


def _sin_of_pi(function: str, x: Expression) -> Expression:
    turn = x - _round_even(x * 0.5) * 2.0
    return (turn * math.pi).apply(function)


def _round_to_integer(build: Builder, operands: list[Value], result: str) -> Value:
    rounded = _round_even(Expression(build, operands[0])).value
    return build.op("arith.fptosi", [rounded], result)


def _sign_bit(x: Expression) -> Value:
    return x.build.cmpi("slt", x.bits, x.build.constant(0, x.integer_type))


def _saturate(x: Expression) -> Expression:
    return x.apply("arith.maxnumf", 0.0).apply("arith.minnumf", 1.0)


# Functions of floats by libdevice's base name: `__nv_<name>f` takes f32, `__nv_<name>` f64.
_FLOAT_FUNCTIONS: dict[str, Function] = {
    **{name: _op(f"math.{name}") for name in (
        "acos", "acosh", "asin", "atan", "atanh", "ceil", "cos", "erf", "exp", "exp2",
        "expm1", "floor", "fma", "log", "log10", "log1p", "log2", "rsqrt", "sin", "sqrt", "tan",
        "tanh",
    )},
    "asinh": _formula(_asinh),
    "atan2": _formula(_atan2),
    "cbrt": _formula(_cbrt),
    "copysign": _formula(lambda x, y: abs(x).with_sign_of(y)),
    "cosh": _formula(_cosh),
    "cospi": _formula(partial(_sin_of_pi, "math.cos")),
    "exp10": _formula(lambda x: (x * math.log2(10)).apply("math.exp2")),
    "fabs": _op("math.absf"),
    "fdim": _formula(lambda x, y: x.compare("ole", y).choose(x.constant(0.0), x - y)),
    "fmax": _op("arith.maxnumf"),
    "fmin": _op("arith.minnumf"),
    "fmod": _op("arith.remf"),
    "hypot": _formula(_hypot),
    "nearbyint": _formula(_round_even),
    "pow": _op("math.powf"),
    "powi": _power_of_integer,
    "rcbrt": _formula(lambda x: x.constant(1.0) / _cbrt(x)),
    "rint": _formula(_round_even),
    "round": _formula(_round_away),
    "saturate": _formula(_saturate),
    "sinh": _formula(_sinh),
    "sinpi": _formula(partial(_sin_of_pi, "math.sin")),
    "trunc": _formula(_trunc),
}  # fmt: skip

_IS_NAN = _test(lambda x: x.compare("une", x).value)
_IS_INFINITE = _test(lambda x: abs(x).compare("oeq", math.inf).value)
_IS_FINITE = _test(lambda x: abs(x).compare("olt", math.inf).value)
_RECIPROCAL = _formula(lambda x: x.constant(1.0) / x)

FUNCTIONS: dict[str, Function] = {
    **{f"__nv_{name}f": function for name, function in _FLOAT_FUNCTIONS.items()},
    **{f"__nv_{name}": function for name, function in _FLOAT_FUNCTIONS.items()},
    "__nv_isnanf": _IS_NAN,
    "__nv_isnand": _IS_NAN,
    "__nv_isinff": _IS_INFINITE,
    "__nv_isinfd": _IS_INFINITE,
    "__nv_finitef": _IS_FINITE,
    "__nv_isfinited": _IS_FINITE,
    "__nv_signbitf": _test(_sign_bit),
    "__nv_signbitd": _test(_sign_bit),
    # Rounded to nearest, as arith's ops are.
    **{f"__nv_{kind}{name}_rn": _op(f"arith.{op}") for kind in "fd" for name, op in (
        ("add", "addf"), ("sub", "subf"), ("mul", "mulf"), ("div", "divf"),
    )},
    **{f"__nv_{kind}sqrt_rn": _op("math.sqrt") for kind in "fd"},
    **{f"__nv_{kind}rcp_rn": _RECIPROCAL for kind in "fd"},
    "__nv_frsqrt_rn": _op("math.rsqrt"),
    "__nv_fmaf_rn": _op("math.fma"),
    "__nv_fma_rn": _op("math.fma"),
    "__nv_fdiv_rz": _formula(_divide_towards_zero),
    "__nv_ddiv_rz": _formula(_divide_towards_zero),
    # Faster and less precise on NVIDIA; here the same as the others.
    **{f"__nv_fast_{name}f": _FLOAT_FUNCTIONS[name] for name in (
        "cos", "exp", "exp10", "log", "log10", "log2", "pow", "sin", "tan", "tanh",
    )},
    "__nv_fast_fdividef": _op("arith.divf"),
    # Integers.
    "__nv_abs": _op("math.absi"),
    "__nv_llabs": _op("math.absi"),
    **{f"__nv_{kind}{name}": _op(f"arith.{name}{op}") for name in ("min", "max") for kind, op in (
        ("", "si"), ("ll", "si"), ("u", "ui"), ("ull", "ui"),
    )},
    "__nv_umulhi": _op("tt.mulhiui"),
    "__nv_umul64hi": _op("tt.mulhiui"),
    # Conversions.
    "__nv_float_as_int": _op("tt.bitcast"),
    "__nv_float_as_uint": _op("tt.bitcast"),
    "__nv_int_as_float": _op("tt.bitcast"),
    "__nv_uint_as_float": _op("tt.bitcast"),
    "__nv_double_as_longlong": _op("tt.bitcast"),
    "__nv_longlong_as_double": _op("tt.bitcast"),
    "__nv_int2float_rn": _op("arith.sitofp"),
    "__nv_float2int_rz": _op("arith.fptosi"),
    "__nv_float2int_rn": _round_to_integer,
}  # fmt: skip
