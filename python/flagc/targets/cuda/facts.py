"""Facts about NVIDIA GPUs, by compute capability."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flagc.errors import UsageError, nearest


@dataclass(frozen=True)
class CudaFacts:
    """What a pass may want to know of a GPU.

    Attributes:
        capability: compute capability times ten (90 for sm_90).
        matrix_instruction: the PTX matrix instruction Triton targets.
        shared_memory: bytes of shared memory one thread block can use, opted in.
        multiprocessors: of the family's data centre or flagship part (A100, A40, L40, H100
            SXM, B200, RTX 5090), for scripts that size a persistent grid.
        warps: most warps that are resident on one multiprocessor.
        blocks: most thread blocks that are resident on one multiprocessor.
        registers: 32-bit registers of one multiprocessor.
        reserved_shared_memory: bytes that the system takes of each resident block's share; shared
            memory of a multiprocessor is `shared_memory` plus this much.

    Source: CUDA C++ Programming Guide, "Compute Capabilities" (technical specifications table);
    multiprocessor counts from NVIDIA's architecture white papers.
    """

    capability: int
    matrix_instruction: str
    shared_memory: int
    multiprocessors: int
    warps: int
    blocks: int
    registers: int = 65536
    reserved_shared_memory: int = 1024


CUDA_FACTS = {
    "sm80": CudaFacts(80, "mma.sync", 163 * 1024, 108, 64, 32),
    "sm86": CudaFacts(86, "mma.sync", 99 * 1024, 84, 48, 16),
    "sm89": CudaFacts(89, "mma.sync", 99 * 1024, 142, 48, 24),
    "sm90": CudaFacts(90, "wgmma", 227 * 1024, 132, 64, 32),
    "sm100": CudaFacts(100, "tcgen05", 227 * 1024, 148, 64, 32),
    "sm120": CudaFacts(120, "mma.sync", 99 * 1024, 170, 48, 24),
}


def facts_of_capability(capability: int) -> CudaFacts:
    """Return the facts of any GPU; an unlisted one gets those of the nearest older listed one."""
    listed = sorted(CUDA_FACTS.values(), key=lambda facts: facts.capability)
    older = [facts for facts in listed if facts.capability <= capability]
    return replace(older[-1] if older else listed[0], capability=capability)


# What plain `--target cuda` means on a machine that has no GPU to ask.
DEFAULT_CHIP = "sm90"


def cuda_facts(chip: str) -> CudaFacts:
    """Return the facts of `chip`, e.g. `sm90`.

    Raises:
        UsageError: not one of the supported chips.
    """
    if chip not in CUDA_FACTS:
        raise UsageError(f"unknown CUDA chip '{chip}'; {nearest(chip, list(CUDA_FACTS))}")
    return CUDA_FACTS[chip]
