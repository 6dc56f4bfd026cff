"""Record the corpus: run every case in a child process, write TTIR and a manifest per kernel set.

    python tools/bench/corpus/capture.py --out corpus

Sets: `nvidia` (FlagGems' common operators), `hopper` and `ascend` (its variants), `tutorials`.
One `<kernel>.ttir` per distinct kernel (name and source), its first autotune configuration;
`<kernel>.small.ttir` is the smallest configuration where that is another one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import sys
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

SETS = ("nvidia", "hopper", "ascend", "tutorials")


def capture_set(name: str, out: Path, timeout: float, only: str) -> None:
    """Record one set in this process, a forked child per case, into `out / name`."""
    import torch
    from launches import load_set

    torch.set_num_threads(1)
    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    calls = load_set(name)
    kernels: dict[str, dict[str, Any]] = {}
    elsewhere = recorded_before(name, out)
    failures: list[dict[str, str]] = []
    fork = multiprocessing.get_context("fork")
    for index, (op, call) in enumerate(calls):
        if only and only not in op:
            continue
        receive, send = fork.Pipe(duplex=False)
        child = fork.Process(target=run_case, args=(call, elsewhere | set(kernels), folder, send))
        child.start()
        send.close()
        problem = drain(receive, kernels, op, timeout)
        if problem is None:
            child.join(5)
            if child.exitcode != 0:
                problem = f"child ended with {child.exitcode}"
        if child.is_alive():
            child.kill()
        child.join()
        if problem:
            failures.append({"op": op, "case": str(index), "error": problem})
    manifest = {
        "set": name,
        "calls": len(calls),
        "kernels": sorted(kernels.values(), key=lambda entry: entry["file"]),
        "failed_wrappers": failures,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, default=str))
    report(manifest)


def recorded_before(name: str, out: Path) -> set[str]:
    """Keys of the kernels that the sets before `name` already hold: a kernel is recorded once."""
    keys: set[str] = set()
    for earlier in SETS[: SETS.index(name)]:
        manifest = out / earlier / "manifest.json"
        if manifest.exists():
            entries = json.loads(manifest.read_text())["kernels"]
            keys.update(entry["key"] for entry in entries if not entry["error"])
    return keys


def drain(
    receive: Connection, kernels: dict[str, dict[str, Any]], op: str, timeout: float
) -> str | None:
    """Take a child's records until it says it has finished; the result is its problem, if any."""
    problem = None
    while True:
        if not receive.poll(timeout):
            return f"timeout after {timeout:g} s"
        try:
            kind, record = receive.recv()
        except EOFError:
            return problem
        if kind == "kernel":
            kernels[record["key"]] = {**record, "op": op}
        elif kind == "launch":
            if record in kernels:
                kernels[record]["launches"] += 1
        else:
            problem = record


def run_case(call: Any, known: set[str], folder: Path, send: Connection) -> None:
    """Child: make one call with launches recorded, send a record for every new kernel."""
    from launches import Collector

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    collector = Collector(known, folder, lambda kind, record: send.send((kind, record)))
    try:
        collector.run(call)
    except BaseException as error:
        text = str(error).strip() or "no message"
        send.send(("problem", f"{type(error).__name__}: {text[:300]}"))
    send.close()


def report(manifest: dict[str, Any]) -> None:
    """Print what was recorded and why wrappers failed."""
    kernels = manifest["kernels"]
    lowered = sum(1 for entry in kernels if not entry["error"])
    failures = manifest["failed_wrappers"]
    print(
        f"{manifest['set']}: {manifest['calls']} calls, {len(kernels)} kernels,"
        f" {lowered} with TTIR, {len(failures)} calls failed"
    )
    for entry in kernels:
        if entry["error"]:
            lines = entry["error"].splitlines()
            reason = f"{lines[0]} / {lines[-1]}"
            print(f"  no TTIR: {entry['kernel']} ({entry['op']}): {reason[:220]}")
    for error, count in Counter(f"{f['op']}: {f['error'][:160]}" for f in failures).items():
        print(f"  {count}x {error}")


def main() -> int:
    """Record the requested sets, each in its own process since they pose as different devices."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("corpus"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--timeout", type=float, default=90.0, help="seconds a case may be silent")
    parser.add_argument("--only", default="", help="record only cases whose name contains this")
    options = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    status = 0
    for name in options.sets:
        worker = spawn.Process(
            target=capture_set, args=(name, options.out, options.timeout, options.only)
        )
        worker.start()
        worker.join()
        status = status or int(worker.exitcode != 0)
    return status


if __name__ == "__main__":
    sys.exit(main())
