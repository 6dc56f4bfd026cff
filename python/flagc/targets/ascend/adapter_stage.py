"""Stage linalg: TTIR to linalg, memref and scf through the vendor's triton-adapter-opt."""

from __future__ import annotations

from typing import Any

from flagc.targets.ascend import toolchain
from flagc.targets.ascend.chips import chip as find_chip
from flagc.targets.ascend.cube_atomics import store_cube_atomics
from flagc.targets.ascend.generic_ir import (
    parse_generic,
    plain_context,
    print_generic,
    properties,
    remove_attribute,
    walk,
)
from flagc.targets.ascend.vendor_process import (
    DEFAULT_TIMEOUT,
    VendorDiagnostic,
    VendorError,
    place_of_location,
    run_tool,
)

_A5 = "compile-on-910-95=False"
_SIMT = "force-simt-template=False"

# The passes and options of triton-ascend 3.2.0's `backends/ascend/compiler.py:ttir_to_linalg` for
# 910B and 910_93 (`compile-on-910-95` and `force-simt-template` are for the 950).
ADAPTER_PASSES = (
    f"--discrete-mask-access-conversion={_A5} {_SIMT}",
    "--triton-to-annotation",
    f"--triton-to-unstructure={_A5} {_SIMT}",
    "--triton-to-hivm",
    "--triton-to-hfusion",
    "--triton-to-llvm",
    "--bubble-up-operation",
    "--triton-to-linalg=global-kernel=false named-ops=True enable-nd2nz-on-vector=False "
    f"enable-select-analysis=False {_A5}",
)


def ttir_to_linalg(ttir_text: str, chip: str, *, timeout: float = DEFAULT_TIMEOUT) -> str:
    """The kernel as linalg text, with the source locations of `ttir_text`.

    The result is what bishengir-compile takes: the attribute `mix_mode`, by which the adapter tells
    the vendor's launcher the core kind, is removed as the vendor's driver does, and the text is
    printed by the vendor's own bishengir-opt, so it is known to parse there. `chip` is checked; the
    adapter gives the same text for every 910B and 910_93 chip.
    """
    find_chip(chip)
    linalg, _ = ttir_to_linalg_with_mode(ttir_text, timeout=timeout)
    return linalg


def ttir_to_linalg_with_mode(
    ttir_text: str, *, timeout: float = DEFAULT_TIMEOUT
) -> tuple[str, str | None]:
    """As `ttir_to_linalg`, with the adapter's guess of the core kind: `aic`, `aiv` or `mix`."""
    arguments = ["-", *ADAPTER_PASSES, "--mlir-print-debuginfo", "--mlir-print-op-generic"]
    generic = run_tool(toolchain.adapter(), arguments, ttir_text, timeout=timeout).stdout
    with plain_context() as context:
        module = parse_generic(generic, context)
        _refuse_left_over(module)
        mode = _mix_mode(module)
        remove_attribute(module, "mix_mode")
        if mode != "aiv":
            store_cube_atomics(module)
        generic = print_generic(module, locations=True)
    opt = toolchain.bishengir_opt()
    printed = run_tool(opt, ["-", "--mlir-print-debuginfo"], generic, timeout=timeout)
    return printed.stdout, mode


def _refuse_left_over(module: Any) -> None:
    """The adapter leaves ops it does not know as they are; bishengir-opt would not even parse."""
    found = []
    for operation in walk(module.operation):
        if operation.name.startswith("tt."):
            given = {**properties(operation), **dict(_pairs(operation.attributes))}
            symbol = f" ({given['symbol'].value})" if "symbol" in given else ""
            text = f"'{operation.name}' op{symbol} is not lowered by the vendor's adapter"
            file, line, column = place_of_location(str(operation.location))
            found.append(VendorDiagnostic(file, line, column, "error", text))
    if found:
        raise VendorError(toolchain.ADAPTER_NAME, "error", 0, found)


def _pairs(attributes: Any) -> list[tuple[str, Any]]:
    return [(name, attributes[name]) for name in (str(entry) for entry in attributes)]


def _mix_mode(module: Any) -> str | None:
    """The value of `mix_mode` on the first function that has it."""
    for operation in module.body.operations:
        if "mix_mode" in operation.attributes:
            return str(operation.attributes["mix_mode"].value)
    return None
