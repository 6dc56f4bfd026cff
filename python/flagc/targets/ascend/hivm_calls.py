"""The hivm ops that are left in hivmc's input, as calls of AI Core instructions.

Signatures of the calls, all operands i64 (`pipe` numbers: S 0, V 1, M 2, MTE1 3, MTE2 4, MTE3 5,
ALL 6, FIX 10; `core`: CUBE 1, VECTOR 2, CUBE_AND_VECTOR 3):

    hivm.SET.FLAG.IMM(set pipe, wait pipe, event)      event known at compile time, as the library
    hivm.WAIT.FLAG.IMM(set pipe, wait pipe, event)     itself uses them; .REG when it is computed
    hivm.BARRIER(pipe)
    hivm.GET.BLOCK.IDX() -> i64, hivm.GET.SUBBLOCKID() -> i64, hivm.GET.SUBBLOCKDIM() -> i64
    hivm.GET.CTRL() -> i64, hivm.SET.CTRL(value)       also for set_mask_norm (clears bit 56)
    hivm.SET.FFTS.BASE.ADDR(address)
    hivm.SYNC.BLOCK.SET(core, data pipe, wait pipe, flag)    names of ours: the libraries have none
    hivm.SYNC.BLOCK.WAIT(core, data pipe, wait pipe, flag)   for the cross-core flags
    hivm.SYNC.SUBBLOCK.SET, hivm.SYNC.GRID.SET         flags among the AIVs of a block, among all
                                                       cores of one kind
    hivm.SYNC.SUBBLOCK.ALL(core, mode, flag)           sync_block: `core` waits for all that `mode`
    hivm.SYNC.GRID.ALL(core, mode, flag)               names (SyncMode of the emulator's core.h)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flagc.errors import KernelError
from flagc.targets.ascend.generic_ir import bindings, properties, source_line

PIPES = {
    **{"PIPE_S": 0, "PIPE_V": 1, "PIPE_M": 2, "PIPE_MTE1": 3, "PIPE_MTE2": 4, "PIPE_MTE3": 5},
    **{"PIPE_ALL": 6, "PIPE_FIX": 10},
}
CORES = {"CUBE": 1, "VECTOR": 2, "CUBE_AND_VECTOR": 3}
# What a cross-core flag connects, by the op's instruction mode.
SYNC_NAMES = {
    "INTRA_BLOCK_SYNCHRONIZATION": "BLOCK",
    "INTER_SUBBLOCK_SYNCHRONIZATION": "SUBBLOCK",
    "INTER_BLOCK_SYNCHRONIZATION": "GRID",
}
# sync_block by its mode: the instruction, the cores that it is for, and its second operand.
SYNC_BLOCKS = {
    "ALL_CUBE": ("GRID", CORES["CUBE"], 0),
    "ALL_VECTOR": ("GRID", CORES["VECTOR"], 0),
    "ALL_SUB_VECTOR": ("SUBBLOCK", CORES["VECTOR"], 1),
    "ALL": ("GRID", CORES["CUBE_AND_VECTOR"], 3),
}
# Bit of CTRL: 1 is count mode, 0 is mask mode ("norm").
COUNT_MODE_BIT = 56


class LoweringError(KernelError):
    """The final module holds something that has no lowering here; names the op and its line."""


class HivmCalls:
    """Replaces hivm ops one by one; declares the called instructions on first use."""

    def __init__(self, module: Any) -> None:
        self.ir = bindings()
        self.module = module
        self.i64 = self.ir.IntegerType.get_signless(64)
        self.declared: set[str] = set()
        self.rules: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
            "pointer_cast": self._pointer_cast,
            "bitcast": self._bitcast,
            "set_flag": lambda op, given: self._flag("SET", op, given),
            "wait_flag": lambda op, given: self._flag("WAIT", op, given),
            "pipe_barrier": lambda op, given: self._call("BARRIER", [_pipe(given["pipe"])]),
            "get_block_idx": lambda op, given: self._call("GET.BLOCK.IDX", [], result=True),
            "get_block_num": lambda op, given: self._call("GET.BLOCK.NUM", [], result=True),
            "get_sub_block_idx": lambda op, given: self._call("GET.SUBBLOCKID", [], result=True),
            "get_sub_block_num": lambda op, given: self._call("GET.SUBBLOCKDIM", [], result=True),
            "set_ffts_base_addr": lambda op, given: self._call(
                "SET.FFTS.BASE.ADDR", [op.operands[0]]
            ),
            "sync_block_set": lambda op, given: self._sync("SET", op, given),
            "sync_block_wait": lambda op, given: self._sync("WAIT", op, given),
            "sync_block": self._sync_all,
            "set_mask_norm": lambda op, given: self._control(COUNT_MODE_BIT, enable=False),
            "set_ctrl": lambda op, given: self._control(
                given["idx"].value, enable=bool(given["enable"].value)
            ),
        }

    def replace(self, operation: Any) -> None:
        """Replace one hivm op, or raise LoweringError."""
        rule = self.rules.get(operation.name.removeprefix("hivm.hir."))
        if rule is None:
            raise LoweringError(
                f"{source_line(operation)}: {operation.name} is left in the final module and has "
                "no lowering to LLVM in flagc"
            )
        point = self.ir.InsertionPoint(operation)
        with point, operation.location:
            result = rule(operation, properties(operation))
        if len(operation.results):
            operation.results[0].replace_all_uses_with(result)
        operation.erase()

    def bare_pointers(self, function: Any) -> None:
        """Turn the memref arguments of a kernel into pointers to global memory."""
        ir = self.ir
        block = function.operation.regions[0].blocks[0]
        types = []
        for argument in block.arguments:
            if isinstance(argument.type, ir.MemRefType):
                memref = argument.type
                argument.set_type(_pointer(memref))
                with ir.InsertionPoint.at_block_begin(block), function.operation.location:
                    view = self._descriptor(argument, memref, [])
                self._replace_uses(argument, view)
            types.append(argument.type)
        signature = ir.FunctionType.get(types, [])
        function.operation.attributes["function_type"] = ir.TypeAttr.get(signature)

    @staticmethod
    def _replace_uses(argument: Any, view: Any) -> None:
        """Let all users of `argument` use `view`, except those that build the view."""
        for use in list(argument.uses):
            if use.owner.name != "llvm.insertvalue":
                use.owner.operands[use.operand_number] = view

    def note_line(self, operation: Any, line: int) -> None:
        """Call `hivm.LINE` with the kernel's source line before `operation`."""
        with self.ir.InsertionPoint(operation), operation.location:
            self._call("LINE", [line])

    def _call(self, name: str, operands: list[Any], *, result: bool = False) -> Any:
        """Call instruction `hivm.<name>`; Python integers become constants."""
        values = [self._constant(entry) if isinstance(entry, int) else entry for entry in operands]
        symbol = f"hivm.{name}"
        results = [self.i64] if result else []
        if symbol not in self.declared:
            self.declared.add(symbol)
            self._declare(symbol, [value.type for value in values], results)
        callee = self.ir.FlatSymbolRefAttr.get(symbol)
        call = self.ir.Operation.create(
            "func.call", results=results, operands=values, attributes={"callee": callee}
        )
        return call.results[0] if result else None

    def _declare(self, symbol: str, inputs: list[Any], results: list[Any]) -> None:
        ir = self.ir
        with ir.InsertionPoint.at_block_begin(self.module.body), ir.Location.unknown():
            ir.Operation.create(
                "func.func",
                regions=1,
                attributes={
                    "sym_name": ir.StringAttr.get(symbol),
                    "sym_visibility": ir.StringAttr.get("private"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, results)),
                },
            )

    def _constant(self, value: int) -> Any:
        attribute = self.ir.IntegerAttr.get(self.i64, value)
        constant = self.ir.Operation.create(
            "arith.constant", results=[self.i64], attributes={"value": attribute}
        )
        return constant.results[0]

    def _binary(self, name: str, left: Any, right: Any) -> Any:
        return self.ir.Operation.create(name, results=[self.i64], operands=[left, right]).results[0]

    def _flag(self, kind: str, operation: Any, given: dict[str, Any]) -> None:
        pipes = [_pipe(given["set_pipe"]), _pipe(given["wait_pipe"])]
        if "static_event_id" in given:
            event = int(str(given["static_event_id"]).partition("EVENT_ID")[2].rstrip(">"))
            self._call(f"{kind}.FLAG.IMM", [*pipes, event])
        else:
            self._call(f"{kind}.FLAG.REG", [*pipes, operation.operands[0]])

    def _sync(self, kind: str, operation: Any, given: dict[str, Any]) -> None:
        core = CORES[_enum(given["tcore_type"])]
        segments = given.get("operandSegmentSizes")
        dynamic = len(operation.operands) > 0 and (segments is None or segments[0] > 0)
        flag = given["static_flag_id"].value if "static_flag_id" in given else None
        if flag is None and not dynamic:
            raise LoweringError(f"{source_line(operation)}: {operation.name} names no flag")
        pipes = [_pipe(given["tpipe"]), _pipe(given["pipe"])]
        mode = given.get("tsync_instr_mode")
        connects = "BLOCK" if mode is None or kind == "WAIT" else SYNC_NAMES[_enum(mode)]
        self._call(
            f"SYNC.{connects}.{kind}",
            [core, *pipes, operation.operands[0] if flag is None else flag],
        )

    def _sync_all(self, operation: Any, given: dict[str, Any]) -> None:
        mode = _enum(given["sync_block_mode"])
        if mode.startswith("BARRIER"):
            self._call("BARRIER", [PIPES["PIPE_ALL"]])
            return
        if "flag_id" not in given:
            raise LoweringError(f"{source_line(operation)}: {operation.name} names no flag")
        connects, core, number = SYNC_BLOCKS[mode]
        self._call(f"SYNC.{connects}.ALL", [core, number, given["flag_id"].value])

    def _control(self, bit: int, *, enable: bool) -> None:
        value = self._call("GET.CTRL", [], result=True)
        mask = self._constant(1 << bit if enable else ~(1 << bit))
        self._call("SET.CTRL", [self._binary("arith.ori" if enable else "arith.andi", value, mask)])

    def _pointer_cast(self, operation: Any, given: dict[str, Any]) -> Any:
        addresses = given["operandSegmentSizes"][0]
        if addresses != 1:
            raise LoweringError(
                f"{source_line(operation)}: {operation.name} with {addresses} addresses; the final "
                "module should have one buffer each"
            )
        memref = self.ir.MemRefType(operation.results[0].type)
        pointer = self.ir.Operation.create(
            "llvm.inttoptr", results=[_pointer(memref)], operands=[operation.operands[0]]
        ).results[0]
        return self._descriptor(pointer, memref, list(operation.operands)[1:])

    def _bitcast(self, operation: Any, given: dict[str, Any]) -> Any:
        """The same buffer as another element type of the same size: the same LLVM descriptor."""
        source = operation.operands[0]
        rank, space = source.type.rank, self.ir.IntegerAttr(source.type.memory_space).value
        struct = _descriptor_type(rank, space)
        descriptor = self._cast(source, struct)
        return self._cast(descriptor, operation.results[0].type)

    def _cast(self, value: Any, kind: Any) -> Any:
        """An unrealized cast, which the lowering of memrefs resolves."""
        return self.ir.Operation.create(
            "builtin.unrealized_conversion_cast", results=[kind], operands=[value]
        ).results[0]

    def _descriptor(self, pointer: Any, memref: Any, dynamic_sizes: list[Any]) -> Any:
        """A memref of type `memref` that starts at `pointer`."""
        ir = self.ir
        rank = memref.rank
        struct = _descriptor_type(rank, ir.IntegerAttr(memref.memory_space).value)
        value = ir.Operation.create("llvm.mlir.undef", results=[struct]).results[0]
        strides, offset = memref.get_strides_and_offset()
        sizes = self._sizes(memref, dynamic_sizes)
        open_ended = ir.ShapedType.get_dynamic_stride_or_offset()
        fields: list[tuple[list[int], Any]] = [([0], pointer), ([1], pointer)]
        fields.append(([2], self._constant(0 if offset == open_ended else offset)))
        running: Any = self._constant(1)
        for axis in range(rank - 1, -1, -1):
            if strides[axis] != open_ended:
                running = self._constant(strides[axis])
            fields.append(([3, axis], sizes[axis]))
            fields.append(([4, axis], running))
            if axis:
                running = self._binary("arith.muli", running, sizes[axis])
        for position, field in fields:
            value = ir.Operation.create(
                "llvm.insertvalue",
                results=[struct],
                operands=[value, field],
                attributes={"position": ir.DenseI64ArrayAttr.get(position)},
            ).results[0]
        return self._cast(value, memref)

    def _sizes(self, memref: Any, dynamic_sizes: list[Any]) -> list[Any]:
        """Sizes as i64 values; an unknown size (a kernel's `memref<?>`) is the largest i64."""
        ir = self.ir
        pending = list(dynamic_sizes)
        result = []
        for axis in range(memref.rank):
            if not memref.is_dynamic_dim(axis):
                result.append(self._constant(memref.get_dim_size(axis)))
            elif pending:
                index = pending.pop(0)
                result.append(
                    ir.Operation.create(
                        "arith.index_cast", results=[self.i64], operands=[index]
                    ).results[0]
                )
            else:
                result.append(self._constant((1 << 63) - 1))
        return result


def _descriptor_type(rank: int, space: int) -> Any:
    """The LLVM struct that a memref of this rank and memory space becomes."""
    array = f", array<{rank} x i64>, array<{rank} x i64>" if rank else ""
    return bindings().Type.parse(f"!llvm.struct<(ptr<{space}>, ptr<{space}>, i64{array})>")


def _pointer(memref: Any) -> Any:
    """The LLVM pointer type for the memory space of `memref`."""
    ir = bindings()
    return ir.Type.parse(f"!llvm.ptr<{ir.IntegerAttr(memref.memory_space).value}>")


def _enum(attribute: Any) -> str:
    """`PIPE_V` from `#hivm.pipe<PIPE_V>`."""
    return str(attribute).partition("<")[2].rstrip(">")


def _pipe(attribute: Any) -> int:
    return PIPES[_enum(attribute)]
