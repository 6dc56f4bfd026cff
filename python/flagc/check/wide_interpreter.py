"""Triton's interpreter with floating point in float64 and with its eyes open.

Types keep their names (`fp16`, ...), so promotions and branches on types are those of the compiled
kernel; the values of all float types are float64, and casts between float types do nothing. What a
kernel loses by an fp16 accumulator or a careless cast is therefore not lost here. A kernel that
looks at the bits of floats cannot be run so: `NotInFloat64`.

Works on `triton.runtime.interpreter` of Triton 3.6 to 3.9, by replacing its builder and its table
of numpy types. Only for a process that does nothing else.
"""

# ruff: noqa: D102 - each method is the interpreter's of that name

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

from flagc.check.shadow import FLOATS, Memory, NotInFloat64

_NARROW = 32  # bits: types below are the ones whose rounding is worth noting
_ORDERS = ("min", "max")  # combine functions whose result is one of the operands


def _is_float(dtype: Any) -> bool:
    return bool(dtype.scalar.is_floating())


class WatchingBuilder(interpreter.InterpreterBuilder):  # type: ignore[misc]
    """The interpreter's builder on a `Memory`; in the kernel's own types.

    Attributes:
        terms: how many terms the current program has summed so far, at most, in one element.
        terms_stored: by storage name, the most terms before a store to it.
        unfilled: loads that read masked lanes without `other`.
        tails: of those, (load, dimension) with the first lane from which all are masked.
        poisoned: what of such lanes holds NaN instead of zero: all, or those of one of `tails`.
    """

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory
        self.terms = 0
        self.terms_stored: dict[str, int] = {}
        self.unfilled: set[str] = set()
        self.tails: dict[tuple[str, int], int] = {}
        self.poisoned: tuple[str, int] | bool = False
        self.roundings: set[tuple[str, str]] = set()
        self.program = 0

    def set_grid_idx(self, x: int, y: int, z: int) -> None:
        super().set_grid_idx(x, y, z)
        self.program = x + self.grid_dim[0] * (y + self.grid_dim[1] * z)
        self.terms = 0

    def create_masked_load(self, ptrs: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:
        if other is None and not mask.data.all():
            self._note_unfilled(mask)
        return super().create_masked_load(ptrs, mask, other, *rest, **named)

    def create_masked_store(self, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
        for storage, _, indices in self.memory.parts(ptrs.data[mask.data]):
            self._stored(storage, indices)
        return super().create_masked_store(ptrs, value, mask, *rest)

    def create_atomic_rmw(
        self, operation: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any
    ) -> Any:
        for storage, _, indices in self.memory.parts(ptr.data[mask.data]):
            self._stored(storage, indices)
            if operation in (interpreter._ir.ATOMIC_OP.FADD, interpreter._ir.ATOMIC_OP.ADD):
                np.add.at(storage.additions, indices, 1)
        return super().create_atomic_rmw(operation, ptr, val, mask, sem, scope)

    def create_dot(self, a: Any, b: Any, d: Any, *rest: Any) -> Any:
        self.terms += a.data.shape[-1]
        return super().create_dot(a, b, d, *rest)

    def create_fadd(self, lhs: Any, rhs: Any) -> Any:
        self.terms += 1
        return self.binary_op(lhs, rhs, np.add)

    def reduced(self, operation: Any, values: Any) -> None:
        """Note a reduction or scan of `values` (a tensor or a tuple of them)."""
        first = values[0] if isinstance(values, tuple) else values
        name = getattr(operation.combine_fn, "__name__", "")
        if first.dtype.is_floating() and not any(order in name for order in _ORDERS):
            shape = first.handle.data.shape
            self.terms += shape[operation.axis] if operation.axis is not None else first.numel.value

    def _stored(self, storage: Any, indices: np.ndarray) -> None:
        storage.stored_by[indices] = self.program
        known = self.terms_stored.get(storage.name, 0)
        self.terms_stored[storage.name] = max(known, self.terms)

    def _note_unfilled(self, mask: Any) -> str:
        """Note a load with masked lanes, in which dimensions they are a tail, and where it is."""
        frame = kernel_frame()
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        self.unfilled.add(place)
        for dimension in range(mask.data.ndim):
            first = tail_of(mask.data, dimension)
            if first is not None:
                known = self.tails.get((place, dimension), first)
                self.tails[place, dimension] = min(known, first)
        return place

    def _poison(self, mask: Any) -> Any:
        """Note a load without `other`, and return the masked lanes that are to hold NaN."""
        place = self._note_unfilled(mask)
        if isinstance(self.poisoned, bool):
            return ~mask.data if self.poisoned else np.zeros_like(mask.data)
        poison = np.zeros_like(mask.data)
        if self.poisoned[0] == place:
            first = tail_of(mask.data, self.poisoned[1])
            if first is not None:
                np.moveaxis(poison, self.poisoned[1], 0)[first:] = True
        return poison


class WideBuilder(WatchingBuilder):
    """The builder with floats in float64."""

    # Memory

    def create_masked_load(self, ptrs: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:
        dtype = ptrs.get_element_ty()
        active = np.broadcast_to(mask.data, ptrs.data.shape)
        addresses = ptrs.data[active]
        if not _is_float(dtype):
            for storage, _, _ in self.memory.parts(addresses):
                if storage.values is not None:
                    raise NotInFloat64(f"'{storage.name}' is read as {dtype}")
            return super().create_masked_load(ptrs, mask, other, *rest, **named)
        result = np.zeros(ptrs.data.shape, dtype=np.float64)
        if other is not None:
            result[...] = other.data
        elif not active.all():
            result[self._poison(mask)] = np.nan
        loaded = np.empty(addresses.shape, dtype=np.float64)
        for storage, which, indices in self.memory.float_parts(addresses, dtype.name):
            assert storage.values is not None
            loaded[which] = storage.values[indices]
        result[active] = loaded
        return interpreter.TensorHandle(result, dtype)

    def create_masked_store(self, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
        dtype = ptrs.get_element_ty()
        active = np.broadcast_to(mask.data, ptrs.data.shape)
        addresses = ptrs.data[active]
        if not _is_float(dtype):
            for storage, _, _ in self.memory.parts(addresses):
                if storage.values is not None:
                    raise NotInFloat64(f"'{storage.name}' is written as {dtype}")
            return super().create_masked_store(ptrs, value, mask, *rest)
        values = np.broadcast_to(value.data, ptrs.data.shape)[active]
        for storage, which, indices in self.memory.float_parts(addresses, dtype.name):
            assert storage.values is not None
            storage.values[indices] = values[which]
            self._stored(storage, indices)
        return None

    def create_atomic_rmw(
        self, operation: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any
    ) -> Any:
        dtype = ptr.get_element_ty()
        if not _is_float(dtype):
            for storage, _, _ in self.memory.parts(ptr.data[mask.data]):
                if storage.values is not None:
                    raise NotInFloat64(f"'{storage.name}' is updated as {dtype}")
            return super().create_atomic_rmw(operation, ptr, val, mask, sem, scope)
        operations = interpreter._ir.ATOMIC_OP
        if operation not in (operations.FADD, operations.XCHG):
            raise NotInFloat64(f"an atomic operation ({operation}) on the bits of floats")
        active = np.broadcast_to(mask.data, ptr.data.shape)
        values = np.broadcast_to(val.data, ptr.data.shape)[active]
        before = np.zeros(ptr.data.shape, dtype=np.float64)
        old = np.zeros(values.shape, dtype=np.float64)
        for storage, which, indices in self.memory.float_parts(ptr.data[active], dtype.name):
            assert storage.values is not None
            old[which] = storage.values[indices]
            if operation == operations.FADD:
                np.add.at(storage.values, indices, values[which])
                np.add.at(storage.additions, indices, 1)
            else:
                storage.values[indices] = values[which]
            self._stored(storage, indices)
        before[active] = old
        return interpreter.TensorHandle(before, dtype)

    def create_atomic_cas(self, ptr: Any, cmp: Any, val: Any, sem: Any, scope: Any) -> Any:
        if _is_float(ptr.get_element_ty()):
            raise NotInFloat64("an atomic compare-and-swap on floats")
        return super().create_atomic_cas(ptr, cmp, val, sem, scope)

    # Types

    def _constant(self, value: float, dtype: Any) -> Any:
        return interpreter.TensorHandle(np.array([value], dtype=np.float64), dtype)

    def get_fp16(self, value: float) -> Any:
        return self._constant(value, tl.float16)

    def get_bf16(self, value: float) -> Any:
        return self._constant(value, tl.bfloat16)

    def get_fp32(self, value: float) -> Any:
        return self._constant(value, tl.float32)

    def cast_impl(self, src: Any, dst_type: Any) -> Any:
        data = src.data.astype(interpreter._get_np_dtype(dst_type))
        return interpreter.TensorHandle(data, dst_type.scalar)

    def create_fp_to_fp(self, src: Any, dst_type: Any, rounding_mode: Any) -> Any:
        return self.cast_impl(src, dst_type)

    def create_bitcast(self, src: Any, dst_type: Any) -> Any:
        source, target = src.dtype.scalar, dst_type.scalar
        if source != target and (source.is_floating() or target.is_floating()):
            raise NotInFloat64(f"a bitcast from {source} to {target}")
        return super().create_bitcast(src, dst_type)

    # Arithmetic

    def create_dot(self, a: Any, b: Any, d: Any, *rest: Any) -> Any:
        self.terms += a.data.shape[-1]
        for operand in (a, b):
            dtype = operand.dtype.scalar
            if dtype.is_floating() and dtype.primitive_bitwidth < _NARROW:
                values = torch.from_numpy(np.ascontiguousarray(operand.data))
                if not torch.equal(values.to(FLOATS[dtype.name]).double(), values):
                    self._note_rounding(dtype.name)
        if d.dtype.scalar.is_floating():
            return interpreter.TensorHandle(np.matmul(a.data, b.data) + d.data, d.dtype.scalar)
        product = np.matmul(a.data, b.data, dtype=d.data.dtype)
        return interpreter.TensorHandle(product + d.data, d.dtype.scalar)

    def create_dot_scaled(self, *arguments: Any) -> Any:
        raise NotInFloat64("a dot_scaled, whose operands are packed bits")

    def binary_op(self, lhs: Any, rhs: Any, op: Any) -> Any:
        if op in (np.add, np.subtract, np.multiply, np.divide):
            dtype = lhs.dtype.scalar
            if dtype.is_floating() and dtype.primitive_bitwidth < _NARROW:
                self._note_rounding(dtype.name)
        return super().binary_op(lhs, rhs, op)

    def create_fabs(self, arg: Any) -> Any:
        return self.unary_op(arg, np.abs)

    def create_minnumf(self, lhs: Any, rhs: Any) -> Any:
        return self.binary_op(lhs, rhs, np.fmin)

    def create_maxnumf(self, lhs: Any, rhs: Any) -> Any:
        return self.binary_op(lhs, rhs, np.fmax)

    def create_erf(self, arg: Any) -> Any:
        return self.unary_op(arg, interpreter.np_erf_fp64)

    def _note_rounding(self, dtype: str) -> None:
        frame = kernel_frame()
        self.roundings.add((dtype, f"{frame.f_code.co_filename}:{frame.f_lineno}"))


def tail_of(mask: np.ndarray, dimension: int) -> int | None:
    """Return the lane of `dimension` from which on all are masked; None if there is no such tail.

    A mask that is false everywhere has none.
    """
    others = tuple(axis for axis in range(mask.ndim) if axis != dimension)
    kept = np.flatnonzero(mask.any(axis=others))
    if not kept.size or kept[-1] + 1 == mask.shape[dimension]:
        return None
    return int(kept[-1]) + 1


_PACKAGE = str(triton.__path__[0])


def kernel_frame() -> FrameType:
    """Return the innermost frame that is neither Triton's nor this module's: the kernel's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith((_PACKAGE, "<")):
            return frame
        frame = frame.f_back
    return sys._getframe(1)


@contextmanager
def watching(memory: Memory) -> Iterator[WatchingBuilder]:
    """Let Triton's interpreter in this process run on `memory`; yields its builder."""
    builder = (WideBuilder if memory.wide else WatchingBuilder)(memory)
    replaced: list[tuple[Any, str, Any]] = []

    def replace(owner: Any, name: str, value: Any) -> None:
        replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    replace(interpreter, "interpreter_builder", builder)
    replace(interpreter, "interpreter_semantic", TritonSemantic(builder))
    for kind in (interpreter.ReduceOps, interpreter.ScanOps):
        replace(kind, "apply_impl", _watched(kind.apply_impl, builder))
    if memory.wide:
        wide_type, wide_fits = _wide_types()
        replace(interpreter, "_get_np_dtype", wide_type)
        replace(interpreter, "_validate_np_data_size", wide_fits)
        if hasattr(interpreter, "_round_f32_to_tf32"):
            replace(interpreter, "_round_f32_to_tf32", lambda data: data)
    try:
        yield builder
    finally:
        for owner, name, value in reversed(replaced):
            setattr(owner, name, value)


def _watched(original: Any, builder: WatchingBuilder) -> Any:
    def apply(operation: Any, values: Any) -> Any:
        builder.reduced(operation, values)
        return original(operation, values)

    return apply


def _wide_types() -> tuple[Any, Any]:
    """Return the interpreter's table of numpy types and its check of sizes, with wide floats."""
    numpy_type, fits = interpreter._get_np_dtype, interpreter._validate_np_data_size

    def is_wide(dtype: Any) -> bool:
        scalar = dtype.element_ty if isinstance(dtype, tl.block_type) else dtype
        return not isinstance(scalar, tl.pointer_type) and bool(scalar.is_floating())

    def wide_type(dtype: Any) -> Any:
        return np.dtype(np.float64) if is_wide(dtype) else numpy_type(dtype)

    def wide_fits(data: Any, dtype: Any) -> Any:
        return True if is_wide(dtype) else fits(data, dtype)

    return wide_type, wide_fits
