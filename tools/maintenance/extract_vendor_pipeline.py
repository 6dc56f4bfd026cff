"""Regenerate python/flagc/targets/ascend/vendor_pipeline/attempt*.txt from bishengir-compile.

bishengir-compile compiles a kernel up to three times, with less buffering after each failure of
memory planning. Its pass managers write a reproducer when a pass fails; the file of a later attempt
replaces the earlier one, so the reproducer goes into a named pipe, from which each attempt is read
in turn. Input: a kernel that overflows a memory in every attempt (the default does).

    python tools/maintenance/extract_vendor_pipeline.py [kernel.ttir] [--check]

`--check` compares with the files in the tree and exits with status 1 when they differ. Run it after
every change of the pinned ascendnpu-ir.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from flagc.targets.ascend import toolchain  # noqa: E402
from flagc.targets.ascend.adapter_stage import ttir_to_linalg  # noqa: E402
from flagc.targets.ascend.chips import CHIPS, DEFAULT_CHIP  # noqa: E402
from flagc.targets.ascend.pass_text import VendorPass, parse_pipeline  # noqa: E402
from flagc.targets.ascend.vendor_driver import compile_options  # noqa: E402
from flagc.targets.ascend.vendor_pipeline import CHIP_MARK, PIPELINE_FOLDER  # noqa: E402

OVERFLOWING_KERNEL = ROOT / "test/ascend/inputs/gemm_l0c_overflow.ttir"
# Options that a pass takes from a C++ struct and does not print: the reproducer shows defaults,
# with which loops that carry tensors fail to bufferize. The values are those of AscendNPU-IR's
# `HIVMPipelines.cpp:bufferizationPipeline`; test_vendor_pipeline.py shows the results to be equal.
UNPRINTED_OPTIONS = {
    "one-shot-bufferize": {
        "allow-return-allocs-from-loops": "true",
        "allow-unknown-ops": "true",
        "bufferize-function-boundaries": "true",
        "function-boundary-type-conversion": "identity-layout-map",
    }
}


def capture(linalg: str, chip: str) -> list[str]:
    """The pipeline text of every attempt, in order."""
    with tempfile.TemporaryDirectory() as name:
        pipe = Path(name) / "reproducer"
        os.mkfifo(pipe)
        source = Path(name) / "in.mlir"
        source.write_text(linalg)
        command = [str(toolchain.bishengir_compile()), str(source), *compile_options(chip)]
        command += [f"--mlir-pass-pipeline-crash-reproducer={pipe}", "-o", f"{name}/out"]
        # Opened for reading and writing, so that neither side waits for the other to open it.
        descriptor = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        data = b""
        try:
            while child.poll() is None:
                data += _read_available(descriptor)
            data += _read_available(descriptor)
        finally:
            child.kill()
            os.close(descriptor)
    return pipelines_in(data.decode())


def _read_available(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 20)
    except BlockingIOError:
        return b""


def pipelines_in(reproducers: str) -> list[str]:
    """The values of `pipeline:` in the resource sections of concatenated reproducer files."""
    found = []
    for line in reproducers.splitlines():
        key, _, value = line.strip().partition(": ")
        if key == "pipeline":
            found.append(json.loads(value.rstrip(",")))
    return found


def completed(entry: VendorPass) -> VendorPass:
    """`entry` with the options that the vendor sets without printing them."""
    options = entry.options
    for key, value in UNPRINTED_OPTIONS.get(entry.name, {}).items():
        words = [
            f"{key}={value}" if word.startswith(f"{key}=") else word for word in options.split(" ")
        ]
        options = " ".join(words)
    return replace(entry, options=options)


def as_file(pipeline: str, chip: str) -> str:
    """One pass a line, with the chip's name replaced by a mark."""
    lines = []
    group = None
    for entry in parse_pipeline(pipeline):
        here = (entry.nesting, entry.group)
        if group != here and group is not None and group[0]:
            lines.append(")")
        if group != here and entry.nesting:
            lines.append(f"{entry.nesting[0]}(")
        group = here
        lines.append(("  " if entry.nesting else "") + completed(entry).text + ",")
    if group is not None and group[0]:
        lines.append(")")
    text = "\n".join(lines).replace(",\n)", "\n),").removesuffix(",")
    return f"builtin.module(\n{text}\n)\n".replace(f"target={chip}", f"target={CHIP_MARK}")


def main() -> int:
    """Write or check the pipeline files; every chip must give the same text."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel", nargs="?", type=Path, default=OVERFLOWING_KERNEL)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    linalg = ttir_to_linalg(arguments.kernel.read_text(), DEFAULT_CHIP)
    texts = [as_file(text, DEFAULT_CHIP) for text in capture(linalg, DEFAULT_CHIP)]
    for chip in CHIPS:
        if [as_file(text, chip.name) for text in capture(linalg, chip.name)] != texts:
            print(f"{chip.name} has another pipeline than {DEFAULT_CHIP}", file=sys.stderr)
            return 1
    stale = False
    for number, text in enumerate(texts, start=1):
        target = PIPELINE_FOLDER / f"attempt{number}.txt"
        if arguments.check:
            same = target.exists() and target.read_text() == text
            print(f"{target}: {'up to date' if same else 'differs'}")
            stale = stale or not same
        else:
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
            print(f"{target}: {len(parse_pipeline(text))} passes")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
