"""Pointwise kernels with random expressions, dtypes, layouts, broadcasts and masks."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fuzz.cases import Sizes, near
from fuzz.expressions import TRITON, Node, random_expression
from fuzz.operations import FLOAT
from support.comparing import assert_rounded, guarded, untouched, unwritten
from support.emulating import DTYPES, emulated

BOUND = {"floats": 8.0, "integers": 100.0}
LAYOUTS = ["rows", "rows", "rows", "columns", "row", "column", "one", "number"]
SCATTERED = ["second", "reversed"]
CONDITIONS = {
    "every third": "(r + c) % 3 != 0",
    "triangle": "c >= r",
    "from": "c >= first",
    "data": "chosen > 0",
}
TILES = [(1, 64), (1, 256), (1, 1024), (1, 2048), (8, 64), (16, 32), (16, 128), (32, 32), (64, 16)]


@dataclass(frozen=True)
class Input:
    """A tensor or number; `condition` hides elements, for which `other` is loaded."""

    name: str
    kind: str
    layout: str
    condition: str = ""
    other: int = 0

    @property
    def bound(self) -> float:
        return BOUND["floats"] if self.kind in FLOAT else BOUND["integers"]

    def strides(self) -> tuple[str, str]:
        """Along rows and along columns, as source."""
        own = f"{self.name}_stride"
        return {
            "rows": (own, "1"),
            "reversed": (own, "1"),
            "columns": ("1", own),
            "row": ("0", "1"),
            "column": ("1", "0"),
            "second": (own, "2"),
            "one": ("0", "0"),
            "number": ("0", "0"),
        }[self.layout]

    def load(self) -> str:
        if self.layout == "number":
            return f"{self.name} = {self.name}_ptr"
        if self.layout == "one":
            return f"{self.name} = tl.load({self.name}_ptr)"
        along_r, along_c = self.strides()
        column = "(C - 1 - c)" if self.layout == "reversed" else "c"
        terms = [
            f"{index} * {stride}" if stride != "1" else index
            for index, stride in (("r", along_r), (column, along_c))
            if stride != "0"
        ]
        bounds = {"row": "c < C", "column": "r < R"}.get(self.layout, "inside")
        if self.condition:
            bounds = f"({bounds}) & ({CONDITIONS[self.condition]})"
        place = " + ".join([f"{self.name}_ptr", *terms])
        return f"{self.name} = tl.load({place}, mask={bounds}, other={self.other})"


@dataclass(frozen=True)
class Pointwise:
    """A generated kernel."""

    inputs: tuple[Input, ...]
    expression: Node
    condition: str  # of the store
    transposed: bool  # the result lies column by column
    tile: tuple[int, int]

    def __str__(self) -> str:
        return f"tile {self.tile}\n{self.source()}"

    def conditions(self) -> set[str]:
        return {self.condition, *(given.condition for given in self.inputs)} - {""}

    def parameters(self) -> dict[str, str]:
        """Runtime parameters and their types, in the kernel's order."""
        types = {}
        for given in self.inputs:
            types[f"{given.name}_ptr"] = (
                given.kind if given.layout == "number" else f"*{given.kind}"
            )
            if f"{given.name}_stride" in given.strides():
                types[f"{given.name}_stride"] = "i32"
        if "data" in self.conditions():
            types["chosen_ptr"] = "*i8"
        if "from" in self.conditions():
            types["first"] = "i32"
        return {
            **types,
            "out": f"*{self.expression.kind}",
            "out_stride": "i32",
            "R": "i32",
            "C": "i32",
        }

    def source(self) -> str:
        names = ", ".join([*self.parameters(), "BLOCK_R: tl.constexpr", "BLOCK_C: tl.constexpr"])
        lines = [
            "r = (tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R))[:, None]",
            "c = (tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C))[None, :]",
            "inside = (r < R) & (c < C)",
        ]
        if "data" in self.conditions():
            lines.append("chosen = tl.load(chosen_ptr + r * C + c, mask=inside, other=0)")
        lines += [given.load() for given in self.inputs]
        place = "r + c * out_stride" if self.transposed else "r * out_stride + c"
        mask = f"inside & ({CONDITIONS[self.condition]})" if self.condition else "inside"
        lines += [
            f"value = {self.expression.source()}",
            f"tl.store(out + {place}, tl.broadcast_to(value, (BLOCK_R, BLOCK_C)), mask={mask})",
        ]
        head = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        return head + "\n    ".join([f"def kernel({names}):", *lines]) + "\n"

    def compile(self) -> None:
        self._kernel()

    def _kernel(self) -> Any:
        tile = dict(zip(("BLOCK_R", "BLOCK_C"), self.tile, strict=True))
        return emulated(_function(self.source()), self.parameters(), tile)

    def smaller(self) -> Pointwise | None:
        r, c = self.tile
        if r == c == 1:
            return None
        return replace(self, tile=(r // 2, c) if r > 1 else (r, c // 2))

    def sizes(self, random: np.random.Generator) -> Sizes:
        r, c = self.tile
        rows = 1 if r == 1 and random.integers(2) else near(random, r, min(3 * r, 60))
        columns = near(random, c, 3 * c)
        pad, first = int(random.choice([0, 0, 1, 6])), int(random.integers(1, columns + 1))
        return {"rows": rows, "columns": columns, "first": first, "pad": pad}

    def check(self, sizes: Sizes) -> None:
        rows, columns, pad = sizes["rows"], sizes["columns"], sizes["pad"]
        shape = (columns, rows) if self.transposed else (rows, columns)
        storage, stored = guarded(*shape, dtype=DTYPES[self.expression.kind], pad=pad)
        out = stored.t() if self.transposed else stored
        hidden = _hidden(sizes)
        arguments: list[Any] = []
        values = {}
        for given in self.inputs:
            handed, seen = _made(given, rows, columns, pad)
            arguments += handed
            if given.condition:
                seen = torch.where(hidden[given.condition], given.other, seen)
            values[given.name] = seen.expand(rows, columns)
        if "data" in self.conditions():
            arguments.append((~hidden["data"]).to(torch.int8))
        if "from" in self.conditions():
            arguments.append(sizes["first"])
        grid = (-(-rows // self.tile[0]), -(-columns // self.tile[1]))
        self._kernel().run(grid, [*arguments, out, stored.stride(0), rows, columns])
        exact, lost = self.expression.values(values)
        written = torch.ones_like(exact, dtype=torch.bool)
        if self.condition:
            written = ~hidden[self.condition]
        assert untouched(storage, stored)
        assert unwritten(out[~written]), "wrote where the mask is false"
        if self.expression.kind in FLOAT:
            assert_rounded(out[written], exact[written], lost[written])
        else:
            known = written & (lost == 0)
            assert_rounded(out[known], exact[known])
            near_enough = (out.double() - exact).abs() <= lost
            assert bool(near_enough[written].all()), "an integer is off by more than it may"


def _hidden(sizes: Sizes) -> dict[str, torch.Tensor]:
    """For each condition the elements for which it is false; `data` is random."""
    r, c = torch.arange(sizes["rows"])[:, None], torch.arange(sizes["columns"])[None, :]
    shape = (sizes["rows"], sizes["columns"])
    return {
        "every third": (r + c) % 3 == 0,
        "triangle": c < r,
        "from": (c < sizes["first"]).expand(shape),
        "data": torch.rand(shape) < 0.4,
    }


def _made(given: Input, rows: int, columns: int, pad: int) -> tuple[list[Any], torch.Tensor]:
    """The arguments of an input, and the values that the kernel sees, to broadcast."""
    kind, shape = DTYPES[given.kind], (rows, columns)
    if given.layout in ("one", "number"):
        value = _random(given, 1)
        return [value if given.layout == "one" else value.item()], value[None]
    if given.layout == "row":
        value = _random(given, columns)
        return [value], value[None, :]
    if given.layout == "column":
        value = _random(given, rows)
        return [value], value[:, None]
    value = _random(given, *shape)
    if given.layout == "columns":
        inside = guarded(columns, rows, dtype=kind, pad=pad)[1].copy_(value.t())
        return [inside, inside.stride(0)], value
    if given.layout == "second":
        inside = guarded(rows, 2 * columns, dtype=kind, pad=pad)[1]
        inside[:, ::2] = value
        return [inside[:, : 2 * columns - 1], inside.stride(0)], value
    inside = guarded(rows, columns, dtype=kind, pad=pad)[1].copy_(value)
    return [inside, inside.stride(0)], value.flip(1) if given.layout == "reversed" else value


def _random(given: Input, *shape: int) -> torch.Tensor:
    if given.kind in FLOAT:
        return (torch.randn(shape) * 2).clamp(-given.bound, given.bound).to(DTYPES[given.kind])
    most = int(given.bound)
    return torch.randint(-most, most + 1, shape).to(DTYPES[given.kind])


@cache
def _function(source: str) -> Any:
    """The kernel of generated source, which Triton wants to find in a file."""
    folder = Path(tempfile.mkdtemp(prefix="flagc-fuzz-"))
    path = folder / "generated.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(f"fuzz_{folder.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.kernel


class PointwiseTemplate:
    """See the module. Those that are `masked` hide more than what lies outside, and take elements
    that do not lie one after the other: the vendor loads such elements one by one.
    """

    def __init__(self, *, masked: bool) -> None:
        self.name = "masked" if masked else "pointwise"
        self.masked = masked

    def specialise(self, random: np.random.Generator) -> Pointwise:
        count = int(random.integers(1, 4))
        inputs = tuple(self._input(random, f"x{index}") for index in range(count))
        kind = str(random.choice(list(TRITON)))
        leaves = [Node(given.name, given.kind, given.bound) for given in inputs]
        return Pointwise(
            inputs,
            random_expression(random, leaves, int(random.integers(1, 5)), kind),
            condition=str(random.choice(["", *CONDITIONS])) if self.masked else "",
            transposed=bool(random.integers(4) == 0),
            tile=TILES[random.integers(len(TILES))],
        )

    def _input(self, random: np.random.Generator, name: str) -> Input:
        layout = str(random.choice(LAYOUTS + SCATTERED if self.masked else LAYOUTS))
        kind = str(random.choice(["fp32", "i32"] if layout == "number" else list(TRITON)))
        conditional = self.masked and layout in ("rows", "columns", *SCATTERED)
        condition = str(random.choice(["", *CONDITIONS])) if conditional else ""
        return Input(name, kind, layout, condition, int(random.integers(-5, 6)))
