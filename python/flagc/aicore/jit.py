"""Compiles the LLVM IR of a kernel for the host, with AI Core instructions as calls of the engine.

A kernel is called through `flagc.launch(ptr)`, which reads each argument from an array of 64-bit
words, so that the engine needs no knowledge of the kernel's signature.
"""

from __future__ import annotations

import weakref
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from flagc.aicore.native import native
from flagc.errors import KernelError

INSTRUCTION_PREFIX = "hivm."
_LAUNCH = "flagc.launch"


class MissingInstruction(KernelError):
    """The kernel calls an instruction that the emulator's table does not have."""


class CompiledEntry:
    """One core kind's code of a kernel; `address` is that of `void(const uint64_t* words)`.

    `instructions` are the names of those that it calls.
    """

    def __init__(self, text: str, name: str) -> None:
        known = _prepare()
        context = llvm.create_context()
        module = llvm.parse_assembly(text, context)
        try:
            self.instructions = _instructions(module, name, known)
            self.parameters = [str(p.type) for p in module.get_function(name).arguments]
            machine = _machine()
            module.triple, module.data_layout = machine.triple, str(machine.target_data)
            launch = llvm.parse_assembly(_launch_text(name, self.parameters), context)
            launch.triple, launch.data_layout = module.triple, module.data_layout
            module.link_in(launch)
            module.verify()
        except Exception:
            _close(module, context)
            raise
        engine: Any = llvm.create_mcjit_compiler(module, machine)
        # In this order, which the garbage collector would not keep; LLVM crashes in the other.
        weakref.finalize(self, _close, engine, context)
        engine.finalize_object()
        self.address: int = engine.get_function_address(_LAUNCH)


def _instructions(module: Any, name: str, known: frozenset[str]) -> frozenset[str]:
    declared = [f.name for f in module.functions if f.is_declaration]
    called = {
        function.removeprefix(INSTRUCTION_PREFIX)
        for function in declared
        if function.startswith(INSTRUCTION_PREFIX)
    }
    if missing := called - known:
        names = ", ".join(INSTRUCTION_PREFIX + instruction for instruction in sorted(missing))
        raise MissingInstruction(f"the AI Core emulator does not know {names}, which {name} calls")
    return frozenset(called)


def _close(*references: Any) -> None:
    for reference in references:
        reference.close()


@lru_cache(maxsize=1)
def _prepare() -> frozenset[str]:
    """Make the engine's instructions known to the JIT; returns their names."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    names = set()
    for name, _pipe, address, _note, _refused in native().instructions():
        llvm.add_symbol(INSTRUCTION_PREFIX + name, address)
        names.add(name)
    return frozenset(names)


def _machine() -> Any:
    """A target machine for this host; each compiler takes ownership of one."""
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True
    )


def _launch_text(name: str, parameters: list[str]) -> str:
    """LLVM IR of the wrapper that reads the arguments of `name` from memory."""
    lines = [
        f'declare void @"{name}"({", ".join(parameters)})',
        f'define void @"{_LAUNCH}"(ptr %words) {{',
    ]
    for index, kind in enumerate(parameters):
        lines.append(f"  %p{index} = getelementptr i64, ptr %words, i64 {index}")
        lines.append(f"  %a{index} = load {kind}, ptr %p{index}, align 8")
    arguments = ", ".join(f"{kind} %a{index}" for index, kind in enumerate(parameters))
    lines += [f'  call void @"{name}"({arguments})', "  ret void", "}"]
    return "\n".join(lines)
