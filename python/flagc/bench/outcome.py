"""What timing a launch found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flagc.bench.baseline import Amount
from flagc.bench.timing import Timing, ratio


@dataclass(frozen=True)
class Peak:
    """What the device reached in the same process: a large matrix product, a large copy.

    `flops` is per second, None where torch multiplies no matrices of the type `dtype`; `bytes` is
    per second, read and written counted.
    """

    dtype: str
    flops: float | None
    bytes: float


@dataclass(frozen=True)
class BenchedLaunch:
    """The timings of one launch and of what it is compared with.

    Attributes:
        kernel, grid, config: what was launched; config has the scalars and constexprs by name.
        timings: by candidate; the first is the kernel with its passes.
        results: by candidate, 'right', 'not checked', or what is wrong.
        against: what results were compared with.
        sets: how many copies of the arguments were cycled through, `set_bytes` each.
    """

    kernel: str
    grid: tuple[int, int, int]
    config: Mapping[str, Any]
    timings: Mapping[str, Timing]
    results: Mapping[str, str]
    against: str
    amount: Amount
    peak: Peak
    sets: int
    set_bytes: int
    device: Mapping[str, str] = field(default_factory=dict)

    @property
    def wrong(self) -> dict[str, str]:
        """What is wrong with the results, by candidate."""
        return {n: text for n, text in self.results.items() if text not in ("right", "not checked")}

    def flops(self, name: str) -> float | None:
        """Return operations per second by the median, where the work is known."""
        return None if self.amount.flops is None else self.amount.flops / self.timings[name].median

    def bytes(self, name: str) -> float | None:
        """Return bytes per second by the median, where the work is known."""
        return None if self.amount.bytes is None else self.amount.bytes / self.timings[name].median

    def share_of_peak(self, name: str) -> float | None:
        """Return the larger of the shares of peak arithmetic and peak bandwidth."""
        flops, moved = self.flops(name), self.bytes(name)
        shares = []
        if flops is not None and self.peak.flops:
            shares.append(flops / self.peak.flops)
        if moved is not None and self.peak.bytes:
            shares.append(moved / self.peak.bytes)
        return max(shares, default=None)

    def speedup(self, name: str) -> tuple[float, float, float]:
        """Return how much faster the kernel is than `name`: median over rounds, quartiles."""
        return ratio(self.timings, next(iter(self.timings)), name)

    def describe(self) -> dict[str, Any]:
        """Return everything as plain data; times in seconds, rates per second."""
        return {
            "kernel": self.kernel,
            "grid": list(self.grid),
            "config": {name: str(value) for name, value in self.config.items()},
            "against": self.against,
            "flops": self.amount.flops,
            "bytes": self.amount.bytes,
            "input_sets": self.sets,
            "bytes_per_set": self.set_bytes,
            "peak": {"dtype": self.peak.dtype, "flops": self.peak.flops, "bytes": self.peak.bytes},
            "device": dict(self.device),
            "candidates": {
                name: {
                    **timing.describe(),
                    "result": self.results[name],
                    "flops_per_second": self.flops(name),
                    "bytes_per_second": self.bytes(name),
                    "share_of_peak": self.share_of_peak(name),
                    "kernel_is_faster_by": list(self.speedup(name)),
                }
                for name, timing in self.timings.items()
            },
        }
