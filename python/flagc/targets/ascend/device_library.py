"""Functions of the vendor's device libraries as small LLVM modules, extracted once per user.

A library is one bitcode file of up to 15 MB (8000 functions; 1 s to parse). A kernel calls a dozen
of them. Each needed function is therefore cut out once, with what it calls, into its own bitcode
file in the user's data folder (a few KB, 1 ms to parse); later kernels link those files.

What is changed on the way: `llvm.hivm.X` becomes `hivm.X`, because LLVM rejects intrinsics that it
does not know. The attributes `target-cpu` and `target-features` are dropped, because no LLVM but
the vendor's knows the processor, and so are `memory(argmem: ...)` and `memory(inaccessiblemem:
...)`: by them MOVEMASK and the vector instruction that it masks would be free to change places.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from flagc.targets.ascend import toolchain
from flagc.targets.ascend.data_folder import data_folder, exclusive, write_atomically
from flagc.targets.ascend.errors import ToolchainError

# AI Core instructions after renaming.
INSTRUCTION_PREFIX = "hivm."
# Functions that kernels call.
ENTRY_PREFIX = "_mlir_ciface_"
_INTRINSIC_PREFIX = "llvm.hivm."
# Part of the cache path; raise it when the extraction changes.
_FORMAT = 3


def library_order(core: str) -> tuple[str, str]:
    """Libraries in which functions of a kernel for `core` (`aic` or `aiv`) are looked up."""
    return (core, f"mix.{core}")


def subset(core: str, names: Collection[str], context: Any) -> Any:
    """A module with the functions `names` and all they call, parsed in LLVM context `context`.

    `names` are symbol names such as `_mlir_ciface_nd2nz_half`. Everything but these and the
    instructions has internal or linkonce linkage. Raises ToolchainError for an unknown name.
    """
    result: Any = None
    for name in sorted(names):
        part = llvm.parse_bitcode(_function_bitcode(core, name), context)
        if result is None:
            result = part
        else:
            result.link_in(part)
    if result is None:
        result = llvm.parse_assembly("", context)
    return result


def prepare(core: str, names: Collection[str]) -> None:
    """Extract those of `names` that are not cached yet, parsing each library at most once."""
    missing = {name for name in names if not _cached(core, name).is_file()}
    if not missing:
        return
    with exclusive(_folder(core) / ".lock"):
        missing = {name for name in missing if not _cached(core, name).is_file()}
        for library in library_order(core):
            if missing:
                missing -= _extract(core, library, missing)
    if missing:
        raise ToolchainError(
            f"the device library for {core} of ascendnpu-ir has no function "
            f"{', '.join(sorted(missing))}; the final module does not fit the installed version"
        )


def prepare_all(core: str) -> int:
    """Extract every function for `core` at once; returns how many there are.

    Takes 70 s and 70 MB for aiv (1583 functions), 11 s for aic (340). Worth it before many
    different kernels are compiled, such as a corpus.
    """
    names: set[str] = set()
    for library in library_order(core):
        data = toolchain.device_library(library).read_bytes()
        module = llvm.parse_bitcode(data, llvm.create_context())
        names |= {
            function.name
            for function in module.functions
            if function.name.startswith(ENTRY_PREFIX) and not function.is_declaration
        }
    prepare(core, names)
    return len(names)


@lru_cache(maxsize=4096)
def _function_bitcode(core: str, name: str) -> bytes:
    """The cached bitcode of one function."""
    prepare(core, [name])
    return _cached(core, name).read_bytes()


def _folder(core: str) -> Path:
    library = toolchain.device_library(core)
    status = library.stat()
    version = toolchain.versions()["ascendnpu-ir"]
    stamp = f"{version}-llvmlite-{toolchain.versions()['llvmlite']}-{status.st_size}-{_FORMAT}"
    return data_folder() / "device-library" / stamp / core


def _cached(core: str, name: str) -> Path:
    return _folder(core) / f"{name}.bc"


def _extract(core: str, library: str, wanted: set[str]) -> set[str]:
    """Write the bitcode of those of `wanted` that `library` defines; returns which they were."""
    context = llvm.create_context()
    module = llvm.parse_bitcode(toolchain.device_library(library).read_bytes(), context)
    found = {f.name for f in module.functions if f.name in wanted and not f.is_declaration}
    if not found:
        return found
    _keep_only(module, found)
    small = llvm.parse_assembly(_without_attributes(str(module)), context)
    for function in small.functions:
        if function.name.startswith(_INTRINSIC_PREFIX):
            function.name = function.name.removeprefix("llvm.")
    _write_each(core, small.as_bitcode(), sorted(found))
    return found


def _write_each(core: str, bitcode: bytes, names: list[str]) -> None:
    """Cut `bitcode` in halves down to one file for each name: each cut parses a smaller module."""
    module = llvm.parse_bitcode(bitcode, llvm.create_context())
    _keep_only(module, set(names))
    part = module.as_bitcode()
    if len(names) == 1:
        write_atomically(_cached(core, names[0]), part)
        return
    middle = len(names) // 2
    _write_each(core, part, names[:middle])
    _write_each(core, part, names[middle:])


def _keep_only(module: Any, names: set[str]) -> None:
    """Remove everything that `names` do not reach. What stays besides may be merged on linking."""
    for function in module.functions:
        if function.is_declaration or function.name in names:
            continue
        if function.linkage.name != "internal":
            function.linkage = "linkonce_odr"
    for variable in module.global_variables:
        variable.linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    passes.run(module, llvm.create_pass_builder(None, llvm.create_pipeline_tuning_options()))


def _without_attributes(text: str) -> str:
    """LLVM IR `text` without the attributes that this module's docstring names.

    llvmlite has no call that removes an attribute, so this edits the `attributes #n = { ... }`
    lines, whose grammar is a list of words and quoted strings.
    """
    lines = text.split("\n")
    for index, text_line in enumerate(lines):
        if text_line.startswith("attributes #"):
            line = _without_key(_without_key(text_line, "target-cpu"), "target-features")
            lines[index] = _without_memory(line)
    return "\n".join(lines)


def _without_key(line: str, key: str) -> str:
    """An attribute group without `"key"="value"`."""
    before, found, rest = line.partition(f' "{key}"="')
    return before + rest.partition('"')[2] if found else line


def _without_memory(line: str) -> str:
    """An attribute group without a `memory(...)` that names some kind of memory."""
    before, found, rest = line.partition(" memory(")
    effects, _, after = rest.partition(")")
    named = "argmem" in effects or "inaccessiblemem" in effects
    return before + after if found and named else line
