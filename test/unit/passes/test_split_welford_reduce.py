"""`split-welford-reduce` gives the numbers that combining pairs gives, within rounding."""

import itertools

import numpy as np
import pytest

from flagc.passes.ttir.split_welford_reduce import SplitWelfordReduce
from support.running import assert_same

FLAGGEMS = """
    %count = arith.addf %c1, %c2 : f32
    %divisor = arith.maxnumf %count, %one : f32
    %a = arith.mulf %m1, %c1 : f32
    %b = arith.mulf %m2, %c2 : f32
    %ab = arith.addf %a, %b : f32
    %mean = arith.divf %ab, %divisor : f32
    %aa = arith.mulf %a, %m1 : f32
    %bb = arith.mulf %b, %m2 : f32
    %s3 = arith.addf %s1, %aa : f32
    %s4 = arith.addf %s3, %s2 : f32
    %s5 = arith.addf %s4, %bb : f32
    %cm = arith.mulf %count, %mean : f32
    %cmm = arith.mulf %cm, %mean : f32
    %square = arith.subf %s5, %cmm : f32
"""
INDUCTOR = """
    %delta = arith.subf %m2, %m1 : f32
    %count = arith.addf %c1, %c2 : f32
    %empty = arith.cmpf oeq, %count, %zero : f32
    %part = arith.divf %c2, %count : f32
    %share = arith.select %empty, %zero, %part : f32
    %move = arith.mulf %delta, %share : f32
    %mean = arith.addf %m1, %move : f32
    %dd = arith.mulf %delta, %delta : f32
    %ddc = arith.mulf %dd, %c1 : f32
    %ddcs = arith.mulf %ddc, %share : f32
    %both = arith.addf %s1, %s2 : f32
    %square = arith.addf %both, %ddcs : f32
"""
NAMES = {"m": "mean", "c": "count", "s": "square"}


def kernel(body, order, axis):
    """Reduce a 4x8 tile; `order` says which of `mcs` comes first."""
    rest = 4 if axis == 1 else 8

    def load(name):
        return f"""
  %{name}s = tt.splat %{name} : !tt.ptr<f32> -> tensor<4x8x!tt.ptr<f32>>
  %{name}p = tt.addptr %{name}s, %at : tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi32>
  %{name}v = tt.load %{name}p : tensor<4x8x!tt.ptr<f32>>"""

    def store(name, number):
        return f"""
  %o{name}s = tt.splat %o{name} : !tt.ptr<f32> -> tensor<{rest}x!tt.ptr<f32>>
  %o{name}p = tt.addptr %o{name}s, %r : tensor<{rest}x!tt.ptr<f32>>, tensor<{rest}xi32>
  tt.store %o{name}p, %result#{number} : tensor<{rest}x!tt.ptr<f32>>"""

    arguments = ", ".join(
        f"%{prefix}{name}: !tt.ptr<f32>" for prefix in ("", "o") for name in "mcs"
    )
    sides = ", ".join(f"%{name}{side}: f32" for side in (1, 2) for name in order)
    tile, row = "tensor<4x8xf32>", f"tensor<{rest}xf32>"
    return f"""tt.func public @k({arguments}) {{
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %eights = arith.constant dense<8> : tensor<4x1xi32>
  %r4 = tt.make_range {{end = 4 : i32, start = 0 : i32}} : tensor<4xi32>
  %r8 = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32>
  %r = tt.make_range {{end = {rest} : i32, start = 0 : i32}} : tensor<{rest}xi32>
  %i = tt.expand_dims %r4 {{axis = 1 : i32}} : tensor<4xi32> -> tensor<4x1xi32>
  %i8 = arith.muli %i, %eights : tensor<4x1xi32>
  %ib = tt.broadcast %i8 : tensor<4x1xi32> -> tensor<4x8xi32>
  %j = tt.expand_dims %r8 {{axis = 0 : i32}} : tensor<8xi32> -> tensor<1x8xi32>
  %jb = tt.broadcast %j : tensor<1x8xi32> -> tensor<4x8xi32>
  %at = arith.addi %ib, %jb : tensor<4x8xi32>{"".join(map(load, "mcs"))}
  %result:3 = "tt.reduce"({", ".join(f"%{name}v" for name in order)}) <{{axis = {axis} : i32}}> ({{
  ^bb0({sides}):{body}
    tt.reduce.return {", ".join("%" + NAMES[name] for name in order)} : f32, f32, f32
  }}) : ({tile}, {tile}, {tile}) -> ({row}, {row}, {row})
  {"".join(store(name, order.index(name)) for name in "mcs")}
  tt.return
}}"""


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("body", [FLAGGEMS, INDUCTOR], ids=["flaggems", "inductor"])
@pytest.mark.parametrize("order", ["".join(order) for order in itertools.permutations("mcs")])
def test_all_orders(order, body, axis):
    random = np.random.default_rng(1)
    counts = random.integers(0, 5, (4, 8)).astype(np.float32)
    counts[0], counts[:, 3] = 0, 0  # nothing at all in a row and in a column
    means = random.standard_normal((4, 8), np.float32) * (counts > 0)
    squares = random.random((4, 8), np.float32) * (counts > 1)
    rest = 4 if axis == 1 else 8
    outputs = [np.zeros(rest, np.float32) for _ in range(3)]
    arguments = [means, counts, squares, *outputs]
    after = assert_same(SplitWelfordReduce(), kernel(body, order, axis), arguments, tolerance=2e-6)
    np.testing.assert_array_equal(after[4], counts.sum(axis))
