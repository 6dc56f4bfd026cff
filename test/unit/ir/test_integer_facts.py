"""What is proven about formulas, and what must not be."""

import pytest

from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from support.running import parsed

KERNEL = """
tt.func public @f(%p: !tt.ptr<f32>, %k: i32 {tt.divisibility = 16 : i32}, %n: i32, %odd: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %c63 = arith.constant 63 : i32
  %c64 = arith.constant 64 : i32
  %c15 = arith.constant 15 : i32
  %pid = tt.get_program_id x : i32
  %k63 = arith.addi %k, %c63 : i32
  %steps64 = arith.divsi %k63, %c64 : i32
  %k15 = arith.addi %k, %c15 : i32
  %steps16 = arith.divsi %k15, %c16 : i32
  %n63 = arith.addi %n, %c63 : i32
  %tiles = arith.divsi %n63, %c64 : i32
  %column = arith.remsi %pid, %tiles : i32
  %row = arith.divsi %pid, %tiles : i32
  %left = arith.subi %tiles, %row : i32
  %least = arith.minsi %left, %c16 : i32
  scf.for %i = %c0 to %k step %c16 : i32 {
    scf.for %j = %c0 to %steps16 step %c1 : i32 {
      scf.for %l = %c0 to %steps64 step %c1 : i32 {
        scf.for %m = %odd to %n step %c64 : i32 {
          tt.print " " {hex = false, isSigned = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1>}
            : %i, %j, %l, %m, %k, %n, %column, %row, %least, %pid, %tiles
            : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
        }
      }
    }
  }
  tt.return
}
"""
NAMES = ("i", "j", "l", "m", "k", "n", "column", "row", "least", "pid", "tiles")


@pytest.fixture(scope="module")
def formulas():
    return parsed(KERNEL)


def facts_of(module, grid=()):
    values = IndexValues()
    (op,) = module.walk("tt.print")
    named = {name: values.index(operand) for name, operand in zip(NAMES, op.operands, strict=True)}
    return Facts(values, grid), named


@pytest.mark.parametrize(
    ("formula", "proven"),
    [
        # The counter stops at k - 16, as 16 divides k: i + 15 < k.
        ("k - i - 16", True),
        ("k - i - 17", False),
        ("i", True),
        ("-i", False),
        # j < k/16 exactly: 16j + 15 < k.
        ("k - 16*j - 16", True),
        ("k - 16*j - 17", False),
        # l < (k + 63)/64: only 64l < k; 16 divides both sides' difference, which is not used.
        ("k - 64*l - 1", True),
        ("k - 64*l - 64", False),
        # Starts anywhere, so the last iteration may be a partial one.
        ("n - m - 1", True),
        ("n - m - 64", False),
        # pid % tiles < tiles = (n + 63)/64.
        ("n - 64*column - 1", True),
        ("n - 64*column - 64", False),
        ("pid - row", True),
        ("row - pid", False),
        ("tiles - row - least", True),
        ("16 - least", True),
        ("least", False),
        ("i*j", True),
        ("i*j - 1", False),
        ("100000000000*k - k*i", False),
        ("k*i - 16*i", False),
        ("n", True),
        ("m", False),
    ],
)
def test_not_negative(formulas, formula, proven):
    facts, named = facts_of(formulas)
    assert facts.is_non_negative(eval(formula, {}, named)) is proven


def test_grid(formulas):
    facts, named = facts_of(formulas, grid=(8,))
    assert facts.is_non_negative(named["pid"] * -1 + 7)
    assert not facts.is_non_negative(named["pid"] * -1 + 6)


@pytest.mark.parametrize(
    ("formula", "divisor"),
    [
        ("k", 16),
        ("k*k", 256),
        ("4*k + 32*n", 32),
        ("i", 16),
        ("n", 1),
        ("k*0", 0),
        ("i*8 + k", 16),
        ("m", 1),
        ("j", 1),
    ],
)
def test_divisors(formulas, formula, divisor):
    facts, named = facts_of(formulas)
    assert facts.divisor(eval(formula, {}, named)) == divisor
