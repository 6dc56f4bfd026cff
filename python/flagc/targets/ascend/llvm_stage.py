"""Stage llvm: hivmc's input as LLVM IR, linked with the device functions it calls, and optimised.

In the result the AI Core's instructions are visible as calls of undefined functions `hivm.*`, such
as `hivm.LOAD.L1.TO.L0A...`, `hivm.MAD...`, `hivm.FIX.L0C.TO.OUT...` and `hivm.SET.FLAG.IMM`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flagc.targets.ascend.final_lowering import KernelFacts, kernel_facts, load_final, lower_core
from flagc.targets.ascend.generic_ir import bindings, full_context, print_generic
from flagc.targets.ascend.library_calls import adapt_calls
from flagc.targets.ascend.pass_text import parse_pipeline
from flagc.targets.ascend.vendor_pipeline import run_passes
from flagc.targets.ascend.vendor_process import DEFAULT_TIMEOUT

# Run by the vendor's bishengir-opt: MLIR 19's view ops have result types that later versions of
# MLIR reject (`memref.collapse_shape` on a dimension of size 1), so they must be gone before.
_VENDOR_LOWERING = (
    "builtin.module(expand-strided-metadata,lower-affine,convert-scf-to-cf,canonicalize)"
)


@dataclass(frozen=True)
class LlvmStage:
    """LLVM IR text by core kind (`aic`, `aiv`), and what the launcher needs to know."""

    texts: dict[str, str]
    facts: KernelFacts


def final_to_llvm(
    final_text: str,
    *,
    note_lines: bool = False,
    debug: bool = True,
    optimize: int = 2,
    timeout: float = DEFAULT_TIMEOUT,
) -> LlvmStage:
    """Lower the final module of a kernel; a mix kernel gives a text for each core kind.

    With `note_lines` calls of `hivm.LINE(line)` say what line of the kernel comes next, for faults
    of the emulator. With `debug` each instruction carries the kernel's source line. `optimize` is
    LLVM's level after linking, 0 to leave the linked code as it is.
    """
    passes = parse_pipeline(_VENDOR_LOWERING)
    generic = run_passes(final_text, passes, generic_out=True, timeout=timeout)
    with full_context() as context:
        module = load_final(generic, context)
        facts = kernel_facts(module)
        texts = {}
        for core, entry in facts.entries.items():
            own = bindings().Module.parse(print_generic(module, locations=True), context)
            lowered = lower_core(own, entry, note_lines=note_lines, debug=debug)
            texts[core] = link(lowered, core, entry, optimize=optimize)
    return LlvmStage(texts, facts)


def link(llvm_text: str, core: str, entry: str, *, optimize: int) -> str:
    """Link `llvm_text` with the device functions it calls, internalise, optimise, verify.

    They are the vendor's, of its device library, or our own.
    """
    import llvmlite.binding as llvm

    from flagc.targets.ascend import device_library
    from flagc.targets.ascend.emission.device_functions import is_own, library_text

    context = llvm.create_context()
    kernel = llvm.parse_assembly(llvm_text, context)
    calls = {
        function.name: function
        for function in kernel.functions
        if function.is_declaration and function.name.startswith(device_library.ENTRY_PREFIX)
    }
    own = [name for name in calls if is_own(name)]
    vendors = [name for name in calls if not is_own(name)]
    device_library.prepare(core, vendors)
    library = device_library.subset(core, vendors, context)
    if own:
        ours = llvm.parse_assembly(library_text(own), context)
        library.data_layout, library.triple = ours.data_layout, ours.triple
        library.link_in(ours)
    adapt_calls(calls, library, context)
    if calls:
        kernel.data_layout, kernel.triple = library.data_layout, library.triple
        kernel.link_in(library)
    for function in kernel.functions:
        if function.is_declaration:
            continue
        if function.name != entry:
            function.linkage = "internal"
        # The library reads fields of absent descriptors and then does not use them. By default
        # LLVM would take such a function for one that is never called.
        function.add_function_attribute("null_pointer_is_valid")
    optimise(kernel, optimize)
    kernel.verify()
    return str(kernel)


def optimise(module: Any, level: int) -> None:
    """Optimise a linked llvmlite module in place at LLVM's `level`, and drop what nothing uses."""
    import llvmlite.binding as llvm

    # Without a target machine: no LLVM but the vendor's knows the processor, and cost models for
    # another one would mislead.
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(None, tuning)
    if level:
        builder.getModulePassManager().run(module, builder)
    cleanup = llvm.create_new_module_pass_manager()
    cleanup.add_global_dead_code_eliminate_pass()
    cleanup.add_strip_dead_prototype_pass()
    cleanup.run(module, builder)
