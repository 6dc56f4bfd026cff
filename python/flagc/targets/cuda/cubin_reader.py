"""What a cubin says of itself, read with the `cuobjdump` and `nvdisasm` that Triton carries."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from triton import knobs

from flagc.errors import EnvironmentProblem

_TIME_LIMIT = 60.0


@dataclass(frozen=True)
class CubinFacts:
    """Of one kernel of a cubin.

    Attributes:
        registers: per thread.
        stack, local: bytes per thread of stack frame and of other local memory; spilled registers
            are in the stack frame.
        shared: static bytes per block, the system's share of it included.
        opcodes: how often each SASS opcode occurs, modifiers included (`LDG.E.128`).
    """

    registers: int
    stack: int
    local: int
    shared: int
    opcodes: Counter[str]

    def count(self, *stems: str) -> int:
        """Return how many instructions have one of the opcodes, whatever their modifiers."""
        return sum(n for opcode, n in self.opcodes.items() if opcode.split(".")[0] in stems)


def read_cubin(cubin: bytes, kernel: str) -> CubinFacts:
    """Return the facts of function `kernel`.

    Raises:
        EnvironmentProblem: a tool is missing or fails, or the cubin has no such function.
    """
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage = _tool("cuobjdump", "--dump-resource-usage", file.name)
        listing = _tool("nvdisasm", "-json", file.name)
    used = _usage(usage, kernel)
    return CubinFacts(
        used["REG"], used["STACK"], used["LOCAL"], used["SHARED"], _opcodes(listing, kernel)
    )


def _usage(text: str, kernel: str) -> dict[str, int]:
    """Return the `NAME:number` pairs on the line after ` Function kernel:`."""
    lines = [line.strip() for line in text.splitlines()]
    if f"Function {kernel}:" not in lines:
        raise EnvironmentProblem(f"the cubin has no function '{kernel}'")
    pairs = lines[lines.index(f"Function {kernel}:") + 1].split()
    return {name: int(number) for name, _, number in (pair.rpartition(":") for pair in pairs)}


def _opcodes(text: str, kernel: str) -> Counter[str]:
    functions = json.loads(text)[1]
    return Counter(
        instruction["opcode"]
        for function in functions
        if function["function-name"] == kernel
        for instruction in function["sass-instructions"]
    )


def _tool(name: str, *arguments: str) -> str:
    program = getattr(knobs.nvidia, name).path
    if not Path(program).is_file():
        raise EnvironmentProblem(f"Triton's '{name}' is missing ({program}); reinstall triton")
    done = subprocess.run(
        [program, *arguments], capture_output=True, timeout=_TIME_LIMIT, check=False
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"
        raise EnvironmentProblem(f"{name} failed: {said}")
    return done.stdout.decode(errors="replace")
