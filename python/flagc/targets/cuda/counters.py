"""Counters on the GPU that are 0 before each launch, without a launch that clears them.

A kernel leaves its counters at 0, so memory that was cleared once serves all launches that run one
after the other: those of one stream. A launch that is captured into a CUDA graph may be replayed at
any time and gets counters of its own.
"""

from __future__ import annotations

from typing import Any

# Counters in the memory that captured launches share out: 1 MiB, some thousand small launches.
_POOL = 1 << 18
_ALIGNMENT = 4  # counters; the kernel's pointer is promised to be a multiple of 16 bytes


class Counters:
    """Hands out cleared counters, from torch's memory."""

    def __init__(self) -> None:
        self._of_stream: dict[tuple[int, int], Any] = {}
        self._pools: dict[int, Any] = {}

    def take(self, count: int, stream: int) -> Any:
        """Return a tensor of at least `count` counters for one launch on `stream`."""
        import torch

        device = torch.cuda.current_device()
        if torch.cuda.is_current_stream_capturing():
            return self._for_good(count, device)
        if device not in self._pools:
            self._pools[device] = _cleared(_POOL)
        held = self._of_stream.get((device, stream))
        if held is None or held.numel() < count:
            held = self._of_stream[device, stream] = _cleared(max(count, 4096))
        return held

    def _for_good(self, count: int, device: int) -> Any:
        """Return counters that nobody else gets; without a launch before, the graph clears them."""
        pool = self._pools.get(device)
        if pool is None or pool.numel() < count:
            return _cleared(count)
        rounded = -(-count // _ALIGNMENT) * _ALIGNMENT
        self._pools[device] = pool[rounded:]
        return pool[:count]


def _cleared(count: int) -> Any:
    import torch

    return torch.zeros(count, dtype=torch.int32, device="cuda")


_counters = Counters()


def take_counters(count: int, stream: int) -> Any:
    """Return cleared counters of this process's own `Counters`."""
    return _counters.take(count, stream)
