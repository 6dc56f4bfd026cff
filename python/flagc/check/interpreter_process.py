"""Triton interprets here: `python -m flagc.check.interpreter_process JOB RESULT`."""

from __future__ import annotations

import importlib
import pickle
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from flagc.check.evidence import OutputEvidence, Reference
from flagc.check.interpreter import Job
from flagc.check.shadow import Memory, NotInFloat64
from flagc.check.snapshot import tensors
from flagc.check.wide_interpreter import WatchingBuilder, watching

# Each costs a run of the interpreter.
_TAILS_TRIED = 6


def run(job: Job) -> Reference:
    """Interpret the job's launch; in float64 if it allows it."""
    kernel = _kernel(job)
    if not job.wide:
        return _run(job, kernel, wide=False)
    try:
        reference = _run(job, kernel, wide=True)
    except NotInFloat64 as reason:
        return _run(job, kernel, wide=False, why=str(reason))
    if not reference.unfilled:
        return reference
    depends = _depends(job, kernel, reference, poisoned=True)
    tails = {}
    if depends:
        for place, dimension in list(reference.tails)[:_TAILS_TRIED]:
            if _depends(job, kernel, reference, poisoned=(place, dimension)):
                tails[place, dimension] = reference.tails[place, dimension]
    return replace(reference, depends_on_unfilled=depends, tails=tails)


def _depends(
    job: Job, kernel: Any, reference: Reference, *, poisoned: tuple[str, int] | bool
) -> dict[str, int]:
    """Return how many elements of which outputs become NaN when masked lanes are."""
    other = _run(job, kernel, wide=True, poisoned=poisoned)
    counts = {
        name: int((other.tensors[name].isnan() & ~tensor.isnan()).sum())
        for name, tensor in reference.tensors.items()
        if tensor.is_floating_point()
    }
    return {name: count for name, count in counts.items() if count}


def _run(
    job: Job,
    kernel: Any,
    *,
    wide: bool,
    poisoned: tuple[str, int] | bool = False,
    why: str = "",
) -> Reference:
    arguments = job.arguments.values()
    named = dict(tensors(arguments))
    before = {name: tensor.clone() for name, tensor in named.items()}
    memory = Memory(named, wide=wide)
    with watching(memory) as builder:
        builder.poisoned = poisoned
        try:
            kernel[job.grid](**arguments)
        except Exception as error:
            # The interpreter wraps what a kernel raises.
            raise error.__cause__ if error.__cause__ is not None else error from None
    roundings: dict[str, int] = {}
    for dtype, _ in builder.roundings:
        roundings[dtype] = roundings.get(dtype, 0) + 1
    return Reference(
        tensors={name: _after(memory, tensor) for name, tensor in named.items()},
        wide=wide,
        outputs={n: _evidence(memory, builder, t, before[n]) for n, t in named.items()},
        why_not_wide=why,
        roundings=roundings,
        unfilled=tuple(sorted(builder.unfilled)),
        tails=builder.tails,
    )


def _after(memory: Memory, tensor: torch.Tensor) -> torch.Tensor:
    values = memory.of(tensor).values
    return tensor if values is None else memory.view(tensor, values)


def _evidence(
    memory: Memory, builder: WatchingBuilder, tensor: torch.Tensor, before: torch.Tensor
) -> OutputEvidence:
    storage = memory.of(tensor)
    additions = memory.view(tensor, storage.additions)
    start = None
    wrong = (additions > 0) & (before.double() != 0)
    if wrong.any():
        index = tuple(int(i) for i in wrong.nonzero()[0]) if wrong.dim() else ()
        start = (index, float(before[index]))
    return OutputEvidence(
        builder.terms_stored.get(storage.name, 0),
        int(additions.max()) if additions.numel() else 0,
        start,
        memory.view(tensor, storage.stored_by),
    )


def _kernel(job: Job) -> Any:
    """Return the kernel function, from its module or by running its file."""
    sys.path[:] = [*job.path, *(entry for entry in sys.path if entry not in job.path)]
    names: dict[str, Any]
    if job.module != "__main__":
        try:
            names = vars(importlib.import_module(job.module))
        except ImportError:
            names = {}
    else:
        names = {}
    if job.name not in names:
        sys.path.insert(0, str(Path(job.file).parent))
        names = runpy.run_path(job.file, run_name="flagc_check")
    if job.name not in names:
        raise LookupError(f"{job.file} has no '{job.name}' at its top level")
    kernel = names[job.name]
    while type(kernel).__name__ in ("Autotuner", "Heuristics"):
        kernel = kernel.fn
    return kernel


if __name__ == "__main__":
    np.seterr(all="ignore")
    Path(sys.argv[2]).write_bytes(pickle.dumps(run(pickle.loads(Path(sys.argv[1]).read_bytes()))))
