"""Calls of device library functions: each must fit its definition, or provably not need to."""

from __future__ import annotations

from typing import Any

from flagc.errors import EnvironmentProblem

_FULL = ".full"
_BUFFER = "flagc.no.scratch.buffer"
# An address in no memory of the AI Core, and no host address either.
NOWHERE = 1 << 62


class SignatureMismatch(EnvironmentProblem):
    """The kernel calls a library function with other types than the library defines."""


def adapt_calls(calls: dict[str, Any], library: Any, context: Any) -> None:
    """Check each declaration in `calls` against its definition in `library`.

    bishengir-compile 1.2.0 leaves the last parameter (a scratch buffer) out of some calls of its
    own library, such as `vsel_vs_1d_int64_t`. That is sound as long as the function does not use
    it. Then the library function gets a wrapper with the kernel's signature. Some use the buffer
    only for a source that is broadcast along its last axis (`vshrs_vs_1d_int32_t`): they get one at
    `NOWHERE`, so that a use is a fault of the emulator. Everything else that does not fit is a
    SignatureMismatch.
    """
    import llvmlite.binding as llvm

    for name, declared in calls.items():
        defined = library.get_function(name)
        expected, found = _signature(defined), _signature(declared)
        if expected == found:
            continue
        missing = expected[len(found) :]
        if found != expected[: len(found)] or missing != ["ptr"]:
            raise SignatureMismatch(
                f"{name}: the kernel calls it as {declared.global_value_type}, the device library "
                f"defines {defined.global_value_type}; the library does not belong to this "
                "bishengir-compile"
            )
        buffer = "poison" if _unused_tail(library, name) else f"@{_BUFFER}"
        defined.name = name + _FULL
        library.link_in(llvm.parse_assembly(_wrapper(name, found, buffer), context))


def _signature(function: Any) -> list[str]:
    """Parameter types; the libraries' functions all return nothing."""
    return [str(argument.type) for argument in function.arguments]


def _unused_tail(library: Any, name: str) -> bool:
    """True when optimisation shows the last parameter of `name` to have no use."""
    import llvmlite.binding as llvm

    copy = llvm.parse_bitcode(library.as_bitcode(), llvm.create_context())
    for function in copy.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = "internal"
    builder = llvm.create_pass_builder(None, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(copy, builder)
    function = copy.get_function(name)
    *_, last = function.arguments
    # A parameter without uses stands in the text once, in the signature. Its name may begin another
    # value's name; that only makes the answer a safe no.
    return bool(last.name) and str(function).count(f"%{last.name}") == 1


def _wrapper(name: str, found: list[str], buffer: str) -> str:
    """LLVM IR of a function `name` with parameters `found` that calls `name`.full with a buffer."""
    parameters = ", ".join(f"{kind} %{index}" for index, kind in enumerate(found))
    arguments = ", ".join([parameters] * bool(found) + [f"ptr {buffer}"])
    # A memref of any rank up to three: both pointers, an offset, sizes and strides.
    fields = ", ".join(f"i64 {value}" for value in (NOWHERE, NOWHERE, *[0] * 7))
    return (
        f"@{_BUFFER} = internal constant [9 x i64] [{fields}]\n"
        f"declare void @{name}{_FULL}({', '.join([*found, 'ptr'])})\n"
        f"define void @{name}({parameters}) {{\n"
        f"  call void @{name}{_FULL}({arguments})\n  ret void\n}}\n"
    )
