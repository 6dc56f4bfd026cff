"""Memory that a launch needs besides its tensors, for programs that set no allocator.

Tensor descriptors made in a kernel take 128 bytes each of every program; Triton's launcher asks the
allocator of `triton.set_allocator` for them, and by default there is none.
"""

from __future__ import annotations

from typing import Any

import triton
from triton.runtime import _allocation


def provide() -> None:
    """Let launches take such memory from PyTorch, if nothing else was set in this context.

    Triton keeps the allocator in a context variable: threads started later have none.
    """
    if isinstance(_allocation._allocator.get(), _allocation.NullAllocator):
        triton.set_allocator(_from_torch)


def torch_scratch(size: int) -> Any:
    """Return `size` bytes of GPU memory; PyTorch aligns to 512.

    The launcher lets go of them after the launch, and PyTorch hands them on in the order of the
    current stream, on which the launch is.
    """
    import torch

    return torch.empty(size, dtype=torch.uint8, device="cuda")


def _from_torch(size: int, alignment: int, stream: int | None) -> Any:
    return torch_scratch(size)
