"""A small interpreter of TTIR: runs a kernel on numpy arrays, program by program.

    run(module, [array, array, 7], grid=(4,))       # arrays are read and written in place

Pointers are addresses in one memory in which every array lies with a gap around it, so that an
access outside the arrays is caught (`OutOfBounds`) and pointers may be chosen, cast and compared.
Lanes of a masked load without `other` hold `UNDEFINED`.
"""

import itertools

import numpy as np

from flagc.ir.module import Module
from flagc.ir.types import PointerType, TensorType, element_of
from support import ttir_arithmetic as arithmetic
from support.ttir_arithmetic import dtype_of

UNDEFINED = 77
_GAP = 1 << 20


class OutOfBounds(AssertionError):
    """An access to memory that no array owns."""


class Memory:
    """The arrays of one run, at addresses."""

    def __init__(self):
        self._arrays = []
        self._next = _GAP

    def add(self, array):
        """Place `array`, which must be contiguous, and return its address."""
        assert array.flags.c_contiguous
        address = self._next
        self._arrays.append((address, array.reshape(-1).view(np.uint8)))
        self._next += (array.nbytes // _GAP + 2) * _GAP
        return address

    def load(self, address, dtype):
        return self._bytes(address, dtype.itemsize).view(dtype)[0]

    def store(self, address, value):
        bits = np.frombuffer(value.tobytes(), np.uint8)
        self._bytes(address, bits.size)[:] = bits

    def _bytes(self, address, size):
        for start, data in self._arrays:
            if start <= address and address + size <= start + data.size:
                return data[address - start : address - start + size]
        raise OutOfBounds(f"access to {size} bytes at {address}")


def run(module: Module, arguments, grid=(1,), kind=None):
    """Run the module's only kernel for every program of `grid`, axis 0 first.

    `kind` is a class of programs that know more ops.
    """
    (function,) = module.functions()
    memory = Memory()
    grid = (*grid, 1, 1)[:3]
    block = function.regions[0].blocks[0]
    placed = [
        np.asarray(memory.add(value), np.int64)
        if isinstance(value, np.ndarray)
        else np.asarray(value, dtype_of(block.arguments[i].type))
        for i, value in enumerate(arguments)
    ]
    with np.errstate(all="ignore"):
        for z, y, x in itertools.product(*(range(size) for size in reversed(grid))):
            program = (kind or Program)(memory, (x, y, z), grid)
            program.run_region(function.regions[0], placed)


class Program:
    """One program instance. `handlers` gives what runs an op that is no arithmetic, by its name."""

    handlers: dict

    def __init__(self, memory, program, grid):
        self.memory = memory
        self.program = program
        self.grid = grid
        self.values = {}

    def run_region(self, region, arguments):
        """Run the region from its first block and return its terminator and what that yields."""
        block = region.blocks[0]
        while True:
            self.values.update(zip(block.arguments, arguments, strict=True))
            for op in (child.operation for child in block.operations):
                last = op
                if op.name in _TERMINATORS:
                    break
                self._run(op)
            inputs = self._inputs(last)
            if last.name == "cf.br":
                block, arguments = last.successors[0], inputs
            elif last.name == "cf.cond_br":
                sizes = list(last.attributes["operandSegmentSizes"])
                taken = 0 if inputs[0] else 1
                start = 1 + (sizes[1] if taken else 0)
                arguments = inputs[start : start + sizes[1 + taken]]
                block = last.successors[taken]
            else:
                return last, inputs

    def _inputs(self, op):
        return [self.values[operand] for operand in op.operands]

    def _run(self, op):
        inputs = self._inputs(op)
        handler = self.handlers.get(op.name)
        if handler is not None:
            outputs = handler(self, op, inputs)
        else:
            outputs = [arithmetic.evaluate(op, inputs)]
        for result, output in zip(op.results, outputs, strict=True):
            self.values[result] = self.checked(op, result, output)

    def checked(self, op, result, output):
        """Return what `result` is to be; its type must be right."""
        tensor = TensorType.of(result)
        value = np.asarray(output)
        assert value.dtype == dtype_of(result.type), (op.name, value.dtype, result.type)
        assert value.shape == (tensor.shape if tensor else ()), (op.name, value.shape)
        return value

    def load(self, op, inputs):
        sizes = list(op.attributes["operandSegmentSizes"])
        addresses = inputs[0]
        mask = np.broadcast_to(inputs[1] if sizes[1] else True, addresses.shape)
        dtype = dtype_of(op.results[0].type)
        result = np.full(addresses.shape, UNDEFINED, dtype)
        if sizes[2]:
            result[...] = inputs[2]
        for index in np.ndindex(addresses.shape):
            if mask[index]:
                result[index] = self.memory.load(int(addresses[index]), dtype)
        return [result]

    def store(self, op, inputs):
        mask = np.broadcast_to(inputs[2] if len(inputs) > 2 else True, inputs[0].shape)
        for index in np.ndindex(inputs[0].shape):
            if mask[index]:
                self.memory.store(int(inputs[0][index]), inputs[1][index])
        return []

    def atomic_add(self, op, inputs):
        assert op.attributes["atomic_rmw_op"].value == 4, "only integer addition"
        address, number, mask = inputs
        assert mask
        before = self.memory.load(address, number.dtype)
        self.memory.store(address, np.asarray(before + number))
        return [np.asarray(before)]

    def scf_for(self, op, inputs):
        low, high, step = (int(bound) for bound in inputs[:3])
        carried = inputs[3:]
        kind = op.regions[0].blocks[0].arguments[0].type
        for number in range(low, high, step):
            induction = np.asarray(number, dtype_of(kind))
            _, carried = self.run_region(op.regions[0], [induction, *carried])
        return carried

    def scf_if(self, op, inputs):
        region = op.regions[0 if inputs[0] else 1]
        if len(region.blocks) == 0:
            return []
        return self.run_region(region, [])[1]

    def scf_while(self, op, inputs):
        carried = inputs
        while True:
            _, (proceed, *passed) = self.run_region(op.regions[0], carried)
            if not proceed:
                return passed
            _, carried = self.run_region(op.regions[1], passed)

    def reduce(self, op, inputs):
        axis = op.attributes["axis"].value
        lanes = [np.moveaxis(value, axis, 0) for value in inputs]
        total = [lane[0] for lane in lanes]
        for i in range(1, len(lanes[0])):
            total = self._combine(op, total, [lane[i] for lane in lanes])
        return total

    def scan(self, op, inputs):
        axis = op.attributes["axis"].value
        backwards = op.attributes["reverse"].value
        lanes = [np.moveaxis(value, axis, 0)[:: -1 if backwards else 1] for value in inputs]
        steps = [[lane[0] for lane in lanes]]
        for i in range(1, len(lanes[0])):
            steps.append(self._combine(op, steps[-1], [lane[i] for lane in lanes]))
        stacked = [np.stack(list(values)) for values in zip(*steps, strict=True)]
        return [np.moveaxis(value[:: -1 if backwards else 1], 0, axis) for value in stacked]

    def _combine(self, op, left, right):
        """Run the combine region on scalars, element by element."""
        results = [np.empty_like(value) for value in left]
        for index in np.ndindex(left[0].shape):
            arguments = [np.asarray(value[index]) for value in (*left, *right)]
            _, outputs = self.run_region(op.regions[0], arguments)
            for result, output in zip(results, outputs, strict=True):
                result[index] = output
        return results

    def split(self, op, inputs):
        return [inputs[0][..., 0], inputs[0][..., 1]]

    def addptr(self, op, inputs):
        pointee = PointerType.of(element_of(op.results[0]))
        size = dtype_of(pointee.pointee).itemsize
        return [inputs[0] + inputs[1].astype(np.int64) * size]


_TERMINATORS = frozenset(
    {"tt.return", "tt.reduce.return", "tt.scan.return", "scf.yield", "scf.condition",
     "cf.br", "cf.cond_br"}
)  # fmt: skip
_HANDLERS = {
    "tt.load": Program.load,
    "tt.store": Program.store,
    "tt.addptr": Program.addptr,
    "tt.split": Program.split,
    "tt.atomic_rmw": Program.atomic_add,
    "gpu.barrier": lambda self, op, _: [],
    "ttg.barrier": lambda self, op, _: [],
    "tt.reduce": Program.reduce,
    "tt.scan": Program.scan,
    "scf.for": Program.scf_for,
    "scf.if": Program.scf_if,
    "scf.while": Program.scf_while,
    "tt.get_program_id": lambda self, op, _: [
        np.asarray(self.program[op.attributes["axis"].value], np.int32)
    ],
    "tt.get_num_programs": lambda self, op, _: [
        np.asarray(self.grid[op.attributes["axis"].value], np.int32)
    ],
}
Program.handlers = _HANDLERS
