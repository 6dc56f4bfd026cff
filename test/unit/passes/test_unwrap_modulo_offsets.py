"""`unwrap-modulo-offsets` on a tiled matrix product: same numbers, or a refusal that says why."""

import numpy as np
import pytest

from flagc.passes.ttir.unwrap_modulo_offsets import UnwrapModuloOffsets
from support.running import assert_same, transformed

# 8x8 tiles, 4 deep, in the order of Triton's tutorial; parts are replaced by the tests.
MATMUL = """
tt.func public @matmul(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %o: !tt.ptr<f32>, %m: i32, %n: i32,
                       %k: i32, %at: !tt.ptr<i32>) {
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %za = arith.constant dense<0.0> : tensor<8x4xf32>
  %zb = arith.constant dense<0.0> : tensor<4x8xf32>
  %fours = arith.constant dense<4> : tensor<8x4xi32>
  %c0 = arith.constant 0 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %pid = tt.get_program_id x : i32
  %n7 = arith.addi %n, %c7 : i32
  %across = arith.divsi %n7, %c8 : i32
  %tile_m = TILE
  %tile_n = arith.remsi %pid, %across : i32
  %row0 = arith.muli %tile_m, %c8 : i32
  %column0 = arith.muli %tile_n, %c8 : i32
  %r8 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %r4 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %row0s = tt.splat %row0 : i32 -> tensor<8xi32>
  %rows = arith.addi %row0s, %r8 : tensor<8xi32>
  %ms = tt.splat %m : i32 -> tensor<8xi32>
  %rows_w = arith.remsi %rows, %ms : tensor<8xi32>
  %column0s = tt.splat %column0 : i32 -> tensor<8xi32>
  %columns = arith.addi %column0s, %r8 : tensor<8xi32>
  %ns = tt.splat %n : i32 -> tensor<8xi32>
  %columns_w = arith.remsi %columns, %ns : tensor<8xi32>
  %ar = tt.expand_dims %rows_w {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %ks = tt.splat %k : i32 -> tensor<8x1xi32>
  %ark = arith.muli %ar, %ks : tensor<8x1xi32>
  %arkb = tt.broadcast %ark : tensor<8x1xi32> -> tensor<8x4xi32>
  %ak = tt.expand_dims %r4 {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
  %akb = tt.broadcast %ak : tensor<1x4xi32> -> tensor<8x4xi32>
  %ai = arith.addi %arkb, %akb : tensor<8x4xi32>
  %as = tt.splat %a : !tt.ptr<f32> -> tensor<8x4x!tt.ptr<f32>>
  %ap = tt.addptr %as, %ai : tensor<8x4x!tt.ptr<f32>>, tensor<8x4xi32>
  %bk = tt.expand_dims %r4 {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
  %nk = tt.splat %n : i32 -> tensor<4x1xi32>
  %bkn = arith.muli %bk, %nk : tensor<4x1xi32>
  %bknb = tt.broadcast %bkn : tensor<4x1xi32> -> tensor<4x8xi32>
  %bc = tt.expand_dims %columns_w {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %bcb = tt.broadcast %bc : tensor<1x8xi32> -> tensor<4x8xi32>
  %bi = arith.addi %bknb, %bcb : tensor<4x8xi32>
  %bs = tt.splat %b : !tt.ptr<f32> -> tensor<4x8x!tt.ptr<f32>>
  %bp = tt.addptr %bs, %bi : tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi32>
  %n4 = arith.muli %n, %c4 : i32
  %bstep = tt.splat %n4 : i32 -> tensor<4x8xi32>
  %end:3 = scf.for %i = %c0 to %k step %c4
      iter_args(%pa = %ap, %pb = %bp, %sum = %zero)
      -> (tensor<8x4x!tt.ptr<f32>>, tensor<4x8x!tt.ptr<f32>>, tensor<8x8xf32>) : i32 {
    %left = arith.subi %k, %i : i32
    %lefta = tt.splat %left : i32 -> tensor<1x4xi32>
    %ina = arith.cmpi slt, %ak, %lefta : tensor<1x4xi32>
    %inab = tt.broadcast %ina : tensor<1x4xi1> -> tensor<8x4xi1>
    %va = tt.load %pa, %inab, %za : tensor<8x4x!tt.ptr<f32>>
    %leftb = tt.splat %left : i32 -> tensor<4x1xi32>
    %inb = arith.cmpi slt, %bk, %leftb : tensor<4x1xi32>
    %inbb = tt.broadcast %inb : tensor<4x1xi1> -> tensor<4x8xi1>
    %vb = tt.load %pb, %inbb, %zb : tensor<4x8x!tt.ptr<f32>>
    %next = tt.dot %va, %vb, %sum : tensor<8x4xf32> * tensor<4x8xf32> -> tensor<8x8xf32>
    %na = tt.addptr %pa, %fours : tensor<8x4x!tt.ptr<f32>>, tensor<8x4xi32>
    %nb = tt.addptr %pb, %bstep : tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi32>
    scf.yield %na, %nb, %next
      : tensor<8x4x!tt.ptr<f32>>, tensor<4x8x!tt.ptr<f32>>, tensor<8x8xf32>
  }
  EPILOGUE
  %or = tt.expand_dims %rows {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %on = tt.splat %n : i32 -> tensor<8x1xi32>
  %orn = arith.muli %or, %on : tensor<8x1xi32>
  %ornb = tt.broadcast %orn : tensor<8x1xi32> -> tensor<8x8xi32>
  %oc = tt.expand_dims %columns {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %ocb = tt.broadcast %oc : tensor<1x8xi32> -> tensor<8x8xi32>
  %oi = arith.addi %ornb, %ocb : tensor<8x8xi32>
  %os = tt.splat %o : !tt.ptr<f32> -> tensor<8x8x!tt.ptr<f32>>
  %op = tt.addptr %os, %oi : tensor<8x8x!tt.ptr<f32>>, tensor<8x8xi32>
  %om = tt.splat %m : i32 -> tensor<8x1xi32>
  %fr = arith.cmpi slt, %or, %om : tensor<8x1xi32>
  %frb = tt.broadcast %fr : tensor<8x1xi1> -> tensor<8x8xi1>
  %onc = tt.splat %n : i32 -> tensor<1x8xi32>
  %fc = arith.cmpi COLUMNS : tensor<1x8xi32>
  %fcb = tt.broadcast %fc : tensor<1x8xi1> -> tensor<8x8xi1>
  %fits = arith.andi %frb, %fcb : tensor<8x8xi1>
  tt.store %op, %RESULT, %fits : tensor<8x8x!tt.ptr<f32>>
  tt.return
}
"""
TILE = "arith.divsi %pid, %across : i32"
COLUMNS = "slt, %oc, %onc"
BIAS = """
  %bias_s = tt.splat %b : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %bias_p = tt.addptr %bias_s, %columns_w : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %bias = tt.load %bias_p : tensor<8x!tt.ptr<f32>>
  %bias_e = tt.expand_dims %bias {axis = 0 : i32} : tensor<8xf32> -> tensor<1x8xf32>
  %bias_b = tt.broadcast %bias_e : tensor<1x8xf32> -> tensor<8x8xf32>
  %biased = arith.addf %end#2, %bias_b : tensor<8x8xf32>
"""
SUM = """
  %total = "tt.reduce"(%end#2) <{axis = 1 : i32}> ({
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tt.reduce.return %z : f32
  }) : (tensor<8x8xf32>) -> tensor<8xf32>
  %total_e = tt.expand_dims %total {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
  %summed = tt.broadcast %total_e : tensor<8x1xf32> -> tensor<8x8xf32>
"""


def matmul(tile=TILE, columns=COLUMNS, epilogue="", result="end#2"):
    parts = {"TILE": tile, "COLUMNS": columns, "EPILOGUE": epilogue, "RESULT": result}
    text = MATMUL
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


def matrices(m, n, k):
    random = np.random.default_rng(m * n + k)
    return [
        random.standard_normal((m, k), np.float32),
        random.standard_normal((k, n), np.float32),
        np.full((m, n), -1, np.float32),
        m,
        n,
        k,
        np.zeros(1, np.int32),
    ]


@pytest.mark.parametrize(("m", "n", "k"), [(13, 11, 10), (3, 5, 4), (16, 8, 8), (1, 9, 3)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_product_is_the_same(m, n, k, with_bias):
    text = matmul(epilogue=BIAS, result="biased") if with_bias else matmul()
    arguments = matrices(m, n, k)
    tiles = -(-m // 8) * -(-n // 8)
    after = assert_same(UnwrapModuloOffsets(), text, arguments, grid=(tiles,))
    expected = arguments[0] @ arguments[1] + (arguments[1][0] if with_bias else 0)
    np.testing.assert_allclose(after[2], expected, rtol=1e-5, atol=1e-5)


def refused(text, instance=None):
    """Return why offsets stayed, and how many stayed."""
    module, remarks = transformed(instance or UnwrapModuloOffsets(), text)
    kept = [op for op in module.walk("arith.remsi") if "tensor" in str(op.results[0].type)]
    return remarks, len(kept)


def test_mask_with_another_bound():
    """The columns may wrap where the store still writes."""
    remarks, kept = refused(matmul(columns="sle, %oc, %onc"))
    assert kept == 1
    assert remarks == [
        "wrapped offsets stay: this store's mask does not drop the lanes beyond the size they "
        "wrap at"
    ]


def test_mask_the_other_way_round():
    assert refused(matmul(columns="sgt, %onc, %oc")) == ([], 0)


def test_lanes_summed_up():
    """Columns beyond the end would be part of every row's sum."""
    remarks, kept = refused(matmul(epilogue=SUM, result="summed"))
    assert kept == 1
    assert remarks == ["wrapped offsets stay: the lanes are reduced to one value here"]


def test_tile_numbers_from_memory():
    text = matmul(tile="tt.load %at : !tt.ptr<i32>")
    remarks, kept = refused(text)
    assert kept == 1
    assert "assume-non-negative=true" in remarks[0]
    assert refused(text, UnwrapModuloOffsets(assume_non_negative=True)) == ([], 0)


def test_offsets_that_are_stored():
    store = """
      %places = tt.splat %at : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
      tt.store %places, %rows_w : tensor<8x!tt.ptr<i32>>
    """
    remarks, kept = refused(matmul(epilogue=store))
    assert kept == 1
    assert "this store's mask" in remarks[0]
