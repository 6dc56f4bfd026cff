"""Calls of device library functions: each must fit its definition, or provably not need to."""

from __future__ import annotations

from typing import Any

from flagc.errors import EnvironmentProblem

_FULL = ".full"


class SignatureMismatch(EnvironmentProblem):
    """The kernel calls a library function with other types than the library defines."""


def adapt_calls(calls: dict[str, Any], library: Any, context: Any) -> None:
    """Check each declaration in `calls` against its definition in `library`.

    bishengir-compile 1.2.0 leaves the last parameter (a scratch buffer) out of some calls of its
    own library, such as `vsel_vs_1d_int64_t`. That is sound exactly if the function does not use
    it. Then the library function gets a wrapper with the kernel's signature; everything else that
    does not fit is a SignatureMismatch.
    """
    import llvmlite.binding as llvm

    for name, declared in calls.items():
        defined = library.get_function(name)
        expected, found = _signature(defined), _signature(declared)
        if expected == found:
            continue
        missing = expected[len(found) :]
        if found != expected[: len(found)] or not _unused_tail(library, name, len(missing)):
            raise SignatureMismatch(
                f"{name}: the kernel calls it as {declared.global_value_type}, the device library "
                f"defines {defined.global_value_type}; the library does not belong to this "
                "bishengir-compile"
            )
        defined.name = name + _FULL
        library.link_in(llvm.parse_assembly(_wrapper(name, found, missing), context))


def _signature(function: Any) -> list[str]:
    """Parameter types; the libraries' functions all return nothing."""
    return [str(argument.type) for argument in function.arguments]


def _unused_tail(library: Any, name: str, count: int) -> bool:
    """True when optimisation shows the last `count` parameters of `name` to have no use."""
    import llvmlite.binding as llvm

    copy = llvm.parse_bitcode(library.as_bitcode(), llvm.create_context())
    for function in copy.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = "internal"
    builder = llvm.create_pass_builder(None, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(copy, builder)
    function = copy.get_function(name)
    text = str(function)
    tail = [argument.name for argument in function.arguments][-count:]
    # A parameter without uses stands in the text once, in the signature. Its name may begin another
    # value's name; that only makes the answer a safe no.
    return all(parameter and text.count(f"%{parameter}") == 1 for parameter in tail)


def _wrapper(name: str, found: list[str], missing: list[str]) -> str:
    """LLVM IR of a function `name` with parameters `found` that calls `name`.full."""
    parameters = ", ".join(f"{kind} %{index}" for index, kind in enumerate(found))
    arguments = ", ".join([parameters] * bool(found) + [f"{kind} poison" for kind in missing])
    return (
        f"declare void @{name}{_FULL}({', '.join([*found, *missing])})\n"
        f"define void @{name}({parameters}) {{\n"
        f"  call void @{name}{_FULL}({arguments})\n  ret void\n}}\n"
    )
