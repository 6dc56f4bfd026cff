"""Visit output tiles in groups of rows, for reuse in the L2 cache."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis import program_ids as analysis
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.regions import is_inside
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class SwizzleProgramIds(Pass):
    """Visit output tiles in groups of `group_m` rows so that neighbours in time share L2 lines.

    Programs start in the order of their linear id. With `group_m` rows a group, consecutive
    programs go down the rows of a group first, then to the next column, as in Triton's matmul
    tutorial; the last group may be shorter. The result is a permutation of the grid, whatever its
    size.

    Handled are grids of two axes, and grids of one axis whose id is split by `/` and `%`. Other
    axes (a batch) stay as they are. A kernel that already maps its ids is left alone.
    """

    name = "swizzle-program-ids"
    level = "ttir"
    group_m: int = 8

    def run(self, module: Module, context: PassContext) -> None:
        """Replace every use of the program ids by the ids of the tile to visit."""
        if self.group_m < 1:
            context.error(None, f"group-m is {self.group_m}; it must be at least 1")
        ids = analysis.program_ids(module)
        if not ids:
            context.remark(None, "not applied: the kernel does not read its program id")
        elif 0 in ids and 1 in ids:
            _swizzle_two_axes(module, context, ids, self.group_m)
        elif 0 in ids:
            _swizzle_one_axis(module, context, ids[0], self.group_m)
        else:
            op = next(iter(ids.values()))[0]
            context.remark(op, "not applied: the kernel does not read the program id of axis 0")


def _swizzle_two_axes(
    module: Module, context: PassContext, ids: dict[int, list[Operation]], group_m: int
) -> None:
    for op in (*ids[0], *ids[1]):
        for value in analysis.derived_scalars(op.results[0]):
            division = next(analysis.divisions_of(value), None)
            if division is not None:
                context.remark(
                    division,
                    "not applied: the program id is divided here, so the kernel maps its ids to "
                    "tiles itself",
                )
                return
    scores = [sum(analysis.row_score(op.results[0]) for op in ids[axis]) for axis in (0, 1)]
    row_axis = 0 if scores[0] >= scores[1] else 1
    for function in module.functions():
        inside = [
            [op for op in module_ids if is_inside(op, function)] for module_ids in (ids[0], ids[1])
        ]
        if not (inside[0] or inside[1]):
            continue
        build = Builder(module, before=_first_op(function))
        axes = [_program(build, "tt.get_program_id", axis) for axis in (0, 1)]
        counts = [_program(build, "tt.get_num_programs", axis) for axis in (0, 1)]
        linear = build.addi(axes[0], build.muli(axes[1], counts[0]))
        tile = grouped_tile(build, linear, counts[row_axis], counts[1 - row_axis], group_m)
        for axis in (0, 1):
            for op in inside[axis]:
                module.replace(op, [tile[0] if axis == row_axis else tile[1]])
    context.statistic("kernels swizzled")


def _swizzle_one_axis(
    module: Module, context: PassContext, ids: list[Operation], group_m: int
) -> None:
    splits = analysis.splits(ids)
    if len(splits) != 1 or not (splits[0].quotients and splits[0].remainders):
        context.remark(
            ids[0],
            "not applied: the program id is not split into a row and a column of tiles by '/' and "
            "'%' with one divisor",
        )
        return
    split = splits[0]
    for op in (*split.quotients, *split.remainders):
        again = next(analysis.divisions_of(op.results[0]), None)
        if again is not None:
            context.remark(
                again, "not applied: the program id is already split into groups or a third index"
            )
            return
    other = _other_use(ids, split)
    if other is not None:
        context.remark(other, "not applied: the program id is used beyond its tile's numbers")
        return
    anchor = _after_definition(split.divisor)
    if anchor is None:
        context.remark(
            split.quotients[0], "not applied: the divisor is not computed at the kernel's top level"
        )
        return
    _rewrite_split(module, ids, split, anchor, group_m)
    context.statistic("kernels swizzled")


def _rewrite_split(
    module: Module, ids: list[Operation], split: analysis.Split, anchor: Operation, group_m: int
) -> None:
    """Replace quotient and remainder by those of the tile to visit, computed before `anchor`.

    The divisor is the number of tiles in a row (or in a column, for kernels that number tiles down
    the columns); the other number is what the grid has room for. Programs beyond the last complete
    row keep their tile.
    """
    quotient_is_row = _scores(split.quotients) >= _scores(split.remainders)
    build = Builder(module, before=anchor)
    original = _program(build, "tt.get_program_id", 0)
    complete = build.divsi(_program(build, "tt.get_num_programs", 0), split.divisor)
    row_count, column_count = complete, split.divisor
    if not quotient_is_row:
        row_count, column_count = column_count, row_count
    row, column = grouped_tile(build, original, row_count, column_count, group_m)
    quotient, remainder = (row, column) if quotient_is_row else (column, row)
    is_grouped = build.cmpi("slt", original, build.muli(complete, split.divisor))
    quotient = build.select(is_grouped, quotient, build.divsi(original, split.divisor))
    remainder = build.select(is_grouped, remainder, build.remsi(original, split.divisor))
    for op in split.quotients:
        module.replace(op, [quotient])
    for op in split.remainders:
        module.replace(op, [remainder])
    for op in ids:
        op.erase()


def _other_use(ids: list[Operation], split: analysis.Split) -> Operation | None:
    """Return an op that uses the id and is no part of the split."""
    parts = [*split.quotients, *split.remainders]
    for op in ids:
        for user in analysis.users(op.results[0]):
            if user not in parts:
                return user
    return None


def _after_definition(value: Value) -> Operation | None:
    """Return the op of the kernel's outermost block before which `value` is first known."""
    definition = defining_op(value)
    if definition is None:
        function = value.owner.owner.operation
        return _first_op(function) if function.name == "tt.func" else None
    function = definition.parent.operation
    if function.name != "tt.func":
        return None
    ops = [op.operation for op in function.regions[0].blocks[0].operations]
    return ops[ops.index(definition) + 1]


def grouped_tile(
    build: Builder, linear: Value, row_count: Value, column_count: Value, group_m: int
) -> tuple[Value, Value]:
    """Return row and column of the tile that program `linear` visits.

    Triton's matmul tutorial:

        programs_in_group = group_m * column_count
        first_row         = linear / programs_in_group * group_m
        rows_in_group     = min(row_count - first_row, group_m)
        row               = first_row + linear % programs_in_group % rows_in_group
        column            = linear % programs_in_group / rows_in_group
    """
    group = build.constant(group_m, linear.type)
    one = build.constant(1, linear.type)
    programs_in_group = build.binary("arith.maxsi", build.muli(group, column_count), one)
    first_row = build.muli(build.divsi(linear, programs_in_group), group)
    rows_left = build.subi(row_count, first_row)
    # At least one: programs that keep their tile must not divide by zero either.
    rows_in_group = build.binary("arith.maxsi", build.binary("arith.minsi", rows_left, group), one)
    place = build.remsi(linear, programs_in_group)
    row = build.addi(first_row, build.remsi(place, rows_in_group))
    return row, build.divsi(place, rows_in_group)


def _program(build: Builder, op_name: str, axis: int) -> Value:
    return build.op(op_name, [], "i32", {"axis": f"{axis} : i32"})


def _scores(ops: list[Operation]) -> int:
    return sum(analysis.row_score(op.results[0]) for op in ops)


def _first_op(function: Operation) -> Operation:
    return next(iter(function.regions[0].blocks[0].operations)).operation
