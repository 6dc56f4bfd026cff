"""Tiles at run time: the address of the buffer that is in turn, and its number.

Allocs of one block with the same number of buffers are executed together, so they share one
counter, an i32 on the stack, which LLVM turns into a register.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.staged.operations import StagedOp, staged_op
from flagc.ir.staged.tiles import TileType, c0_of
from flagc.ir.types import element_bits
from flagc.targets.ascend.emission.code import Code, refuse
from flagc.targets.ascend.emission.scalars import Scalar


@dataclass
class Tile:
    """One `staged.alloc`: `address` and `slot` (the buffer's number) hold where it is visible.

    `row_stride` is what L0C's rows are rounded to by the products: a number, or the stack memory
    that holds it.
    """

    type: TileType
    alloc: Operation
    address: Scalar
    slot: Scalar
    buffers: int
    row_stride: int | Value | None = field(default=None)

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return element_bits(self.type.element) // 8

    @property
    def c0(self) -> int:
        """Elements in 32 bytes."""
        return c0_of(self.type.element)

    @cached_property
    def users(self) -> list[StagedOp]:
        """The staged ops that use the tile."""
        views = [staged_op(use.owner.operation) for use in self.alloc.results[0].uses]
        return [view for view in views if view is not None]

    @cached_property
    def loaded_transposed(self) -> bool:
        """Whether a load that fills this tile, or takes from it, transposes by its flag."""
        return any(
            user.name in ("load_l0a", "load_l0b") and user.flag("transpose") for user in self.users
        )

    @cached_property
    def feeds(self) -> set[tuple[str, bool]]:
        """Names of the loads that take parts of this tile of L1, with their transpose flag."""
        return {
            (user.name, user.flag("transpose"))
            for user in self.users
            if user.name.startswith("load_")
        }


class Tiles:
    """All tiles of a kernel, by their value."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._tiles: dict[Value, Tile] = {}
        self._slots: dict[tuple[object, int], Scalar] = {}

    def prepare(self, allocs: list[Operation]) -> None:
        """Compute address and slot at each alloc."""
        for alloc in allocs:
            view = staged_op(alloc)
            assert view is not None
            kind = TileType.of(alloc.results[0])
            assert kind is not None
            addresses = [int(entry) for entry in alloc.attributes["addresses"]]
            self._code.scalars.at(alloc)
            slot = self._slot(alloc, len(addresses))
            address = self._address(addresses, slot)
            self._tiles[alloc.results[0]] = Tile(kind, alloc, address, slot, len(addresses))

    def of(self, value: Value) -> Tile:
        """Return the tile of a value.

        Raises:
            EmissionError: it comes from anything but an alloc.
        """
        if value not in self._tiles:
            made = defining_op(value)
            owner = made if made is not None else value.owner.owner
            refuse(owner, f"a tile comes out of {owner.name}; only those of staged.alloc can")
        return self._tiles[value]

    def _slot(self, alloc: Operation, buffers: int) -> Scalar:
        """Return the number of the buffer that is in turn, and count on, once for a block."""
        if buffers == 1:
            return 0
        key = (alloc.block, buffers)
        if key in self._slots:
            return self._slots[key]
        scalars = self._code.scalars
        counter = scalars.variable(0)
        slot = scalars.load(counter)
        last = scalars.compare("eq", slot, buffers - 1)
        scalars.store(counter, scalars.select(last, 0, scalars.add(slot, 1)))
        self._slots[key] = slot
        return slot

    def _address(self, addresses: list[int], slot: Scalar) -> Scalar:
        scalars = self._code.scalars
        first, *others = addresses
        if not others:
            return first
        step = others[0] - first
        if addresses == [first + step * number for number in range(len(addresses))]:
            return scalars.add(first, scalars.multiply(slot, step))
        address: Scalar = first
        for number, other in enumerate(others, 1):
            address = scalars.select(scalars.compare("eq", slot, number), other, address)
        return address
