"""What checking a launch found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mismatch:
    """How one output differs.

    Attributes:
        argument: the output's name.
        wrong, total: numbers of elements.
        first: index of the first wrong element; `found` and `expected` are its values.
        low, high: smallest and largest index of wrong elements, dimension by dimension.
        worst: largest absolute error.
        shape: of the tensor.
    """

    argument: str
    wrong: int
    total: int
    first: tuple[int, ...]
    found: float
    expected: float
    low: tuple[int, ...]
    high: tuple[int, ...]
    worst: float
    shape: tuple[int, ...]

    def __str__(self) -> str:
        ranges = ", ".join(f"{a}..{b}" for a, b in zip(self.low, self.high, strict=True))
        tail = [
            dimension
            for dimension, (low, size) in enumerate(zip(self.low, self.shape, strict=True))
            if low > 0 and self.high[dimension] == size - 1
        ]
        where = f"only in the tail of dimension {tail[0]}" if tail else "in the interior"
        return (
            f"'{self.argument}' {tuple(self.shape)}: {self.wrong} of {self.total} elements are "
            f"wrong, {where} (indices {ranges}); first at {list(self.first)}: {self.found:.6g} "
            f"instead of {self.expected:.6g}; largest error {self.worst:.3g}"
        )


@dataclass(frozen=True)
class CheckedLaunch:
    """What checking one launch found.

    Attributes:
        against: what the outputs were compared with.
        outputs: names of the outputs that were compared.
        mismatches: those that differ.
        repeatable: whether a second run gave the same bits; None when it was not needed.
    """

    kernel: str
    grid: tuple[int, int, int]
    against: str
    outputs: tuple[str, ...]
    mismatches: tuple[Mismatch, ...]
    repeatable: bool | None = None
