"""Stores that vector cores do together, because they store functions of the same sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flagc.ir.analysis.accesses import Access, Dimension, Refused, describe
from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.extents import covers, extent, mask_problem
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.analysis.memory_effects import accesses_of
from flagc.ir.analysis.tensor_axes import nested_ops
from flagc.ir.analysis.tile_accesses import GlobalAccess
from flagc.ir.analysis.tile_accesses import accesses as staged_accesses
from flagc.ir.analysis.vector_expressions import COLUMN, MATRIX, Expressions, Node, in_order
from flagc.ir.module import Operation, Value
from flagc.ir.regions import block_operations
from flagc.ir.types import PointerType, TensorType
from flagc.passes.ascend.matrix_blocks import MatrixBlock, stored_block

_LOADED = ("f16", "bf16", "f32", "i32")


@dataclass(frozen=True)
class Store:
    """A store, and the expression that it stores."""

    block: MatrixBlock
    node: Node
    atomic: bool


@dataclass(frozen=True)
class LoadedBlock:
    """Where a load of the epilogue begins; rows of a matrix are `row_stride` apart."""

    base: Value
    offset: Affine
    row_stride: Affine


# What moves of an epilogue go to or come from.
Place = MatrixBlock | LoadedBlock


@dataclass(frozen=True)
class Group:
    """Stores of one part of a matrix.

    Attributes:
        stores: in program order.
        readers: the `staged.read_accumulator` of all sums that they are functions of.
        loads: what else they need.
    """

    stores: tuple[Store, ...]
    readers: tuple[Operation, ...]
    loads: dict[Operation, LoadedBlock]

    @property
    def place(self) -> Operation:
        """The last store, where all of it happens."""
        return self.stores[-1].block.op

    @property
    def places(self) -> list[Place]:
        """Where the stores go and the loads come from."""
        return [*(store.block for store in self.stores), *self.loads.values()]

    @property
    def rows(self) -> tuple[Affine, int]:
        """What is stored of a block's rows, and how many it has."""
        return self.stores[0].block.rows

    @property
    def columns(self) -> tuple[Affine, int]:
        """The same of its columns."""
        return self.stores[0].block.columns


def readers_behind(value: Value) -> set[Operation]:
    """Return the sums that a tensor is computed from."""
    found: set[Operation] = set()
    pending, seen = [value], set()
    while pending:
        current = pending.pop()
        if current in seen or TensorType.of(current) is None:
            continue
        seen.add(current)
        op = getattr(current.owner, "operation", None)
        if op is None:
            continue
        if op.name == "staged.read_accumulator":
            found.add(op)
        elif not op.regions:
            pending += list(op.operands)
    return found


def components(stores: Sequence[Operation]) -> list[list[Operation]]:
    """Return the stores of sums, those together that have a sum in common."""
    groups: list[tuple[set[Operation], list[Operation]]] = []
    for store in stores:
        readers = readers_behind(store.operands[1])
        members = [store]
        if not readers:
            continue
        for group in [entry for entry in groups if entry[0] & readers]:
            groups.remove(group)
            readers |= group[0]
            members = group[1] + members
        groups.append((readers, members))
    order = {store: number for number, store in enumerate(stores)}
    return [sorted(members, key=lambda store: order[store]) for _, members in groups]


def group_of(values: IndexValues, facts: Facts, stores: list[Operation]) -> Group | Refused:
    """Return the group of some stores, or what of them vector cores cannot do."""
    expressions = Expressions()
    found = []
    for op in stores:
        node = expressions.of(op.operands[1], op)
        if isinstance(node, Refused):
            return node
        block = stored_block(values, facts, op)
        if isinstance(block, Refused):
            return block
        if node.element not in _LOADED:
            return Refused(op, op, f"vector cores do not store {node.element} here")
        found.append(Store(block, node, op.name == "tt.atomic_rmw"))
    nodes = list(in_order([store.node for store in found]))
    readers = {node.op: None for node in nodes if node.kind == "sum" and node.op is not None}
    loads = {}
    for node in nodes:
        if node.kind == "load" and node.op is not None:
            loaded = _loaded(values, facts, node, found[0].block)
            if isinstance(loaded, Refused):
                return loaded
            loads[node.op] = loaded
    group = Group(tuple(found), tuple(readers), loads)
    return _problem(group) or group


def _problem(group: Group) -> Refused | None:
    """Say why the stores cannot be done at one place, the last one's."""
    place = group.place
    block = block_operations(place)
    for store in group.stores:
        op = store.block.op
        if (store.block.rows, store.block.columns) != (group.rows, group.columns):
            return Refused(op, op, "functions of one sum are stored with different masks")
        if op not in block:
            return Refused(op, op, "functions of one sum are stored at different places")
    for reader in group.readers:
        if reader not in block:
            return Refused(
                place, place, "a sum is stored in a branch or loop that it is not made in"
            )
    sizes = {str(reader.operands[0].type) for reader in group.readers}
    if len(sizes) > 1:
        return Refused(place, place, "it is a function of sums of different sizes or types")
    return _order_problem(group)


def _order_problem(group: Group) -> Refused | None:
    """Say which access would be at odds with the group's, which happen later than they stand."""
    own = {store.block.op for store in group.stores} | set(group.loads)
    written = {store.block.base for store in group.stores}
    read = {load.base for load in group.loads.values()}
    function = group.place
    while function.name not in ("tt.func", "func.func"):
        function = function.parent.operation
    for op in nested_ops(function):
        if op in own:
            continue
        entries = [(a.base, a.writes) for a in accesses_of(op)] if _is_plain(op) else []
        entries += [(a.base, a.writes) for a in staged_accesses(op) if isinstance(a, GlobalAccess)]
        for base, writes in entries:
            clash = written | (read if writes else set())
            if base is None or base in clash:
                return Refused(
                    op, op, "memory that the epilogue stores or loads is accessed here as well"
                )
    return _overlap_problem(group)


def _is_plain(op: Operation) -> bool:
    """Return whether an op is none of the dialect staged, and no block of ops."""
    return not op.name.startswith("staged.") and not op.regions


def _overlap_problem(group: Group) -> Refused | None:
    """Loads of what is stored are of the same elements, or come too late."""
    places = {store.block.base: store.block for store in group.stores}
    if len(places) < len(group.stores):
        return Refused(group.place, group.place, "several stores go through one pointer")
    for op, load in group.loads.items():
        block = places.get(load.base)
        same = block is None or (load.offset, load.row_stride) == (block.offset, block.row_stride)
        if not same:
            return Refused(op, op, "it loads other elements of the matrix that is stored")
    return None


def _loaded(
    values: IndexValues, facts: Facts, node: Node, stored: MatrixBlock
) -> LoadedBlock | Refused:
    """Return where a load begins. What is stored has to be there, the rest is not loaded."""
    assert node.op is not None
    op = node.op
    access = describe(values, op)
    if isinstance(access, Refused):
        return access
    pointer = PointerType.of(access.base)
    if node.element not in _LOADED or pointer is None or pointer.pointee != node.element:
        return Refused(op, op, f"vector cores do not load {node.element} here")
    if (flaw := mask_problem(access)) is not None:
        return Refused(op, op, flaw)
    needed = {MATRIX: (stored.rows, stored.columns), COLUMN: (stored.rows,)}.get(
        node.form, (stored.columns,)
    )
    dimensions = _dimensions(access, node.form)
    if dimensions is None:
        return Refused(op, op, "whether it is there depends on another dimension")
    for dimension, (formula, size) in zip(dimensions, needed, strict=True):
        limit = extent(facts, dimension)
        if isinstance(limit, str):
            return Refused(op, op, limit)
        if not covers(facts, limit, formula, size):
            return Refused(op, op, "elements are masked off that the epilogue needs")
    if dimensions[-1].stride.number != 1 and dimensions[-1].size > 1:
        return Refused(op, op, "its elements are no neighbours in memory")
    stride = dimensions[0].stride if node.form == MATRIX else Affine.constant(0)
    return LoadedBlock(access.base, access.offset, stride)


def _dimensions(access: Access, form: str) -> list[Dimension] | None:
    """Return the dimensions that count; None where others are bounded."""
    dimensions = list(access.dimensions)
    if form == MATRIX:
        kept = dimensions[-2:]
    elif form == COLUMN and len(dimensions) > 1:
        kept = dimensions[-2:-1]
    else:
        kept = dimensions[-1:]
    others = [dimension for dimension in dimensions if dimension not in kept]
    bounded = any(dimension.upper or dimension.lower or dimension.size > 1 for dimension in others)
    return None if bounded else kept
