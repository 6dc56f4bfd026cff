"""FlagGems' operators on the emulated AI Core, compared with torch.

    python tools/bench/flaggems.py [--only softmax] [--json results.json]

Every call of a FlagGems wrapper is made under `flagc.use("ascend:910B3")` in a forked child, on
random CPU tensors, and compared with torch in float64. An element is wrong if it is off by more
than `absolute + relative * |expected|`: 2e-5 and 2e-4 for fp32, 2e-3 and 4e-3 for fp16; sums of
many products get the multiple that the table of operators states. Integers and masks must be equal.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "corpus"))

TOLERANCES = {"float32": (2e-5, 2e-4), "float16": (2e-3, 4e-3)}
COLOURS = {"right": "green", "wrong": "bold red", "refused": "yellow", "fault": "magenta"}
MAX_CONFIGS = 12


@dataclass
class Outcome:
    """What one call came to; `status` is right, wrong, refused, fault, crashed or missing."""

    name: str
    dtype: str
    status: str
    detail: str = ""
    seconds: float = 0.0
    launches: int = 0


def load(variant: str) -> tuple[Any, list[Any]]:
    """Import FlagGems as on the variant's device; the mode to enter, and the operators."""
    import fake_device
    import intercept
    import launches
    import torch

    torch.set_num_threads(1)
    intercept.use_fake_driver()
    mode = fake_device.pose("npu" if variant == "ascend" else "cuda", (8, 0))
    launches.import_flaggems(variant)
    from flaggems_references import OPERATORS

    return mode, OPERATORS


def wrapper_of(name: str, variant: str) -> Any:
    """The variant's own wrapper, or the common one."""
    from launches import find_wrapper

    return find_wrapper(name, variant) or find_wrapper(name, "nvidia")


class RealTensors:
    """An executor that sees tensors where they are: on the CPU, whatever they pose as."""

    def __init__(self, executor: Any) -> None:
        self.executor = executor

    def prepare(self, launch: Any) -> None:
        import torch

        with torch._C.DisableTorchFunction():
            self.executor.prepare(launch)

    def execute(self, launch: Any, grid: Any, arguments: Any) -> Any:
        import torch

        with torch._C.DisableTorchFunction():
            for argument in arguments:
                if hasattr(argument.value, "_base") and not torch.is_tensor(argument.value):
                    argument.value.device = argument.value._base.device  # a StridedBuffer
            return self.executor.execute(launch, grid, arguments)


def adapt_launchers(recorder: Any) -> None:
    """FlagGems' tuner takes the first config that compiles; its cache of kernels is bypassed."""
    from flag_gems.utils.libentry import LibEntry
    from intercept import subclasses
    from triton.runtime.autotuner import Autotuner

    from flagc.errors import KernelError

    def run_tuned(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        configs = list(self.configs)
        if len(configs) > 1:
            configs = list(self.prune_configs(kwargs)) or configs
        configs = configs[:MAX_CONFIGS]
        for config in configs:
            self.best_config = config
            named = {**kwargs, **config.all_kwargs()}
            if config.pre_hook is not None:
                config.pre_hook({**self.nargs, **named})
            if len(configs) > 1:
                with recorder.trying_configs() as tried:
                    self.fn.run(*args, **named)
                try:
                    recorder.executor.prepare(tried[-1])
                except KernelError:
                    if config is configs[-1]:
                        raise
                    continue
            return self.fn.run(*args, **named)
        return None

    for subclass in subclasses(Autotuner):
        subclass.run = run_tuned
    LibEntry.key = lambda self, *_: object()


def run_case(
    operator: Any,
    dtype: Any,
    variant: str,
    mode: Any,
    without: Sequence[str],
    checks: bool,
    send: Connection,
) -> None:
    """Child: one call, compared; sends (status, detail, launches)."""
    import torch

    import flagc
    from flagc.aicore import KernelFault
    from flagc.errors import FlagcError

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    recorder: Any = None
    try:
        torch.manual_seed(int.from_bytes(os.urandom(4), "little"))
        positional, named = operator.make(dtype)
        expected = operator.reference(*widened(positional), **named)
        with flagc.use("ascend:910B3", without=without, checks=checks, threads=1) as session:
            recorder = session.recorder
            recorder.executor = RealTensors(recorder.executor)
            adapt_launchers(recorder)
            with mode:
                got = wrapper_of(operator.name, variant)(*positional, **named)
        detail = difference(got, expected, operator)
        send.send(("wrong" if detail else "right", detail, len(recorder.launches)))
    except BaseException as error:
        faulted = isinstance(error.__cause__, KernelFault)
        refused = isinstance(error, FlagcError)
        status = "fault" if faulted else "refused" if refused else "crashed"
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        text = without_folder(lines[0]) if refused else f"{type(error).__name__}: {lines[0]}"
        send.send((status, text[:400], len(recorder.launches) if recorder else 0))
    send.close()


def without_folder(line: str) -> str:
    """A message's line, its source file without the folders."""
    place, _, rest = line.partition(" ")
    return f"{place.rpartition('/')[2]} {rest}" if place.startswith("/") else line


def widened(value: Any) -> Any:
    """Floating-point tensors in float64, however nested."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value.clone()
    if isinstance(value, list | tuple):
        return type(value)(widened(item) for item in value)
    return value


def difference(got: Any, expected: Any, operator: Any) -> str:
    """What is wrong about a result; '' if nothing."""
    import torch

    many = isinstance(expected, tuple | list)
    wanted = list(expected) if many else [expected]
    results = list(got) if isinstance(got, tuple | list) else [got]
    if operator.compared:
        wanted, results = wanted[: operator.compared], results[: operator.compared]
    if len(results) < len(wanted):
        return f"{len(results)} results instead of {len(wanted)}"
    for number, pair in enumerate(zip(results, wanted, strict=False)):
        place = f"result {number}: " if len(wanted) > 1 else ""
        result, want = (torch.as_tensor(value) for value in pair)
        if result.shape != want.shape:
            return f"{place}shape {tuple(result.shape)} instead of {tuple(want.shape)}"
        problem = element_difference(result, want, operator.loose)
        if problem:
            return place + problem
    return ""


def element_difference(result: Any, want: Any, loose: float) -> str:
    """Count, largest error and first place of wrong elements; '' if there are none."""
    import torch

    if result.is_floating_point():
        absolute, relative = TOLERANCES.get(str(result.dtype).split(".")[-1], (1e-2, 1e-2))
        got, want = result.double(), want.to(result.dtype).double()
        error = (got - want).abs()
        wrong = ~((error <= loose * (absolute + relative * want.abs())) | (got == want))
        wrong &= ~(got.isnan() & want.isnan())
    else:
        got, want = result.long(), want.long()
        error = (got - want).abs().double()
        wrong = got != want
    count = int(wrong.sum())
    if not count:
        return ""
    first = tuple(int(i) for i in torch.nonzero(wrong.reshape(want.shape))[0])
    worst = float(error[wrong].nan_to_num(math.inf).max())
    return (
        f"{count} of {want.numel()} wrong, max error {worst:.3g}; first at {list(first)}:"
        f" {got[first].item():.6g} instead of {want[first].item():.6g}"
    )


def supervise(
    fork: Any, name: str, dtype: str, arguments: tuple[Any, ...], limit: float
) -> Outcome:
    """Run one case in a forked child, with a time limit."""
    receive, send = fork.Pipe(duplex=False)
    child = fork.Process(target=run_case, args=(*arguments, send))
    started = time.perf_counter()
    child.start()
    send.close()
    status, detail, launches = "crashed", "", 0
    try:
        if receive.poll(limit):
            status, detail, launches = receive.recv()
        else:
            detail = f"took more than {limit:g} s"
    except EOFError:
        child.join(5)
        detail = f"the process ended with {child.exitcode}"
    if child.is_alive():
        child.join(2 if detail == "" or status != "crashed" else 0)
    if child.is_alive():
        child.kill()
    child.join()
    return Outcome(name, dtype, status, detail, time.perf_counter() - started, launches)


def reason(detail: str) -> str:
    """What a refusal or fault says, without the place: calls that fail alike count together."""
    _, found, rest = detail.partition("error: ")
    text = rest if found else detail
    *_, last = text.split(": ", 2) if " block " in text else (text,)
    return " ".join(word for word in last.split() if not word.startswith("0x"))[:150]


def show(outcomes: list[Outcome]) -> None:
    """Print the table, the totals, and what refusals and crashes say most often."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table("operator", "type", "outcome", "launches", "s", "detail")
    for outcome in outcomes:
        table.add_row(
            outcome.name,
            outcome.dtype,
            Text(outcome.status, style=COLOURS.get(outcome.status, "red")),
            str(outcome.launches),
            f"{outcome.seconds:.1f}",
            Text(outcome.detail),
        )
    console.print(table)
    for status in ("refused", "fault", "crashed"):
        reasons = Counter(
            reason(outcome.detail) for outcome in outcomes if outcome.status == status
        )
        for text, count in reasons.most_common(8):
            console.print(Text(f"{count:4} {status}: {text}", style=COLOURS.get(status, "red")))
    totals = Counter(outcome.status for outcome in outcomes)
    operators = {outcome.name.split(" ")[0] for outcome in outcomes}
    right = operators - {o.name.split(" ")[0] for o in outcomes if o.status != "right"}
    console.print(f"{len(outcomes)} calls:", ", ".join(f"{n} {s}" for s, n in totals.most_common()))
    console.print(f"{len(operators)} operators, {len(right)} of them right in every call")


def main() -> int:
    """Run every operator; exit status 1 if a result is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the outcomes here")
    parser.add_argument("--only", default="", help="only operators whose name contains this")
    parser.add_argument("--variant", choices=("ascend", "nvidia"), default="ascend")
    parser.add_argument("--without", default="", help="default passes to leave out, with commas")
    parser.add_argument("--no-checks", action="store_true", help="the emulator checks nothing")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds per call")
    options = parser.parse_args()
    mode, operators = load(options.variant)
    without = [name for name in options.without.split(",") if name]
    fork = multiprocessing.get_context("fork")
    outcomes: list[Outcome] = []
    for operator in operators:
        name = f"{operator.name} {operator.note}".strip()
        if options.only not in name:
            continue
        if wrapper_of(operator.name, options.variant) is None:
            outcomes.append(Outcome(name, "", "missing", "FlagGems has no such wrapper"))
            continue
        for dtype in operator.dtypes:
            case = (operator, dtype, options.variant, mode, without, not options.no_checks)
            kind = str(dtype).split(".")[-1].replace("int64", "-")
            outcomes.append(supervise(fork, name, kind, case, options.timeout))
            last = outcomes[-1]
            print(f"{name} {kind}: {last.status} {last.detail[:150]}", file=sys.stderr, flush=True)
            if options.json:
                text = json.dumps([asdict(outcome) for outcome in outcomes], indent=1)
                options.json.write_text(text)
    show(outcomes)
    return int(any(outcome.status == "wrong" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
