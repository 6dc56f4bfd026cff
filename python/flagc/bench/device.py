"""What a benchmark needs of a device besides launching kernels on it."""

from __future__ import annotations

from typing import Any, Protocol

from flagc.bench.outcome import Peak
from flagc.bench.timing import Stopwatch


class BenchDevice(Stopwatch, Protocol):
    """A device that times, and that knows its cache, its free memory, its peak and its name."""

    def cache_bytes(self) -> int:
        """Return the size of the last-level cache."""
        ...

    def free_bytes(self) -> int:
        """Return how much memory is free."""
        ...

    def peak(self, dtype: Any) -> Peak:
        """Return what the device reaches with operands of a torch dtype; measured once each."""
        ...

    def describe(self) -> dict[str, str]:
        """Return the device's name and the versions that a figure depends on."""
        ...

    def wait(self) -> None:
        """Wait for everything that was launched.

        Raises:
            KernelError: a launch failed on the device.
        """
        ...
