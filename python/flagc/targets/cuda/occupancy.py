"""How many thread blocks of a kernel fit on one multiprocessor, and what limits them."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.targets.cuda.facts import CudaFacts

# Registers are given out to whole warps in units of this many, and warps in groups of four, one
# for each partition of a multiprocessor (CUDA occupancy calculator, all capabilities from 8.0).
_REGISTER_UNIT = 256
_PARTITIONS = 4
_SHARED_UNIT = 128
_WARP_SIZE = 32
# Columns of tensor memory of one multiprocessor (PTX ISA, "Tensor memory"); sm100 only.
_TENSOR_MEMORY_COLUMNS = 512


@dataclass(frozen=True)
class Occupancy:
    """`blocks` thread blocks fit, `warps` warps in all, of `most_warps`; `limits` says why."""

    blocks: int
    warps: int
    most_warps: int
    limits: tuple[str, ...]

    @property
    def share(self) -> float:
        """Resident warps over the most that the multiprocessor takes."""
        return self.warps / self.most_warps


def occupancy(
    facts: CudaFacts, *, registers: int, warps: int, shared_memory: int, tensor_memory: int = 0
) -> Occupancy:
    """Return the occupancy of a kernel.

    Args:
        registers: per thread.
        warps: per block.
        shared_memory: bytes of one block, static and dynamic, without the system's share.
        tensor_memory: columns of one block.
    """
    per_warp = -(-max(registers, 1) * _WARP_SIZE // _REGISTER_UNIT) * _REGISTER_UNIT
    resident = facts.registers // _PARTITIONS // per_warp * _PARTITIONS
    taken = -(-(shared_memory + facts.reserved_shared_memory) // _SHARED_UNIT) * _SHARED_UNIT
    available = facts.shared_memory + facts.reserved_shared_memory
    limits = {
        "registers": resident // warps,
        "shared memory": available // taken,
        "warps": facts.warps // warps,
        "blocks": facts.blocks,
    }
    if tensor_memory:
        limits["tensor memory"] = _TENSOR_MEMORY_COLUMNS // tensor_memory
    blocks = min(limits.values())
    reasons = tuple(name for name, limit in limits.items() if limit == blocks)
    return Occupancy(blocks, blocks * warps, facts.warps, reasons)
