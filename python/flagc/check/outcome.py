"""What checking a launch found."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.check.place import Place


@dataclass(frozen=True)
class Mismatch:
    """How one output differs.

    Attributes:
        argument: the output's name.
        wrong, total: numbers of elements.
        first: index of the first wrong element; `found` and `expected` are its values, `allowed`
            the error it may have.
        low, high: smallest and largest index of wrong elements, dimension by dimension.
        worst: largest absolute error.
        shape: of the tensor.
        place: the programs that own wrong elements, where that is known.
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
    allowed: float
    shape: tuple[int, ...]
    place: Place | None = None

    @property
    def brief(self) -> str:
        """How much is wrong, in a few words."""
        return (
            f"{self.wrong} of {self.total} elements of '{self.argument}' are wrong, largest error "
            f"{self.worst:.3g}"
        )

    def __str__(self) -> str:
        ranges = ", ".join(f"{a}..{b}" for a, b in zip(self.low, self.high, strict=True))
        tail = [
            dimension
            for dimension, (low, size) in enumerate(zip(self.low, self.shape, strict=True))
            if low > 0 and self.high[dimension] == size - 1
        ]
        if self.wrong == self.total:
            where = "everywhere"
        elif tail:
            where = f"only in the tail of dimension {tail[0]}"
        else:
            where = "in the interior"
        text = (
            f"'{self.argument}' {tuple(self.shape)}: {self.wrong} of {self.total} elements are "
            f"wrong, {where} (indices {ranges}); first at {list(self.first)}: {self.found:.6g} "
            f"instead of {self.expected:.6g} (allowed: {self.allowed:.2g}); largest error "
            f"{self.worst:.3g}"
        )
        return f"{text}; {self.place}" if self.place is not None else text


@dataclass(frozen=True)
class CheckedOutput:
    """One output that was compared.

    Attributes:
        largest_error: absolute.
        used: the largest error as a part of what was allowed for its element.
        bound: what was allowed, and why.
        additions: atomic additions to one element, where they were counted.
    """

    argument: str
    largest_error: float
    used: float
    bound: str
    additions: int = 0


@dataclass(frozen=True)
class CheckedLaunch:
    """What checking one launch found.

    Attributes:
        against: what the outputs were compared with.
        outputs: the outputs that were compared.
        mismatches: those that differ.
        repeatable: whether a second run gave the same bits; None when it was not needed.
        warnings: what is no mismatch, but would be elsewhere.
    """

    kernel: str
    grid: tuple[int, int, int]
    against: str
    outputs: tuple[CheckedOutput, ...]
    mismatches: tuple[Mismatch, ...]
    repeatable: bool | None = None
    warnings: tuple[str, ...] = ()

    @property
    def repeats(self) -> str:
        """What the second run said, in words."""
        if self.repeatable is None:
            return "a second run was not made"
        return f"a second run gives {'the same' if self.repeatable else 'another result'}"
