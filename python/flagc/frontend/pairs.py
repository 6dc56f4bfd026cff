"""Launches that follow one another, brought together where a pass merges them.

A launch is held back until the next one comes. If that takes its result, and the pass can merge the
two, one launch stands for both, and what the first would have written in between is not there:
the matrix is skipped. Whatever needs it after all (an op of PyTorch or another launch that touches
its memory, or one that changes what it is computed from) finds it, because the first kernel is
then launched by itself before. So results are the script's own, whatever it does later; a pair
whose matrix was needed is not merged again.

Seen are launches and PyTorch's ops. Not seen is who reads memory by its bare address: `data_ptr()`
or `numpy()` handed to foreign code, without an op of PyTorch before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from flagc.errors import KernelError
from flagc.frontend.execution import Argument
from flagc.frontend.launch import Launch
from flagc.ir.follow_up import MERGED, NO_STORAGE, FollowUp, LaunchNumbers, Merged
from flagc.pipeline.compiler import CompileRequest, CompileResult
from flagc.pipeline.pipeline_text import PlacedPass
from flagc.pipeline.target import KernelSource, PairSource, Target

Grid = tuple[int, int, int]
# Compiles a launch of two kernels, and returns what became of the matrix between them; raises
# KernelError, which says why, if no pass merges them.
Merge = Callable[[Launch], Merged]
# Records a launch, and executes it where launches are executed.
Take = Callable[[Launch, Grid, Sequence[Argument]], None]

_aten = torch.ops.aten
# Ops that take a tensor for its shape and type alone. Views are told by their schema.
_SHAPE_ONLY = frozenset(
    {_aten.empty_like, _aten.zeros_like, _aten.ones_like, _aten.full_like, _aten.rand_like,
     _aten.randn_like, _aten.new_empty, _aten.new_empty_strided, _aten.new_zeros, _aten.new_ones,
     _aten.new_full, _aten.sym_size, _aten.sym_stride, _aten.sym_numel}
)  # fmt: skip


@dataclass(frozen=True)
class _Made:
    """A launch as the script made it; `stream` is torch's current one, where there is a GPU."""

    launch: Launch
    grid: Grid
    arguments: Sequence[Argument]
    stream: Any = None

    def places(self) -> list[tuple[int, int] | None]:
        """Return where each pointer points: its storage's address, and bytes from there."""
        return [_place(argument) for argument in self.arguments]

    def storages(self) -> set[int]:
        """Return the addresses of all storages."""
        return {place[0] for place in self.places() if place is not None}

    def is_plain(self) -> bool:
        """Return whether all arguments are tensors and numbers that a pair can have."""
        return isinstance(self.launch.source, KernelSource) and all(
            _place(a) is not None if a.type.startswith("*") else _is_number(a)
            for a in self.arguments
        )


@dataclass(frozen=True)
class _Skipped:
    """A matrix that was not stored.

    Attributes:
        made: the launch that would have; argument number `matrix` is a `_View` in place of it.
        pair: the launch that was executed instead.
        memory, storage: the matrix's storage, which is not kept, and its address.
        inputs: the addresses of the other storages of `made`.
    """

    made: _Made
    pair: Launch
    matrix: int
    memory: StorageWeakRef
    storage: int
    inputs: frozenset[int]

    def needed_by(self, storages: set[int]) -> bool:
        """Return whether a launch on these storages needs it, or may change what it comes from."""
        return self.storage in storages or bool(self.inputs & storages)

    def launch_again(self) -> _Made | None:
        """Return the launch that stores the matrix; None if that is gone."""
        storage = torch.UntypedStorage._new_with_weak_ptr(self.memory.cdata)
        if storage is None:
            return None
        arguments = list(self.made.arguments)
        view = arguments[self.matrix].value
        tensor = torch.empty(0, dtype=view.dtype, device=storage.device)
        tensor.set_(storage, view.offset, view.shape, view.stride)
        arguments[self.matrix] = replace(arguments[self.matrix], value=tensor)
        return replace(self.made, arguments=arguments)


@dataclass(frozen=True)
class _View:
    """What a tensor was, without its memory."""

    dtype: torch.dtype
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


class Pairing(TorchDispatchMode):  # type: ignore[misc]
    """Holds launches back, and merges pairs of them; active as a context."""

    def __init__(self, take: Take, merge: Merge) -> None:
        super().__init__()
        self._take = take
        self._merge = merge
        self._held: _Made | None = None
        self._skipped: list[_Skipped] = []
        self._pairs: dict[str, Launch | str] = {}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Let the memory that an op of PyTorch touches hold what it should."""
        if _touches_data(function):
            self._before_op(function, args, kwargs or {})
        return function(*args, **(kwargs or {}))

    def launched(self, launch: Launch, grid: Grid, arguments: Sequence[Argument]) -> None:
        """Take notice of a launch, and record or execute it now or later."""
        made = _Made(launch, grid, arguments, _stream())
        with _disable_current_modes():
            held, self._held = self._held, None
            if held is not None:
                pair = self._pair_of(held, made)
                if pair is not None:
                    self._take_pair(pair, held, made)
                    return
                self._run(held)
            if made.is_plain() and 0 not in grid and not _is_capturing():
                self._held = made
            else:
                self._run(made)

    def finish(self, *, failed: bool = False) -> None:
        """Let go of the launch that is held back; where the program has failed, do not run it."""
        held, self._held = self._held, None
        if held is not None and not failed:
            with _disable_current_modes():
                self._run(held)
        self._skipped.clear()

    def _run(self, made: _Made) -> None:
        self._bring_back(lambda skipped: skipped.needed_by(made.storages()), "another launch")
        with _current(made.stream):
            self._take(made.launch, made.grid, made.arguments)

    def _before_op(self, function: Any, args: Any, kwargs: Mapping[str, Any]) -> None:
        if self._held is None and not self._skipped:
            return
        touched = {address for leaf in tree_leaves((args, kwargs)) if (address := _address(leaf))}
        if self._held is not None and self._held.storages() & touched:
            held, self._held = self._held, None
            self._run(held)
        written = _written(function, args, kwargs)
        self._bring_back(
            lambda skipped: skipped.storage in touched or bool(skipped.inputs & written),
            str(function),
        )

    def _bring_back(self, is_needed: Callable[[_Skipped], bool], by: str) -> None:
        """Store the matrices that are needed now; forget those that are gone."""
        known, self._skipped = self._skipped, []
        for skipped in known:
            if skipped.memory.expired():
                continue
            if not is_needed(skipped):
                self._skipped.append(skipped)
                continue
            again = skipped.launch_again()
            if again is None:
                continue
            name = skipped.made.launch.source.name
            _note(
                skipped.pair,
                f"{by} needs the result of '{name}' itself, which was launched once more for it",
            )
            self._pairs[_key(skipped.pair.source)] = f"{by} needs the first kernel's result"
            with _current(again.stream):
                self._take(again.launch, again.grid, again.arguments)

    def _pair_of(self, first: _Made, second: _Made) -> Launch | None:
        """Return the launch that stands for two, None if they are not merged."""
        shared = {place for place in first.places() if place} & {*second.places()}
        if not shared or not second.is_plain() or 0 in second.grid or _is_capturing():
            return None
        if first.stream != second.stream:
            return None
        source = PairSource(
            first.launch.source,  # type: ignore[arg-type]
            second.launch.source,  # type: ignore[arg-type]
            _follow_up(first, second),
        )
        key = _key(source)
        if key not in self._pairs:
            self._pairs[key] = self._tried(source, first, second)
        found = self._pairs[key]
        if isinstance(found, Launch):
            return found
        _note(second.launch, f"not merged into '{first.launch.source.name}': {found}")
        return None

    def _tried(self, source: PairSource, first: _Made, second: _Made) -> Launch | str:
        pair = Launch(source, first.launch.options, parts=(first.launch, second.launch))
        try:
            merged = self._merge(pair)
        except KernelError as error:
            return str(error)
        if not merged.stored:
            matrix = first.places()[merged.matrix]
            places = [*first.places(), *second.places()]
            pair.unwritten = frozenset(
                name
                for name, place in zip(_names(source), places, strict=True)
                if place is not None and place == matrix
            )
        return pair

    def _take_pair(self, pair: Launch, first: _Made, second: _Made) -> None:
        source: Any = pair.source
        arguments = [
            replace(argument, name=name)
            for name, argument in zip(
                _names(source), (*first.arguments, *second.arguments), strict=True
            )
        ]
        skipped = _skipped(pair, first) if pair.unwritten else None
        if skipped is not None:  # the new matrix takes the place of the one before
            self._skipped = [
                s for s in self._skipped if (s.pair, s.storage) != (pair, skipped.storage)
            ]
        self._run(_Made(pair, first.grid, arguments, second.stream))
        if skipped is not None:
            self._skipped.append(skipped)


def merging(
    compile: Callable[[CompileRequest], CompileResult],
    target: Target,
    passes: Sequence[PlacedPass],
    overrides: Mapping[str, Any] | None = None,
) -> Merge | None:
    """Return what merges two launches by `passes`; None if none of them does, or not for `target`.

    `overrides` replace compile options of launches.
    """
    if not target.takes_pairs or not any(p.instance.merges_launches for p in passes):
        return None
    first_stage = target.stages()[0].name

    def merge(launch: Launch) -> Merged:
        options = {**launch.options, **(overrides or {})}
        result = compile(
            CompileRequest(launch.source, target, options, passes, stop_after=first_stage)
        )
        return Merged(**result.metadata[MERGED])

    return merge


def _note(launch: Launch, text: str) -> None:
    if text not in launch.note:
        launch.note = "; ".join(filter(None, [launch.note, text]))


def _names(source: PairSource) -> list[str]:
    """Return the names of the arguments that reach the compiled kernel."""
    signature = source.signature
    return [name for name in source.function.arg_names if signature[name] != "constexpr"]


def _key(source: Any) -> str:
    return str(source.key())


def _skipped(pair: Launch, first: _Made) -> _Skipped:
    """Return what is needed to store the matrix later, without keeping its memory."""
    number = next(
        n for n, argument in enumerate(first.arguments) if argument.name in pair.unwritten
    )
    tensor = _tensor(first.arguments[number].value)
    storage = tensor.untyped_storage()
    view = _View(tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
    arguments = list(first.arguments)
    arguments[number] = replace(arguments[number], value=view)
    inputs = first.storages() - {storage.data_ptr()}
    return _Skipped(
        replace(first, arguments=arguments),
        pair,
        number,
        StorageWeakRef(storage),
        storage.data_ptr(),
        frozenset(inputs),
    )


def _follow_up(first: _Made, second: _Made) -> FollowUp:
    """Return the numbers of two launches; storages are numbered in the order of arguments."""
    known: dict[int, int] = {}

    def numbers(made: _Made) -> LaunchNumbers:
        values, storages, offsets = [], [], []
        for argument, place in zip(made.arguments, made.places(), strict=True):
            is_integer = place is None and argument.type[0] in "iu"
            values.append(int(argument.value) if is_integer else 0)
            storages.append(known.setdefault(place[0], len(known)) if place else NO_STORAGE)
            offsets.append(place[1] if place else 0)
        return LaunchNumbers(made.grid, tuple(values), tuple(storages), tuple(offsets))

    return FollowUp(numbers(first), numbers(second))


def _is_number(argument: Argument) -> bool:
    """Return whether a number is the same signed as unsigned, or a float."""
    kind, value = argument.type, argument.value
    if kind[0] in "iu" and kind[1:].isdigit():
        return int(kind[1:]) == 1 or abs(int(value)) < 2 ** (int(kind[1:]) - 1)
    return kind.startswith(("fp", "bf", "f"))


def _tensor(value: Any) -> torch.Tensor:
    base = getattr(value, "base", None)  # of a tensor with another type, as Triton has it
    return base if isinstance(base, torch.Tensor) else value


def _place(argument: Argument) -> tuple[int, int] | None:
    """Return the address of a tensor's storage and how far behind it the tensor begins."""
    tensor = _tensor(argument.value) if argument.type.startswith("*") else None
    address = _address(tensor)
    if tensor is None or address is None:
        return None
    return address, tensor.data_ptr() - address


def _address(value: Any) -> int | None:
    """Return the address of a tensor's storage; None for what is no tensor with memory."""
    if not isinstance(value, torch.Tensor) or value.device.type == "meta":
        return None
    try:
        return value.untyped_storage().data_ptr() or None
    except (RuntimeError, NotImplementedError):  # a tensor that has no storage: sparse, say
        return None


def _touches_data(function: Any) -> bool:
    """Return whether an op looks at what its tensors hold, or may."""
    if getattr(function, "overloadpacket", None) in _SHAPE_ONLY:
        return False
    schema = getattr(function, "_schema", None)
    if schema is None or schema.is_mutable:
        return True
    return not any(result.alias_info is not None for result in schema.returns)  # no view


def _written(function: Any, args: Any, kwargs: Mapping[str, Any]) -> set[int]:
    """Return the storages that an op writes to; of an op that is not known, all."""
    schema = getattr(function, "_schema", None)
    if schema is None:
        leaves = tree_leaves((args, kwargs))
    else:
        given = {
            argument.name: value for argument, value in zip(schema.arguments, args, strict=False)
        }
        given.update(kwargs)
        leaves = tree_leaves(
            [
                given[argument.name]
                for argument in schema.arguments
                if argument.name in given
                and argument.alias_info is not None
                and argument.alias_info.is_write
            ]
        )
    return {address for leaf in leaves if (address := _address(leaf)) is not None}


def _stream() -> Any:
    return torch.cuda.current_stream() if torch.cuda.is_available() else None


def _current(stream: Any) -> AbstractContextManager[Any]:
    """Make a launch's stream the current one, if it is not: a launch may be made later."""
    return nullcontext() if stream in (None, _stream()) else torch.cuda.stream(stream)


def _is_capturing() -> bool:
    """Return whether launches go into a CUDA graph, whose end may not be waited for."""
    return torch.cuda.is_available() and bool(torch.cuda.is_current_stream_capturing())
