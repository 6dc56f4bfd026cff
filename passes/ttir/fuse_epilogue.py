"""Merge an elementwise kernel into the kernel whose result it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flagc.ir.analysis.accesses import Access, Refused, describe
from flagc.ir.analysis.index_values import IndexValues, NotAffine
from flagc.ir.analysis.launch_formulas import LaunchFormulas
from flagc.ir.analysis.matrix_positions import Positions, Uncovered
from flagc.ir.analysis.memory_effects import accesses_of
from flagc.ir.analysis.stored_tile import StoredTile, stored_tile
from flagc.ir.analysis.tensor_axes import nested_ops
from flagc.ir.dead_code import erase_unused
from flagc.ir.follow_up import NO_STORAGE, FollowUp, LaunchNumbers, Merged, kernels_of, mark_merged
from flagc.ir.launch_arguments import add_arguments, plan_of
from flagc.ir.module import Module, Operation, Value
from flagc.ir.types import element_of
from flagc.passes.ttir.epilogue_writer import EpilogueWriter, Reach
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class FuseEpilogue(Pass):
    """Compute the elementwise kernel that follows a GEMM on the GEMM's tiles, in registers.

    A script that launches a kernel, and right after it one that reads the first one's result
    element by element (bias, activation, residual, cast), gets one kernel that stores what the
    second does. The matrix in between is neither written nor read; it is rounded as before.

    The module holds both kernels: flagc's recorder puts them there, with grids, integers and the
    storages of tensors (`flagc.ir.follow_up`), and has made sure that nobody else reads the matrix
    (docs/passes.md says how). With these numbers the pass proves that

    - the first kernel's only write to memory is a store of tiles that make up a row-major matrix,
      each element once;
    - the second is elementwise: what it loads and stores depends on row and column alone, its
      lanes are the elements of the matrix, each once, and its masks leave none of them out. It may
      count elements, have a program for each row, or blocks of rows and columns;
    - the second writes to nothing that the first one's programs read.

    The merged kernel has the arguments of both and the first one's grid. The pass goes first, and
    where one of these does not hold, leaves both kernels alone and says why.
    """

    name = "fuse-epilogue"
    level = "ttir"
    merges_launches = True

    def run(self, module: Module, context: PassContext) -> None:
        """Merge the module's two kernels."""
        pair = kernels_of(module)
        if pair is None:
            functions = module.functions()
            context.remark(
                functions[0] if functions else None,
                "not applied: no other kernel follows this one in the module; launches of a script "
                "that flagc records are brought together, those of Triton's own launcher are not",
            )
            return
        first, second, follow_up = pair
        name = second.attributes["sym_name"].value
        try:
            tile = _merge(module, first, second, follow_up)
        except NotAffine as problem:
            at = problem.op if problem.op is not None else second
            context.remark(at, f"'{name}' not merged: {problem.reason}")
            return
        rows, columns = tile.size
        saved = 2 * tile.bytes
        context.remark(
            first,
            f"'{name}' merged: its {rows}x{columns} numbers of type {element_of(tile.value)} stay "
            f"in registers, {saved} bytes of DRAM traffic saved (written once and read once)",
        )
        context.table(
            "traffic saved",
            ("kernel", "follow-up", "rows", "columns", "bytes"),
            [(first.attributes["sym_name"].value, name, rows, columns, saved)],
        )
        context.statistic("kernels merged")
        context.statistic("bytes of traffic saved", saved)
        _retire(tile.store)


def _merge(module: Module, first: Operation, second: Operation, follow_up: FollowUp) -> StoredTile:
    """Write the second kernel into the first; return the tile, whose store is still there.

    Raises:
        NotAffine: they cannot be merged; the module is as it was.
    """
    for function in (first, second):
        if len(list(function.regions[0].blocks)) > 1:
            raise NotAffine(
                function, "a kernel returns early; structured-early-return makes it one block"
            )
    if plan_of(first) is not None:
        raise NotAffine(first, "a pass has changed its grid: fuse-epilogue goes before")
    values = IndexValues()
    known = _integers(first, follow_up.first)
    store = _only_write(first)
    tile = stored_tile(values, store, LaunchFormulas(follow_up.first.grid, known))
    known |= _integers(second, follow_up.second)
    matrix = follow_up.first.place(_base(values, store))
    if matrix[0] == NO_STORAGE:
        raise NotAffine(store, "it is not known where the first kernel stores")
    _check_order(second, follow_up.second)

    def is_matrix(pointer: Value) -> bool:
        return follow_up.second.place(pointer) == matrix

    load = _load_of_matrix(values, second, is_matrix)
    numbers = LaunchFormulas(follow_up.second.grid, known)

    def attempt(counted: bool) -> EpilogueWriter:
        positions = Positions(values, load, tile, numbers, counted=counted)
        writer = EpilogueWriter(module, values, tile, positions, is_matrix)
        try:
            _write(values, second, writer, positions)
            _check_memory(first, follow_up, _base(values, store), writer, positions)
        except NotAffine as problem:
            writer.undo()
            raise _Late(problem.op, problem.reason) from problem
        return writer

    writer = _first_that_works(attempt, (True, False) if len(load.dimensions) == 1 else (False,))
    _take_arguments(module, first, second)
    in_place = any(follow_up.second.place(reach.base) == matrix for reach in writer.stores)
    mark_merged(module, first, Merged(_base(values, store).arg_number, in_place))
    second.erase()
    return tile


class _Late(NotAffine):
    """What the second kernel's lanes are is understood, but not all that it does."""


def _first_that_works(
    attempt: Callable[[bool], EpilogueWriter], choices: Sequence[bool]
) -> EpilogueWriter:
    """Return the first attempt that works.

    Raises:
        NotAffine: none does; of the one that was understood best.
    """
    problems: list[NotAffine] = []
    for choice in choices:
        try:
            return attempt(choice)
        except NotAffine as problem:
            problems.append(problem)
    for kind in (_Late, Uncovered, NotAffine):
        for found in problems:
            if isinstance(found, kind):
                raise found
    raise AssertionError("there is a choice")


def _write(
    values: IndexValues, second: Operation, writer: EpilogueWriter, positions: Positions
) -> None:
    stores = _stores(second)
    for op in stores:
        access = describe(values, op)
        if isinstance(access, Refused):
            raise NotAffine(access.at, access.reason)
        positions.check_coverage(access)
    writer.write(stores)


def _integers(function: Operation, numbers: LaunchNumbers) -> dict[Value, int]:
    arguments = list(function.regions[0].blocks[0].arguments)
    if len(arguments) != len(numbers.values):
        raise NotAffine(function, "its arguments are not those of the launch")
    return {
        argument: number
        for argument, number in zip(arguments, numbers.values, strict=True)
        if str(argument.type).startswith("i")
    }


def _base(values: IndexValues, op: Operation) -> Value:
    return values.pointer(op.operands[0]).base


def _only_write(function: Operation) -> Operation:
    """Return the store that is all that a kernel does to memory; it reads through arguments."""
    writes = []
    for op in list(nested_ops(function))[1:]:
        for access in accesses_of(op):
            if access.base is None:
                raise NotAffine(op, f"'{op.name}' may reach memory that no argument points to")
            if access.writes:
                writes.append(op)
    if len(writes) != 1 or writes[0].name != "tt.store":
        at = writes[1] if len(writes) > 1 else function
        raise NotAffine(at, "the first kernel does not write its result with a single store")
    return writes[0]


def _load_of_matrix(
    values: IndexValues, function: Operation, is_matrix: Callable[[Value], bool]
) -> Access:
    for op in list(nested_ops(function))[1:]:
        if op.name != "tt.load" or op.parent.operation != function:
            continue
        access = describe(values, op)
        if isinstance(access, Access) and is_matrix(access.base):
            return access
    raise NotAffine(function, "it does not load what the first kernel stored, at a known address")


def _stores(function: Operation) -> list[Operation]:
    """Return the stores of the second kernel, which must do nothing else to memory."""
    stores = []
    for op in list(nested_ops(function))[1:]:
        if not any(access.writes for access in accesses_of(op)):
            continue
        if op.name != "tt.store":
            raise NotAffine(op, f"'{op.name}' is no plain store")
        if op.parent.operation != function:
            raise NotAffine(op, "it stores in a loop or under a condition")
        stores.append(op)
    if not stores:
        raise NotAffine(function, "it stores nothing")
    return stores


def _check_order(function: Operation, numbers: LaunchNumbers) -> None:
    """Make sure that the second kernel loads nothing that it has stored."""
    written: set[int] = set()
    for op in list(nested_ops(function))[1:]:
        for access in accesses_of(op):
            if access.base is None:
                raise NotAffine(op, f"'{op.name}' may reach memory that no argument points to")
            storage, _ = numbers.place(access.base)
            if access.writes:
                written.add(storage)
            elif storage in written:
                raise NotAffine(op, "it reads what it has written")


def _check_memory(
    first: Operation,
    follow_up: FollowUp,
    result: Value,
    writer: EpilogueWriter,
    positions: Positions,
) -> None:
    """Make sure that programs of the merged kernel do not read what others of them write.

    Raises:
        NotAffine: they may.
    """
    matrix, _ = follow_up.first.place(result)
    inputs = {
        follow_up.first.storages[argument.arg_number]
        for argument in first.regions[0].blocks[0].arguments
        if argument != result
    }
    if matrix in inputs:
        raise NotAffine(first, "the first kernel has its result among its other arguments")

    def place(reach: Reach) -> tuple[int, int]:
        return follow_up.second.place(reach.base)

    for number, store in enumerate(writer.stores):
        storage, offset = place(store)
        if storage == NO_STORAGE or storage in inputs:
            raise NotAffine(store.op, "it writes to memory that the first kernel may read")
        if storage == matrix and not (
            place(store) == follow_up.first.place(result)
            and positions.same(store.offset, positions.address)
        ):
            raise NotAffine(store.op, "it writes to the matrix, but not each element in its place")
        for other in (*writer.loads, *writer.stores[:number]):
            if place(other)[0] != storage:
                continue
            is_in_place = place(other) == (storage, offset) and other in writer.loads
            if not (is_in_place and positions.same(other.offset, store.offset)):
                raise NotAffine(other.op, "it reads or writes what it writes at another place")
    for load in writer.loads:
        if place(load)[0] in (matrix, NO_STORAGE):
            raise NotAffine(load.op, "it reads memory that may hold the first kernel's result")


def _take_arguments(module: Module, first: Operation, second: Operation) -> None:
    """Give the first kernel the arguments of the second, in place of which they are used."""
    arguments = list(second.regions[0].blocks[0].arguments)
    attributes = ["{}"] * len(arguments)
    if "arg_attrs" in second.attributes:
        attributes = [str(entry) for entry in second.attributes["arg_attrs"]]
    types = [str(argument.type) for argument in arguments]
    added = add_arguments(module, first, list(zip(types, attributes, strict=True)))
    for old, new in zip(arguments, added, strict=True):
        old.replace_all_uses_with(new)


def _retire(store: Operation) -> None:
    """Erase the store of the matrix, and what only it needed."""
    operands = list(store.operands)
    store.erase()
    erase_unused(operands)
