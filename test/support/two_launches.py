"""Two kernels that a script launches one after the other, run in TTIR as they are and merged."""

import numpy as np

from flagc.ir.follow_up import NO_STORAGE, FollowUp, LaunchNumbers, pair_of
from flagc.passes.ttir.fuse_epilogue import FuseEpilogue
from support import ttir_interpreter
from support.running import transformed


def numbers_of(grid, arguments, arrays):
    """Return what the recorder says of a launch; `arrays` lists the storages of both launches."""
    storages, offsets = [], []
    for argument in arguments:
        is_array = isinstance(argument, np.ndarray)
        storage = next((i for i, a in enumerate(arrays) if a is argument), NO_STORAGE)
        storages.append(storage if is_array else NO_STORAGE)
        offsets.append(0)
    values = [0 if isinstance(a, (np.ndarray, float)) else int(a) for a in arguments]
    return LaunchNumbers((*grid, 1, 1)[:3], tuple(values), tuple(storages), tuple(offsets))


def merged(first, second, launches):
    """Merge two kernels (modules); `launches` has grid and arguments of each.

    Returns the module and what the pass said.
    """
    arrays = []
    for _, arguments in launches:
        arrays += [a for a in arguments if isinstance(a, np.ndarray)]
    follow_up = FollowUp(*(numbers_of(grid, given, arrays) for grid, given in launches))
    return transformed(FuseEpilogue(), pair_of(first, second, follow_up).text())


def run_apart(first, second, launches):
    """Run the two kernels one after the other; arrays are written in place."""
    for module, (grid, arguments) in zip((first, second), launches, strict=True):
        ttir_interpreter.run(module, arguments, grid)


def run_merged(module, launches):
    """Run the merged kernel on both launches' arguments, as the first launch's grid has it."""
    (grid, first), (_, second) = launches
    ttir_interpreter.run(module, [*first, *second], grid)
