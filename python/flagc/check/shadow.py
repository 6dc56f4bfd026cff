"""Global memory as the reference interpreter sees it.

Pointers keep their real addresses, so kernels compute them as ever. The elements of float tensors
live in float64 shadows that addresses are translated to; others stay where they are. Each element
remembers which program of the grid stored it last, and how often it was added to atomically.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

# Triton's names of float types, and what torch calls them.
FLOATS = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp8e5": torch.float8_e5m2,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5b16": torch.float8_e5m2fnuz,
}

NOBODY = -1


class NotInFloat64(Exception):
    """The kernel depends on the bits of its floats; float64 in their place would mean nothing."""


class OutOfReach(Exception):
    """The kernel touches memory that belongs to none of its tensors."""


@dataclass
class Storage:
    """One storage that arguments view: `start` and `end` are addresses.

    `values` is the float64 shadow, `stored_by` the last program (linear id) that wrote an element,
    `additions` how many atomic additions it received.
    """

    name: str
    start: int
    end: int
    dtype: torch.dtype
    values: np.ndarray | None
    stored_by: np.ndarray
    additions: np.ndarray


Part = tuple[Storage, Any, np.ndarray]


class Memory:
    """The storages of a launch's tensors.

    Raises:
        NotInFloat64: with `wide`, when tensors of several types share a float storage.
    """

    def __init__(self, tensors: Mapping[str, torch.Tensor], *, wide: bool) -> None:
        self.wide = wide
        self.storages: list[Storage] = []
        by_address: dict[int, Storage] = {}
        for name, tensor in tensors.items():
            raw = tensor.untyped_storage()
            known = by_address.get(raw.data_ptr())
            if known is None:
                storage = _storage(name, tensor, wide)
                by_address[raw.data_ptr()] = storage
                self.storages.append(storage)
            elif known.dtype != tensor.dtype and wide:
                raise NotInFloat64(f"'{known.name}' and '{name}' are one memory in two types")
        self.storages.sort(key=lambda storage: storage.start)
        self._starts = np.array([storage.start for storage in self.storages], dtype=np.uint64)
        self._ends = np.array([storage.end for storage in self.storages], dtype=np.uint64)

    def parts(self, addresses: np.ndarray) -> Iterator[Part]:
        """Yield (storage, which of `addresses`, their elements' indices in it).

        Raises:
            OutOfReach: an address is in no storage.
        """
        if not addresses.size:
            return
        numbers = np.searchsorted(self._starts, addresses, side="right").astype(np.int64) - 1
        outside = numbers < 0
        if self.storages:
            outside |= addresses >= self._ends[numbers]
        if outside.any():
            raise OutOfReach(f"address {int(addresses[outside][0]):#x} is in none of the tensors")
        for number in np.unique(numbers):
            storage = self.storages[number]
            which = numbers == number
            offsets = addresses[which] - np.uint64(storage.start)
            yield storage, which, (offsets // np.uint64(storage.dtype.itemsize)).astype(np.int64)

    def float_parts(self, addresses: np.ndarray, dtype: str) -> Iterator[Part]:
        """As `parts`, for accesses of float type `dtype`.

        Raises:
            NotInFloat64: the memory holds another type.
        """
        for part in self.parts(addresses):
            if part[0].values is None or part[0].dtype != FLOATS.get(dtype):
                raise NotInFloat64(f"'{part[0].name}' ({part[0].dtype}) is accessed as {dtype}")
            yield part

    def of(self, tensor: torch.Tensor) -> Storage:
        """Return the storage that `tensor` views."""
        address = tensor.untyped_storage().data_ptr()
        return next(storage for storage in self.storages if storage.start == address)

    def view(self, tensor: torch.Tensor, elements: np.ndarray) -> torch.Tensor:
        """Return `elements`, one for each of the tensor's storage, as `tensor` views them."""
        flat = torch.from_numpy(elements)
        return flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).clone()


def _storage(name: str, tensor: torch.Tensor, wide: bool) -> Storage:
    raw = tensor.untyped_storage()
    count = raw.nbytes() // tensor.dtype.itemsize
    values = None
    if wide and tensor.dtype.is_floating_point:
        flat = torch.empty(0, dtype=tensor.dtype).set_(raw, 0, (count,), (1,))
        values = flat.double().numpy().copy()
    return Storage(
        name,
        raw.data_ptr(),
        raw.data_ptr() + raw.nbytes(),
        tensor.dtype,
        values,
        np.full(count, NOBODY, dtype=np.int32),
        np.zeros(count, dtype=np.int32),
    )
