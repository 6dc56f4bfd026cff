"""`unsigned-to-signed` gives the same numbers for all signs, sizes and widths."""

import itertools

import numpy as np
import pytest

from flagc.passes.ttir.unsigned_to_signed import UnsignedToSigned
from support.running import assert_same
from support.ttir_arithmetic import DTYPES

COMPARISONS = ("cmpi ult,", "cmpi ule,", "cmpi ugt,", "cmpi uge,")


def edge_numbers(element):
    """Numbers around the ends of the type's range, some random ones, and one around zero."""
    if element == "i1":
        return np.array([0, 1], np.bool_)
    bits = int(element[1:])
    high = 2 ** (bits - 1)
    near = [0, 1, 2, 3, 7, high - 2, high - 1, high, high + 1, 2 * high - 2, 2 * high - 1]
    noise = np.random.default_rng(0).integers(0, 2 * high - 1, 12, dtype=np.uint64)
    return np.array([*near, *noise], np.uint64).astype(f"u{bits // 8}").view(DTYPES[element])


def kernel(op, element, count, result, scalar=False):
    lanes = "" if scalar else f"{count}x"

    def of(kind):
        return kind if scalar else f"tensor<{lanes}{kind}>"

    def at(name, kind):
        if scalar:
            return f"%{name}s = tt.addptr %{name}, %pid : !tt.ptr<{kind}>, i32\n"
        return (
            f"%{name}p = tt.splat %{name} : !tt.ptr<{kind}> -> tensor<{lanes}x!tt.ptr<{kind}>>\n"
            f"%{name}s = tt.addptr %{name}p, %r : tensor<{lanes}!tt.ptr<{kind}>>, "
            f"tensor<{lanes}xi32>\n"
        ).replace("xx", "x")

    head = (
        "%pid = tt.get_program_id x : i32\n"
        if scalar
        else f"%r = tt.make_range {{end = {count} : i32, start = 0 : i32}} : tensor<{count}xi32>\n"
    )
    is_cast = op in ("uitofp", "fptoui")
    suffix = f"{of(element)} to {of(result)}" if is_cast else of(element)
    operands = "%x" if is_cast else "%x, %y"
    pointers = {kind: of(f"!tt.ptr<{kind}>") for kind in (element, result)}
    parameters = f"%a: !tt.ptr<{element}>, %b: !tt.ptr<{element}>, %o: !tt.ptr<{result}>"
    return f"""tt.func public @k({parameters}) {{
      {head}{at("a", element)}{at("b", element)}{at("o", result)}
      %x = tt.load %as : {pointers[element]}
      %y = tt.load %bs : {pointers[element]}
      %v = arith.{op} {operands} : {suffix}
      tt.store %os, %v : {pointers[result]}
      tt.return
    }}"""


def pairs(element, divisors=False):
    numbers = edge_numbers(element)
    both = [(a, b) for a, b in itertools.product(numbers, numbers) if b != 0 or not divisors]
    both += both[: (1 << len(both).bit_length()) - len(both)]  # sizes are powers of two
    left, right = (np.array(side, numbers.dtype) for side in zip(*both, strict=True))
    return left, right


@pytest.mark.parametrize("element", ["i1", "i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons(op, element):
    left, right = pairs(element)
    out = np.zeros(len(left), np.bool_)
    assert_same(UnsignedToSigned(), kernel(op, element, len(left), "i1"), [left, right, out])


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("op", ["divui", "remui", "maxui", "minui"])
def test_arithmetic(op, element):
    left, right = pairs(element, divisors=True)
    text = kernel(op, element, len(left), element)
    assert_same(UnsignedToSigned(), text, [left, right, np.zeros_like(left)])


@pytest.mark.parametrize("op", ["divui", "remui"])
def test_scalars(op):
    left, right = pairs("i64", divisors=True)
    text = kernel(op, "i64", 1, "i64", scalar=True)
    assert_same(UnsignedToSigned(), text, [left, right, np.zeros_like(left)], grid=(len(left),))


@pytest.mark.parametrize("element", ["i16", "i32"])
def test_casts(element):
    left, _ = pairs(element)
    out = np.zeros(len(left), np.float32)
    text = kernel("uitofp", element, len(left), "f32")
    assert_same(UnsignedToSigned(), text, [left, left, out])

    numbers = np.abs(out)  # in range: others are undefined
    numbers[:4] = 0.0, 0.9, 1.0, 2.0 ** (8 * left.itemsize - 1)
    text = kernel("fptoui", "f32", len(numbers), element)
    assert_same(UnsignedToSigned(), text, [numbers, numbers, np.zeros_like(left)])
