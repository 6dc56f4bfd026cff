"""The op for which all threads of a program wait, as the Triton that is installed spells it."""

from __future__ import annotations

import functools

from flagc.ir.module import Module, Operation

# Memory spaces of `ttg.barrier` (AddrSpace, a set of bits): all of them.
_ALL_SPACES = "31 : i32"


@functools.lru_cache(maxsize=1)
def _is_tritons_own() -> bool:
    """Return whether it is `ttg.barrier`, from Triton 3.7 on, and not `gpu.barrier`."""
    from triton._C.libtriton import ir

    context = ir.context()
    ir.load_dialects(context)
    builder = ir.builder(context)
    module = builder.create_module()
    kind = builder.get_function_ty([], [])
    function = builder.get_or_insert_function(module, "f", kind, "public", False)
    module.push_back(function)
    builder.set_insertion_point_to_start(function.add_entry_block())
    builder.create_barrier()
    return "ttg.barrier" in str(module)


def create_barrier(module: Module, *, before: Operation) -> Operation:
    """Create the barrier; what threads wrote before it is seen by all of the program after it."""
    if _is_tritons_own():
        return module.create("ttg.barrier", [], [], {"addrSpace": _ALL_SPACES}, before=before)
    return module.create("gpu.barrier", before=before)
