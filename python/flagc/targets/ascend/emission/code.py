"""What all parts of emission share: the module that is being made, calls, and errors."""

from __future__ import annotations

from typing import NoReturn

from flagc.ir.locations import source_location
from flagc.ir.module import Module, Operation
from flagc.ir.staged.tiles import TileType
from flagc.pipeline.diagnostics import Declined, Diagnostic
from flagc.targets.ascend.emission.device_functions import FUNCTIONS, PREFIX
from flagc.targets.ascend.emission.instructions import Word, fits, most, pack
from flagc.targets.ascend.emission.scalars import Scalar, Scalars


class EmissionError(Declined):
    """Something in the staged module has no instruction; names the op and its line."""


def refuse(op: Operation, text: str) -> NoReturn:
    """Raise EmissionError for `op` at the kernel's line."""
    place = source_location(op.location)
    raise EmissionError(Diagnostic("error", text, stage="final", location=place))


class Code:
    """The code of one kernel; what is created goes to where `scalars` stands."""

    def __init__(self, module: Module, function: Operation) -> None:
        self.module = module
        self.scalars = Scalars(module, function)
        self.called: set[str] = set()

    def call(self, name: str, *operands: Scalar) -> None:
        """Call one of our device functions, named without its prefix.

        Raises:
            ValueError: another number of operands than the function takes.
        """
        if len(operands) != len(FUNCTIONS[name].operands):
            raise ValueError(f"{name} takes {len(FUNCTIONS[name].operands)} operands")
        self.called.add(name)
        values = [self.scalars.value(operand) for operand in operands]
        callee = self.module.attribute(f"@{PREFIX}{name}")
        self.scalars.op("func.call", values, [], callee=callee)

    def word(self, word: Word, **values: Scalar) -> Scalar:
        """Return an operand word of named fields."""
        return pack(self.scalars, word, **values)

    def hivm(self, name: str, **attributes: str) -> Operation:
        """Create `hivm.hir.<name>` without operands and results."""
        return self.scalars.op(f"hivm.hir.{name}", [], [], **attributes)

    def barrier(self, pipe: str) -> None:
        """All earlier work of a pipe is done first, or of "ALL" pipes."""
        self.hivm("pipe_barrier", pipe=f"#hivm.pipe<PIPE_{pipe}>")


def require(op: Operation, tile: TileType, word: Word, field: str, size: int) -> None:
    """Refuse a tile whose size does not fit the field of its instruction."""
    if not fits(word, field, size):
        refuse(
            op,
            f"{op.name} of {tile.text()}: {field} = {size} is more than an instruction takes "
            f"({most(word, field)}); use smaller tiles",
        )
