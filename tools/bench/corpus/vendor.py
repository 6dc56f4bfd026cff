"""Run the bare vendor chain over a corpus and sort the failures into classes.

    python tools/bench/corpus/vendor.py --corpus /work/env/corpus-out \
        --adapter /work/env/adapter/triton-adapter-opt

TTIR goes through `triton-adapter-opt`, then `bishengir-compile`; a kernel has passed when the
latter gets as far as calling `hivmc`.  `failures.json` gets one entry per kernel that has not.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

REACHED_HIVMC = "External hivmc run fails, returning module before running external compiler"
ADAPTER_PASSES = (
    "--discrete-mask-access-conversion=compile-on-910-95=False force-simt-template=False",
    "--triton-to-annotation",
    "--triton-to-unstructure=compile-on-910-95=False force-simt-template=False",
    "--triton-to-hivm",
    "--triton-to-hfusion",
    "--triton-to-llvm",
    "--bubble-up-operation",
    "--triton-to-linalg=global-kernel=false named-ops=True enable-nd2nz-on-vector=False"
    " enable-select-analysis=False compile-on-910-95=False",
)
COMPILE_OPTIONS = (
    "--target=Ascend910B3",
    "--enable-auto-multi-buffer=true",
    "--enable-auto-bind-sub-block=true",
    "--enable-hfusion-compile=true",
    "--enable-hivm-compile=true",
    "--enable-triton-kernel-compile=true",
    "--hivmc-version=0.2.0",
)
MIX_MODE = re.compile(r'mix_mode = "\w+"(, )?|, mix_mode = "\w+"')
TELLING = re.compile(
    r"error:|Assertion|LLVM ERROR|UNREACHABLE|Unsupported type|terminate called|^timeout$"
)
NOISE = re.compile(r"warning:|\[WARNING\]|note: see current|hivmc|BiShengI?H?IR pipeline")
FRAME = re.compile(r"#\d+ 0x\w+ \(\S*/([\w-]+)\+(0x\w+)\)")
CLASSES = (
    ("ub-overflow", r"ub overflow, requires"),
    ("l0c-overflow", r"cc overflow, requires"),
    ("l1-overflow", r"cbuf overflow, requires"),
    ("masked-access-without-other", r"Unsupported type for constant creation"),
    ("libdevice", r"tt\.extern_elementwise"),
    ("inline-asm", r"tt\.elementwise_inline_asm"),
    ("assume", r"llvm\.intr\.assume"),
    ("zero-stride", r"strides must not be zero"),
    ("host-descriptor", r"tt\.func.*|tensordesc"),
    ("reduce-of-many-values", r"Only reduce or reduce with index"),
    ("interleaved-access", r"InterleaveOptimization"),
    ("store-not-from-ub", r"only support store ub to gm"),
    ("8-bit-select", r"'hivm\.hir\.vsel' op failed to verify"),
    ("fp8", r"f8E\w+"),
    ("f64", r"\bf64\b"),
    ("timeout", r"timeout"),
)


@dataclass(frozen=True)
class Outcome:
    """What the chain made of one kernel."""

    kernel: str
    passed: bool
    stage: str
    last_pass: str
    kind: str
    error: str
    adapter_s: float
    compile_s: float


def run(command: list[str], limit: float) -> tuple[int, str, float]:
    """Exit status, all output, seconds; status 124 when the limit was reached."""
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, timeout=limit, check=False)
        status, output = done.returncode, (done.stdout + done.stderr).decode(errors="replace")
    except subprocess.TimeoutExpired as expired:
        status, output = 124, (expired.stderr or b"").decode(errors="replace") + "\ntimeout"
    return status, output, time.monotonic() - start


def essence(output: str) -> str:
    """The lines of a tool's output that say why it failed."""
    lines = [line for line in output.splitlines() if not NOISE.search(line)]
    chosen = [line for line in lines if TELLING.search(line)][:6]
    if "Stack dump" in output:
        frames = [f"{tool}+{at}" for tool, at in FRAME.findall(output) if "libc" not in tool]
        chosen.append("crashed in " + " < ".join(frames[3:7]))
    return "\n".join(line[:500] for line in chosen or lines[-4:])


def classify(stage: str, status: int, error: str) -> str:
    """Name the class of a failure from its text, or else from how the tool ended."""
    for name, pattern in CLASSES:
        if re.search(pattern, error, re.IGNORECASE):
            return name
    if status < 0 or "Assertion" in error or "Stack dump" in error:
        return f"{stage}-crash"
    return f"{stage}-other"


def failing_pass(ttir: Path, adapter: Path, limit: float) -> str:
    """Name of the first adapter pass that the kernel does not survive."""
    for count in range(1, len(ADAPTER_PASSES)):
        command = [str(adapter), str(ttir), *ADAPTER_PASSES[:count], "-o", "/dev/null"]
        if run(command, limit)[0] != 0:
            break
    else:
        count = len(ADAPTER_PASSES)
    return ADAPTER_PASSES[count - 1].split("=")[0].lstrip("-")


def chain(ttir: Path, adapter: Path, compiler: Path, limit: float, scratch: Path) -> Outcome:
    """Take one kernel through the chain."""
    linalg = scratch / "kernel.mlir"
    name = f"{ttir.parent.name}/{ttir.name}"
    command = [str(adapter), str(ttir), *ADAPTER_PASSES, "-o", str(linalg)]
    status, output, adapter_s = run(command, limit)
    if status != 0:
        error = essence(output)
        kind = classify("adapter", status, error)
        at = failing_pass(ttir, adapter, limit)
        return Outcome(name, False, "adapter", at, kind, error, adapter_s, 0.0)
    linalg.write_text(MIX_MODE.sub("", linalg.read_text()))
    command = [str(compiler), str(linalg), *COMPILE_OPTIONS, "-o", str(scratch / "out")]
    status, output, compile_s = run(command, limit)
    if REACHED_HIVMC in output:
        return Outcome(name, True, "done", "", "passed", "", adapter_s, compile_s)
    error = essence(output)
    kind = classify("bishengir", status, error)
    return Outcome(name, False, "bishengir", "", kind, error, adapter_s, compile_s)


def find_compiler() -> Path:
    """`bishengir-compile` of the ascendnpu-ir package that is installed here."""
    spec = find_spec("ascendnpuir")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("ascendnpu-ir is not installed in this environment")
    return Path(next(iter(spec.submodule_search_locations))) / "bin" / "bishengir-compile"


def summarize(outcomes: list[Outcome]) -> None:
    """Print the rate and the classes, most frequent first."""
    passed = sum(1 for outcome in outcomes if outcome.passed)
    rate = passed / max(len(outcomes), 1)
    print(f"{passed} of {len(outcomes)} kernels reach the end ({rate:.1%})")
    classes: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if not outcome.passed:
            classes[outcome.kind].append(outcome)
    for kind, members in sorted(classes.items(), key=lambda item: -len(item[1])):
        names = ", ".join(member.kernel for member in members[:3])
        print(f"{len(members):4}  {kind}: {names}")


def main() -> int:
    """Run the chain on every kernel, or on those whose name contains `--only`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, default=Path("corpus"))
    parser.add_argument(
        "--adapter", type=Path, default=Path("/work/env/adapter/triton-adapter-opt")
    )
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per tool and kernel")
    parser.add_argument("--only", default="")
    parser.add_argument("--output", type=Path, help="default: failures.json in the corpus")
    options = parser.parse_args()
    compiler = find_compiler()
    outcomes: list[Outcome] = []
    scratch = Path(tempfile.mkdtemp(prefix="vendor-"))
    kernels = sorted(options.corpus.rglob("*.ttir"))
    chosen = [path for path in kernels if options.only in f"{path.parent.name}/{path.name}"]
    for index, path in enumerate(chosen):
        outcomes.append(chain(path, options.adapter, compiler, options.limit, scratch))
        if sys.stderr.isatty():
            print(f"\r{index + 1}/{len(chosen)}", end="", file=sys.stderr)
    shutil.rmtree(scratch)
    small = [outcome for outcome in outcomes if ".small." in outcome.kernel]
    main_kernels = [outcome for outcome in outcomes if ".small." not in outcome.kernel]
    summarize(main_kernels)
    if small:
        print("smallest configurations:")
        summarize(small)
    output = options.output or options.corpus / "failures.json"
    failed = [asdict(outcome) for outcome in outcomes if not outcome.passed]
    output.write_text(json.dumps(failed, indent=1))
    print(f"{len(failed)} failures in {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
