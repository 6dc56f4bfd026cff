"""What formulas are in one launch, whose grid and integer arguments are known.

numbers = LaunchFormulas(grid, {argument: 4096, ...})
numbers.by_program(access.offset)    # one int64 for each program of the grid
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flagc.ir.analysis import affine
from flagc.ir.analysis.accesses import Dimension
from flagc.ir.analysis.affine import Affine, Symbol
from flagc.ir.analysis.index_values import NotAffine
from flagc.ir.module import Value, defining_op

Numbers = Any  # an int, or a numpy array with one for each program


class LaunchFormulas:
    """Computes formulas for all programs of a launch at once.

    Args:
        grid: programs along each axis.
        arguments: the integers among the kernel's arguments.
    """

    def __init__(self, grid: Sequence[int], arguments: Mapping[Value, int]) -> None:
        self.grid = (*grid, 1, 1)[:3]
        self._values: Mapping[Value, Numbers] = arguments
        x, y, z = self.grid
        program = np.arange(x * y * z, dtype=np.int64)
        self._programs = (program % x, program // x % y, program // (x * y))

    def by_program(
        self, formula: Affine, more: Mapping[Value, Numbers] | None = None
    ) -> np.ndarray:
        """Return the formula for each program; lanes are taken to be lane 0.

        `more` gives scalars besides the arguments.

        Raises:
            NotAffine: it depends on something that is not known before the launch.
        """
        number = self._formula(formula, more or {})
        return np.broadcast_to(np.asarray(number, np.int64), self._programs[0].shape)

    def at(self, formula: Affine, more: Mapping[Value, Numbers]) -> int:
        """Return a formula that is the same for all programs.

        Raises:
            NotAffine: see `by_program`; or it depends on the program.
        """
        number = self._formula(formula, more)
        if isinstance(number, np.ndarray):
            raise NotAffine(None, "it is not the same for all programs")
        return int(number)

    def lanes(self, dimension: Dimension) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each program, the first lane that the bounds let pass and the one after."""
        low, high = self.by_program(Affine({})), self.by_program(Affine.constant(dimension.size))
        for bound in dimension.lower:
            low = np.maximum(low, self.by_program(bound.limit))
        for bound in dimension.upper:
            high = np.minimum(high, self.by_program(bound.limit))
        return low, np.maximum(low, high)

    def _formula(self, formula: Affine, more: Mapping[Value, Numbers]) -> Numbers:
        total: Numbers = 0
        for product, coefficient in formula.terms.items():
            if int(coefficient) != coefficient:
                raise NotAffine(None, "it has a fraction in it")
            term: Numbers = int(coefficient)
            for symbol in product:
                term = term * self._symbol(symbol, more)
            total = total + term
        return total

    def _symbol(self, symbol: Symbol, more: Mapping[Value, Numbers]) -> Numbers:
        if symbol.kind == affine.SCALAR:
            return self._scalar(symbol.operands[0], more)
        if symbol.kind == affine.LANE:
            return 0
        if symbol.kind == affine.ITERATION:
            raise NotAffine(symbol.operands[0], "it depends on a loop's iteration")
        left, right = (self._formula(operand, more) for operand in symbol.affine_operands)
        if symbol.kind == affine.MINIMUM:
            return np.minimum(left, right)
        if symbol.kind == affine.MAXIMUM:
            return np.maximum(left, right)
        if np.any(np.equal(right, 0)):
            raise NotAffine(None, "a number is divided by zero")
        quotient = np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))
        return quotient if symbol.kind == affine.QUOTIENT else left - quotient * right

    def _scalar(self, value: Value, more: Mapping[Value, Numbers]) -> Numbers:
        known = more.get(value, self._values.get(value))
        if known is not None:
            return known
        op = defining_op(value)
        if op is not None and op.name == "tt.get_program_id":
            return self._programs[op.attributes["axis"].value]
        if op is not None and op.name == "tt.get_num_programs":
            return self.grid[op.attributes["axis"].value]
        raise NotAffine(op, "it depends on a number that is not known before the launch")


def covers_once(
    starts: Sequence[np.ndarray], ends: Sequence[np.ndarray], blocks: Sequence[int]
) -> tuple[int, ...] | None:
    """Return the sizes of the box from 0 that programs' boxes make up, each point in one of them.

    None if they do not. A program's box lies between `starts` and `ends`, one array for each
    dimension, and is no longer than `blocks`. Only boxes that begin at multiples of the blocks are
    recognised.
    """
    lengths = [end - start for start, end in zip(starts, ends, strict=True)]
    used = np.logical_and.reduce([length > 0 for length in lengths])
    if not used.any():
        return None
    begin = np.stack([start[used] for start in starts])
    end = np.stack([stop[used] for stop in ends])
    steps = np.asarray(blocks, np.int64)[:, None]
    if (begin < 0).any() or (begin % steps).any() or (end - begin > steps).any():
        return None
    if np.unique(begin, axis=1).shape[1] != begin.shape[1]:
        return None
    sizes = tuple(int(size) for size in end.max(axis=1))
    volume = int(np.prod(end - begin, axis=0).sum())
    return sizes if volume == int(np.prod(sizes)) else None
