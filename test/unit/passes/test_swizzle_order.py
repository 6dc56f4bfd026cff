"""The index arithmetic of `swizzle-program-ids`, evaluated for many grids."""

import itertools

import pytest
from arith_interpreter import stored_values

from flagc.ir.module import Module
from flagc.passes.ttir.swizzle_program_ids import SwizzleProgramIds
from flagc.pipeline.context import PassContext
from flagc.pipeline.diagnostics import Findings

GROUPS = (1, 2, 3, 4, 8, 64)
SIZES = tuple(itertools.product((1, 2, 3, 5, 8, 17), (1, 2, 4, 7)))


def kernel(body):
    return f""""builtin.module"() ({{ "tt.func"() ({{
      ^bb0(%out: !tt.ptr<i32>, %n: i32):
        {body}
        "tt.return"() : () -> ()
      }}) {{sym_name = "kernel", function_type = (!tt.ptr<i32>, i32) -> ()}} : () -> ()
    }}) : () -> ()"""


def store(value):
    return f'"tt.store"(%out, {value}) : (!tt.ptr<i32>, i32) -> ()\n'


def expand(value, axis):
    """Mark a tile number as one of rows (axis 1) or columns (axis 0)."""
    shape = "8x1" if axis == 1 else "1x8"
    return (
        f'%s{axis} = "tt.splat"({value}) : (i32) -> tensor<8xi32>\n'
        f'%e{axis} = "tt.expand_dims"(%s{axis}) {{axis = {axis} : i32}} : (tensor<8xi32>) '
        f"-> tensor<{shape}xi32>\n"
    )


PROGRAM_ID = '%{name} = "tt.get_program_id"() {{axis = {axis} : i32}} : () -> i32\n'
SPLIT = (
    PROGRAM_ID.format(name="pid", axis=0)
    + '%q = "arith.divsi"(%pid, %n) : (i32, i32) -> i32\n'
    + '%r = "arith.remsi"(%pid, %n) : (i32, i32) -> i32\n'
)
TWO_AXES = PROGRAM_ID.format(name="x", axis=0) + PROGRAM_ID.format(name="y", axis=1)


def swizzled(body, group):
    module = Module.parse(kernel(body), "ttir")
    findings = Findings()
    context = PassContext(module, "swizzle-program-ids", "ttir", None, {}, findings)
    with module.context:
        SwizzleProgramIds(group).run(module, context)
    assert findings.diagnostics == []
    # Shape marks have served; the interpreter knows scalars only.
    for op in [*module.walk("tt.expand_dims"), *module.walk("tt.splat")]:
        op.erase()
    return module


def tutorial(pid, rows, columns, group):
    """Triton's tutorial 03, word by word."""
    num_pid_in_group = group * columns
    first_pid_m = pid // num_pid_in_group * group
    group_size_m = min(rows - first_pid_m, group)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    return [pid_m, (pid % num_pid_in_group) // group_size_m]


@pytest.mark.parametrize("group", GROUPS)
def test_split_by_columns_is_the_tutorials_order(group):
    module = swizzled(SPLIT + store("%q") + store("%r"), group)
    for rows, columns in SIZES:
        tiles = [
            stored_values(module, [None, columns], [pid], [rows * columns])
            for pid in range(rows * columns)
        ]
        assert tiles == [tutorial(pid, rows, columns, group) for pid in range(rows * columns)]
        assert len({tuple(tile) for tile in tiles}) == rows * columns


@pytest.mark.parametrize("group", GROUPS)
def test_split_by_rows_is_the_tutorials_order(group):
    """Tiles are numbered down the columns: the quotient is the column."""
    marks = expand("%r", 1) + expand("%q", 0)
    module = swizzled(SPLIT + marks + store("%r") + store("%q"), group)
    for rows, columns in SIZES:
        tiles = [
            stored_values(module, [None, rows], [pid], [rows * columns])
            for pid in range(rows * columns)
        ]
        assert tiles == [tutorial(pid, rows, columns, group) for pid in range(rows * columns)]


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("group", GROUPS)
def test_incomplete_grids_are_permuted_too(group, by_rows):
    """Any number of programs visits what it visited before, each tile once."""
    marks = expand("%r", 1) + expand("%q", 0) if by_rows else ""
    module = swizzled(SPLIT + marks + store("%q") + store("%r"), group)
    for programs, divisor in itertools.product(range(1, 30), (1, 2, 3, 7, 40)):
        tiles = [
            stored_values(module, [None, divisor], [pid], [programs]) for pid in range(programs)
        ]
        assert sorted(tiles) == [[pid // divisor, pid % divisor] for pid in range(programs)]


@pytest.mark.parametrize("rows_on_y", [False, True])
@pytest.mark.parametrize("group", GROUPS)
def test_two_axes_are_the_tutorials_order(group, rows_on_y):
    row, column = ("%y", "%x") if rows_on_y else ("%x", "%y")
    marks = expand(row, 1) + expand(column, 0)
    module = swizzled(TWO_AXES + marks + store(row) + store(column), group)
    for rows, columns in SIZES:
        grid = [columns, rows] if rows_on_y else [rows, columns]
        tiles = [
            stored_values(module, [None, 0], [x, y], grid)
            for y in range(grid[1])
            for x in range(grid[0])  # axis 0 starts first
        ]
        assert tiles == [tutorial(pid, rows, columns, group) for pid in range(rows * columns)]
        assert len({tuple(tile) for tile in tiles}) == rows * columns
