"""What a fuzz case is: a specialisation of a template, compiled once, and sizes to run it with.

Everything about case `gemm/17/3` (template, specialisation, run) follows from those and `--seed`:

    pytest test/fuzz --seed 42 --fuzz-case gemm/17/3

A case that fails is made smaller, size by size, as long as it still fails in the same way.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pytest
import torch

from flagc.errors import KernelError

RUNS = 16  # of each specialisation; compiling one takes as long as running some twenty
# A cast or the like that the vendor's compiler lacks is neither a mismatch nor a crash.
VENDORS_REFUSAL = "not supported on Ascend: bishengir-compile"
Sizes = dict[str, int]


class Specialisation(Protocol):
    """A kernel with everything chosen that is compiled into it; str() says what."""

    def compile(self) -> None:
        """Compile it, unless that is done."""

    def smaller(self) -> Specialisation | None:
        """The same with a smaller tile, for one that does not fit the chip's memories."""

    def sizes(self, random: np.random.Generator) -> Sizes:
        """Draw the sizes of one run; each may become smaller, down to 1 (`pad...`: 0)."""

    def check(self, sizes: Sizes) -> None:
        """Run with random values (of torch's generator); raise when the result is wrong."""


class Template(Protocol):
    """A family of kernels."""

    name: str

    def specialise(self, random: np.random.Generator) -> Specialisation:
        """Choose a kernel."""


@dataclass(frozen=True)
class Case:
    """One run of one specialisation."""

    seed: int
    template: Template
    specialisation: int
    run: int

    def __str__(self) -> str:
        return f"{self.template.name}/{self.specialisation}/{self.run}"

    def check(self, chosen: Specialisation) -> None:
        sizes = chosen.sizes(self._random(self.run))
        error = self._failure(chosen, sizes)
        if error is None:
            return
        smaller, small_error = self._shrunk(chosen, sizes, error)
        raise AssertionError(
            f"fuzz case {self}: {_told(error)}\n{chosen}\nsizes {sizes}\n"
            f"smallest that still fails: {smaller}: {_told(small_error)}\n"
            f"repeat: pytest test/fuzz --seed {self.seed} --fuzz-case {self}"
        ) from error

    def chosen(self) -> Specialisation:
        """The compiled kernel, its tile small enough for the chip."""
        chosen: Specialisation | None = self.template.specialise(self._random())
        while chosen is not None:
            try:
                chosen.compile()
            except KernelError as error:
                if VENDORS_REFUSAL in str(error):
                    pytest.skip(f"fuzz case {self}, seed {self.seed}: {error}")
                if "overflow:" not in str(error):
                    raise AssertionError(f"fuzz case {self}: {chosen}: {error}") from error
                chosen = chosen.smaller()
            else:
                return chosen
        raise AssertionError(f"fuzz case {self}: no tile fits")

    def _random(self, *more: int) -> np.random.Generator:
        name = zlib.crc32(self.template.name.encode())
        return np.random.default_rng([self.seed, name, self.specialisation, *more])

    def _failure(self, chosen: Specialisation, sizes: Sizes) -> Exception | None:
        torch.manual_seed(int(self._random(self.run, 1).integers(2**63)))
        try:
            chosen.check(sizes)
        except Exception as error:  # whatever it is, it is what the fuzzer looks for
            return error
        return None

    def _shrunk(
        self, chosen: Specialisation, sizes: Sizes, error: Exception
    ) -> tuple[Sizes, Exception]:
        attempts = 0
        shrinking = True
        while shrinking:
            shrinking = False
            for name, size in list(sizes.items()):
                least = 0 if name.startswith("pad") else 1
                for candidate in sorted({least, size // 2, size - 1}):
                    if not least <= candidate < size or attempts > 200:
                        continue
                    attempts += 1
                    found = self._failure(chosen, {**sizes, name: candidate})
                    if type(found) is type(error):
                        sizes, error, shrinking = {**sizes, name: candidate}, found, True
                        break
        return sizes, error


def near(random: np.random.Generator, step: int, most: int) -> int:
    """A size between 1 and `most` where mistakes are: small, or about a multiple of `step`."""
    kind = random.integers(4)
    if kind == 0:
        size = random.integers(1, 9)
    elif kind == 1:
        size = random.integers(1, most + 1)
    else:
        size = step * random.integers(1, max(2, most // step + 1)) + random.integers(-1, 2)
    return int(np.clip(size, 1, most))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
