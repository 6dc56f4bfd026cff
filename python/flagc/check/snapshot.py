"""Copies of a launch's arguments that keep what tensors share.

Two arguments may be views of one storage (a kernel that works in place); a reference sees that only
when their copies share a storage too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch


@dataclasses.dataclass(frozen=True)
class _View:
    """A tensor as a view of storage number `storage`."""

    storage: int
    dtype: torch.dtype
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """Values with their tensors taken out; picklable when in host memory.

    `values()` gives fresh copies of all, on the devices of the originals.
    """

    storages: tuple[torch.Tensor, ...]
    packed: Mapping[str, Any]

    def values(self) -> dict[str, Any]:
        """Return the values; their tensors share storages as the originals did."""
        fresh = [storage.clone() for storage in self.storages]

        def unpack(value: Any) -> Any:
            if not isinstance(value, _View):
                return value
            storage = fresh[value.storage]
            tensor = torch.empty(0, dtype=value.dtype, device=storage.device)
            return tensor.set_(storage.untyped_storage(), value.offset, value.shape, value.stride)

        return {name: _mapped(value, unpack) for name, value in self.packed.items()}

    def on_host(self) -> Snapshot:
        """Return the same in host memory."""
        return dataclasses.replace(self, storages=tuple(part.cpu() for part in self.storages))

    @property
    def bytes(self) -> int:
        """Bytes of all storages together."""
        return sum(storage.nbytes for storage in self.storages)


def snapshot(values: Mapping[str, Any]) -> Snapshot:
    """Copy `values`, their tensors where they are; tensors without data stay what they are."""
    numbers: dict[int, int] = {}
    storages: list[torch.Tensor] = []

    def pack(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.device.type == "meta":
            return value
        storage = value.untyped_storage()
        if storage.data_ptr() not in numbers:
            numbers[storage.data_ptr()] = len(storages)
            whole = torch.empty(0, dtype=torch.uint8, device=value.device).set_(storage)
            storages.append(whole.clone())
        number = numbers[storage.data_ptr()]
        offset = value.storage_offset()
        return _View(number, value.dtype, offset, tuple(value.shape), value.stride())

    packed = {name: _mapped(value, pack) for name, value in values.items()}
    return Snapshot(tuple(storages), packed)


def tensors(values: Mapping[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors among `values` by name, also those of descriptors and tuples."""
    for name, value in values.items():
        found: list[torch.Tensor] = []

        def collect(part: Any, found: list[torch.Tensor] = found) -> Any:
            if isinstance(part, torch.Tensor):
                found.append(part)
            return part

        _mapped(value, collect)
        for index, tensor in enumerate(found):
            yield (name if len(found) == 1 else f"{name}.{index}"), tensor


def _mapped(value: Any, function: Any) -> Any:
    """Apply `function` to `value`, or to the parts of a tuple, descriptor or reinterpretation."""
    if isinstance(value, (torch.Tensor, _View)):
        return function(value)
    if isinstance(value, tuple):
        parts = [_mapped(part, function) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if hasattr(value, "base") and isinstance(value.base, (torch.Tensor, _View)):
        base = function(value.base)
        if base is value.base:
            return value
        copy = object.__new__(type(value))
        copy.__dict__.update(value.__dict__)
        copy.base = base
        return copy
    return function(value)
