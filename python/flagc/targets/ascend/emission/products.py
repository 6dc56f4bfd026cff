"""Products and what becomes of them: MAD into L0C, and the fixpipe from L0C to global memory."""

from __future__ import annotations

from flagc.ir.module import Operation
from flagc.ir.staged.operations import StagedOp
from flagc.ir.staged.tiles import FRACTAL_ROWS
from flagc.ir.types import PointerType, element_bits
from flagc.targets.ascend.emission.code import Code, require
from flagc.targets.ascend.emission.instructions import (
    ACCUMULATOR,
    MATRICES,
    PRODUCT,
    STORE_OPTIONS,
    STORE_SHAPE,
)
from flagc.targets.ascend.emission.scalars import Scalar, constant_of
from flagc.targets.ascend.emission.tiles import Tile, Tiles

# Conversions by the element that is stored (AscendC QuantMode_t: NoQuant, F322F16, F322BF16).
_CONVERT = {"f32": 0, "i32": 0, "f16": 1, "bf16": 16}
# Bits of CTRL that say that stores are atomic, and of which type (6 to 8: f32 1, f16 2, i32 4,
# bf16 6); 9 and 10, which say what is done, stay 0: add. CCE intrinsics set_atomic_*.
ATOMIC_BITS = {"f32": (6,), "f16": (7,), "i32": (8,), "bf16": (7, 8)}
# Products of fewer fractals than this on one accumulator must not follow each other without a
# barrier (AscendC Mmad, "PipeBarrier<PIPE_M>"; catlass).
_SETTLED_FRACTALS = 10
_WIDE = 32  # columns that bytes are turned in (moves._squares)


class Products:
    """Emission of mad and fixpipe."""

    def __init__(self, code: Code, tiles: Tiles) -> None:
        self._code = code
        self._scalars = code.scalars
        self._tiles = tiles

    def mad(self, view: StagedOp) -> None:
        """c = a*b + (init ? bias or 0 : c)."""
        scalars, code = self._scalars, self._code
        a, b, c = (self._tiles.of(view.operand(name)) for name in "abc")
        for name, size in (("m", c.type.rows), ("k", a.type.columns), ("n", c.type.columns)):
            require(view.op, a.type if name == "k" else c.type, PRODUCT, name, size)
        # Whole fractals of m, as the library does it: with m = 1, L0A would be taken for a row
        # vector (AscendC Mmad, GEMV).
        m = scalars.round_up(scalars.limit(view.operand("m"), c.type.rows), FRACTAL_ROWS)
        k = scalars.limit(view.operand("k"), a.type.columns)
        n = scalars.limit(view.operand("n"), c.type.columns)
        if b.type.element == "i8" and not b.loaded_transposed:
            n = scalars.round_up(n, _WIDE)
        self._note_row_stride(c, m)
        init = scalars.extended(view.operand("init"))
        bias = view.has("bias")
        with scalars.positive(m, k, n):
            accumulator = c.address
            if bias:
                table = self._tiles.of(view.operand("bias"))
                start = scalars.multiply(init, table.address)
                accumulator = code.word(ACCUMULATOR, address=c.address, bias=start)
            word = code.word(
                PRODUCT,
                m=m,
                k=k,
                n=n,
                unit_flag=view.integer("unit_flag"),
                k_aligned=int(a.type.element == "f32" and a.loaded_transposed),
                from_bias=init if bias else 0,
                from_zero=0 if bias else init,
            )
            code.call(f"mad_{a.type.element}", accumulator, a.address, b.address, word)
            if self._may_follow(c, view.op):
                self._settle(m, n)

    def _note_row_stride(self, c: Tile, m: Scalar) -> None:
        """Remember what MAD rounds L0C's rows to, for the fixpipe that reads them."""
        if c.row_stride is None:
            limits = {constant_of(user.operand("m")) for user in c.users if user.name == "mad"}
            same = len(limits) == 1 and isinstance(m, int)
            c.row_stride = m if same else self._scalars.variable(c.type.rows)
        if not isinstance(c.row_stride, int):
            self._scalars.store(c.row_stride, m)

    @staticmethod
    def _may_follow(c: Tile, mad: Operation) -> bool:
        """Whether another product can come to the same accumulator before anything else does."""
        products = [user for user in c.users if user.name == "mad"]
        return len(products) > 1 or mad.block != c.alloc.block

    def _settle(self, m: Scalar, n: Scalar) -> None:
        """A barrier after small products."""
        scalars = self._scalars
        fractals = scalars.multiply(
            scalars.divide_up(m, FRACTAL_ROWS), scalars.divide_up(n, FRACTAL_ROWS)
        )
        if isinstance(fractals, int):
            if fractals < _SETTLED_FRACTALS:
                self._code.barrier("M")
            return
        with scalars.when(scalars.compare("ult", fractals, _SETTLED_FRACTALS)):
            self._code.barrier("M")

    def fixpipe(self, view: StagedOp) -> None:
        """Accumulators, converted, to rows of global memory."""
        scalars = self._scalars
        source = self._tiles.of(view.operand("source"))
        require(view.op, source.type, STORE_SHAPE, "n", source.type.columns)
        pointer = PointerType.of(view.operand("base"))
        assert pointer is not None
        element = pointer.pointee
        m = scalars.limit(view.operand("m"), source.type.rows)
        n = scalars.limit(view.operand("n"), source.type.columns)
        offset = scalars.extended(view.operand("offset"))
        with scalars.positive(m, n):
            start = scalars.multiply(offset, element_bits(element) // 8)
            target = scalars.add(view.operand("base"), start)
            stride = scalars.extended(view.operand("row_stride"))
            atomic = ATOMIC_BITS[element] if view.text("atomic") else ()
            self.set_control(atomic, enable=True)
            self.store(view, source, target, stride, (m, n), element)
            self.set_control(atomic, enable=False)

    def store(
        self,
        view: StagedOp,
        source: Tile,
        target: Scalar,
        stride: Scalar,
        size: tuple[Scalar, Scalar],
        element: str,
    ) -> None:
        """Move `size` rows and columns, both above 0, to rows of `element` at an address."""
        code = self._code
        m, n = size
        shape = code.word(STORE_SHAPE, n=n, m=m, target_stride=stride)
        options = code.word(
            STORE_OPTIONS,
            source_stride=self._row_stride(source),
            unit_flag=view.integer("unit_flag"),
            convert=_CONVERT[element],
            relu=int(view.flag("relu")),
            rows=1,
        )
        code.call("set_matrices", code.word(MATRICES, count=1, source_stride=1, target_stride=1))
        code.call(f"store_{element}", target, source.address, shape, options)

    def _row_stride(self, source: Tile) -> Scalar:
        if source.row_stride is None:
            return source.type.rows
        if isinstance(source.row_stride, int):
            return source.row_stride
        return self._scalars.load(source.row_stride)

    def set_control(self, bits: tuple[int, ...], *, enable: bool) -> None:
        """Set or clear bits of the register CTRL."""
        for bit in bits:
            self._code.hivm("set_ctrl", enable=str(enable).lower(), idx=f"{bit} : i64")
