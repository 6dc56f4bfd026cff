"""Stage object: the kernel's binary, through CANN's closed compiler hivmc when it is on PATH."""

from __future__ import annotations

import tempfile
from pathlib import Path

from flagc.targets.ascend import toolchain
from flagc.targets.ascend.chips import chip as find_chip
from flagc.targets.ascend.emission.device_functions import bitcode
from flagc.targets.ascend.errors import ToolchainError
from flagc.targets.ascend.vendor_process import DEFAULT_TIMEOUT, failure_of, run_tool

# What bishengir-compile 1.2.0 gives hivmc for a Triton kernel, as recorded with a stand-in for
# hivmc on PATH. The chip is named in the module itself.
HIVMC_OPTIONS = (
    "--enable-debug-info=false",
    "--enable-static-bare-ptr=true",
    "--enable-bin-relocation=true",
    "--enable-hivm-inject-barrier-all-sync=false",
    "--enable-sanitizer=false",
    "--enable-triton-kernel-compile=true",
)
_COMPATIBLE = "hacc.hivmc_compatible_print = true, "
_VERSION = 'hacc.hivmc_version = #hacc.hivmc_version<"'


def compile_object(final_text: str, chip: str, timeout: float = DEFAULT_TIMEOUT) -> bytes:
    """The kernel object of the final module `final_text`.

    Raises ToolchainError without hivmc, VendorError when it fails. Run only against a stand-in so
    far: no machine of ours has CANN.
    """
    find_chip(chip)
    tool = toolchain.hivmc()
    if tool is None:
        raise ToolchainError(
            "the kernel object needs hivmc of Huawei's CANN toolkit, which is not on PATH"
        )
    with tempfile.TemporaryDirectory(prefix="flagc-object-") as folder:
        source, target = Path(folder) / "module.hivm.opt.mlir", Path(folder) / "kernel.o"
        source.write_text(without_driver_attributes(final_text))
        options = [*HIVMC_OPTIONS, *_own_functions(final_text, Path(folder))]
        arguments = [str(source), *options, "-o", str(target)]
        output = run_tool(tool, arguments, "", timeout=timeout)
        if not target.is_file():
            raise failure_of(tool, 0, output.stderr + "hivmc wrote no object")
        return target.read_bytes()


def _own_functions(final_text: str, folder: Path) -> list[str]:
    """Write our device functions that the module calls as bitcode; returns the option to link it.

    bishengir-compile gives hivmc the same option for its --link-aicore-bitcode.
    """
    code = bitcode(final_text)
    if code is None:
        return []
    file = folder / "flagc.bc"
    file.write_bytes(code)
    return [f"--link-aicore-bitcode={file}"]


def without_driver_attributes(final_text: str) -> str:
    """The module without the two attributes that the driver's passes leave for each other.

    bishengir-compile removes them before it calls hivmc. They stand on the module alone, in one
    spelling.
    """
    before, found, rest = final_text.partition(_VERSION)
    if found:
        final_text = before + rest.partition('">, ')[2]
    return final_text.replace(_COMPATIBLE, "", 1)
