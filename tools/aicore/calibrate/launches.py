"""Launches for the timing model, put together block by block."""

from __future__ import annotations

from collections.abc import Hashable

from flagc.aicore.native import native
from flagc.aicore.timing.operations import Stream


class LaunchBuilder:
    """Blocks with equal streams share one class; each core executes its list of blocks."""

    def __init__(self, region_bytes: list[int], *, cores: int, cube: bool = True) -> None:
        self.native = native().TimedLaunch()
        self.native.region_bytes = region_bytes
        self.native.slots = cores
        self.native.cube = cube
        self._classes: dict[Hashable, int] = {}
        self._lists: list[list[int]] = [[] for _ in range(cores)]

    def known(self, key: Hashable) -> bool:
        """Whether the class `key` is there already."""
        return key in self._classes

    def add_class(self, key: Hashable, *streams: Stream) -> None:
        """A class of blocks: the stream of each core of a block."""
        self._classes[key] = self.native.classes
        self.native.add_class([stream.encoded() for stream in streams])

    def block(self, core: int, key: Hashable, bases: list[int]) -> None:
        """Append a block to what `core` executes."""
        self._lists[core].append(self.native.blocks)
        self.native.add_block(self._classes[key], bases)

    def done(self) -> object:
        """The launch, as the native module takes it."""
        self.native.assignment = self._lists
        return self.native
