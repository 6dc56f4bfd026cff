"""Runs kernels of the Ascend target on the emulated AI Core."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flagc.aicore.arguments import marshal
from flagc.aicore.jit import CompiledEntry
from flagc.aicore.native import native
from flagc.aicore.scalar_checks import announce_scalar_accesses
from flagc.errors import KernelError, UsageError
from flagc.targets.ascend.chips import DEFAULT_CHIP, AscendChip
from flagc.targets.ascend.chips import chip as chip_named
from flagc.targets.ascend.llvm_stage import LlvmStage

MAX_BLOCKS = 65535
# Parameters before and after the user's: ffts_base, sync_block_lock, workspace; the grid sizes.
_LEADING, _TRAILING = 3, 3
# A NaN as fp16, bf16 and fp32, as the engine fills on-chip memory.
_POISON = 0x7FAB
# Instructions by which a block waits for others of the launch (hivm_calls.py).
_OF_THE_GRID = {"SYNC.GRID.SET", "SYNC.GRID.ALL"}


class KernelFault(KernelError):
    """What a kernel did wrong on the emulated AI Core; `fault` has the parts."""

    def __init__(self, kernel: str, fault: Any) -> None:
        self.fault = fault
        where = f"block {fault.block}"
        if fault.core == "AIV" and fault.sub_block:
            where += f", sub-block {fault.sub_block}"
        instruction = f"{fault.instruction} on pipe {fault.pipe}: " if fault.instruction else ""
        line = f"line {fault.line}, " if fault.line else ""
        super().__init__(f"{kernel}: {line}{where} ({fault.core}): {instruction}{fault.message}")


@dataclass(frozen=True)
class RunReport:
    """What one launch did.

    `speculative_reads` counts reads outside the launch's tensors, which give undefined values; the
    first is on the kernel's line `speculative_line` and does what `speculative_text` says.
    """

    blocks: int
    instructions: int
    speculative_reads: int = 0
    speculative_line: int = 0
    speculative_text: str = ""
    trace: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class _Prepared:
    """A launch as the native module takes it; `kept` is memory that it points to."""

    blocks: int
    words: list[int]
    regions: list[Any]
    kept: tuple[Any, ...]


class EmulatedKernel:
    """A kernel compiled for the host: `run` it on any grid and arguments.

    With a `stage` from `final_to_llvm(..., note_lines=True)` faults name the kernel's line.
    """

    def __init__(self, stage: LlvmStage, chip: AscendChip | None = None) -> None:
        self.facts = stage.facts
        self.name = next(iter(stage.facts.entries.values()))
        self._texts = stage.texts
        self._compiled: dict[bool, dict[str, CompiledEntry]] = {}
        first = next(iter(self._entries(checks=True).values()))
        self.parameters = first.parameters[_LEADING:-_TRAILING]
        self.sizes = native().Sizes()
        self.chip = chip or chip_named(DEFAULT_CHIP)
        if chip is not None:
            for memory in ("l1", "l0a", "l0b", "l0c", "ub", "bt", "fb"):
                setattr(self.sizes, memory, getattr(chip, f"{memory}_bytes"))

    def run(
        self,
        grid: Sequence[int],
        arguments: Sequence[Any],
        *,
        names: Sequence[str] | None = None,
        threads: int | None = None,
        checks: bool = True,
        trace: bool = False,
    ) -> RunReport:
        """Run every block; results land in the tensors. Raises KernelFault for the kernel's faults.

        `arguments` are the kernel's own, without constexprs: CPU tensors or arrays and numbers.
        `threads` is the number of host threads (default: all). With `checks` off nothing is
        verified but the bounds of each memory.
        """
        entries = self._entries(checks=checks)
        prepared = self._prepared(grid, arguments, names)
        if prepared.blocks == 0:
            return RunReport(0, 0)
        together = any(entry.instructions & _OF_THE_GRID for entry in entries.values())
        if together:
            self._require_cores(prepared.blocks)
        outcome = native().run(
            **self._launch(entries, prepared),
            threads=threads or os.cpu_count() or 1,
            checks=checks,
            trace=trace,
            together=together,
        )
        if outcome.fault is not None:
            raise KernelFault(self.name, outcome.fault)
        return RunReport(
            prepared.blocks,
            outcome.instructions,
            outcome.speculative_reads,
            outcome.speculative_line,
            outcome.speculative_text,
            outcome.trace,
        )

    def record(
        self,
        grid: Sequence[int],
        arguments: Sequence[Any],
        *,
        names: Sequence[str] | None = None,
        data: bool = False,
    ) -> Any:
        """Walk through every block for the timing model, and return its launch.

        Without `data` only scalar code and flags are executed, and tensors stay as they are;
        KernelFault of kind `needs-data` says that scalar code reads what other pipes compute. With
        `data` the launch is executed, without checks.
        """
        prepared = self._prepared(grid, arguments, names)
        # Announced scalar accesses say when data would be needed.
        entries = self._entries(checks=not data)
        fault, recorded = native().record(
            **self._launch(entries, prepared),
            dataless=not data,
        )
        if fault is not None:
            raise KernelFault(self.name, fault)
        return recorded

    def _launch(self, entries: Mapping[str, CompiledEntry], prepared: _Prepared) -> dict[str, Any]:
        """Return what the engine has to know of any launch."""
        return {
            "aic": entries["aic"].address if "aic" in entries else 0,
            "aiv": entries["aiv"].address if "aiv" in entries else 0,
            "arguments": prepared.words,
            "regions": prepared.regions,
            "blocks": prepared.blocks,
            "sizes": self.sizes,
        }

    def _prepared(
        self, grid: Sequence[int], arguments: Sequence[Any], names: Sequence[str] | None
    ) -> _Prepared:
        sizes = [*grid, 1, 1][:3]
        blocks = self.facts.blocks_of(sizes)
        if len(grid) > 3 or min(sizes) < 0:
            raise UsageError(f"a grid has one to three sizes of 0 or more, not {tuple(grid)}")
        if blocks > MAX_BLOCKS:
            raise UsageError(f"{blocks} blocks; an Ascend launch takes at most {MAX_BLOCKS}")
        names = names or [f"argument {index}" for index in range(len(arguments))]
        words, regions = marshal(arguments, self.parameters, names)
        workspace = np.full(blocks * (self.facts.workspace_bytes or 0) // 2 + 1, _POISON, np.uint16)
        lock = np.full(self.facts.lock_words or 0, self.facts.lock_initial or 0, np.int64)
        for array, name in ((lock, "the block lock"), (workspace, "the workspace")):
            scratch = array is workspace
            regions.append(native().Region(array.ctypes.data, array.nbytes, True, scratch, name))
        words = [0, lock.ctypes.data, workspace.ctypes.data, *words, *sizes]
        return _Prepared(blocks, words, regions, (workspace, lock))

    def _require_cores(self, blocks: int) -> None:
        """Blocks that wait for each other must all have a core of their own."""
        cube = "aic" in self.facts.entries
        cores = self.chip.cube_cores if cube else self.chip.vector_cores
        if blocks > cores:
            raise KernelError(
                f"{self.name}: {blocks} blocks wait for each other (sync_block), but "
                f"{self.chip.name} runs {cores} at a time, and would hang; launch at most {cores}"
            )

    def _entries(self, *, checks: bool) -> dict[str, CompiledEntry]:
        """Compiled code for each core kind, which announces its scalar accesses."""
        if checks not in self._compiled:
            self._compiled[checks] = {
                core: CompiledEntry(
                    announce_scalar_accesses(self._texts[core], name, checks=checks), name
                )
                for core, name in self.facts.entries.items()
            }
        return self._compiled[checks]
