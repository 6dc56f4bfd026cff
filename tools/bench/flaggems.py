"""FlagGems' operators on the emulated AI Core, compared with torch.

    python tools/bench/flaggems.py [--only softmax] [--json results.json]

Every call of a FlagGems wrapper is made under `flagc.use("ascend:910B3")` in a forked child, on
random CPU tensors, and compared with torch in float64. An element is wrong if it is off by more
than `absolute + relative * |expected|`: 2e-5 and 2e-4 for fp32, 2e-3 and 4e-3 for fp16; sums of
many products get the multiple that the table of operators states. Integers and masks must be equal;
random numbers must be distributed as they should.

Where FlagGems' variant for Ascend does not pass Triton's frontend (it uses blocks of 48 elements,
say), its common wrapper of the operator is tried too, and marked as such.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "corpus"))

from flaggems_report import Outcome, show, write

TOLERANCES = {"float32": (2e-5, 2e-4), "float16": (2e-3, 4e-3)}
MAX_CONFIGS = 12


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


def wrappers_of(name: str, variant: str) -> dict[str, Any]:
    """What FlagGems uses on the variant's device, and the common wrapper if that is another."""
    from launches import find_wrapper

    common = find_wrapper(name, "nvidia")
    own = find_wrapper(name, variant) or common
    found = {variant: own} if own is not None else {}
    return found if common in (None, own) else {**found, "common": common}


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
    wrapper: Any,
    dtype: Any,
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
                got = wrapper(*positional, **named)
        launched = len(recorder.launches)
        detail = judge(operator, positional, got, expected)
        if not launched:
            detail = "no kernel was launched"
        send.send((("wrong" if launched else "missing") if detail else "right", detail, launched))
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


def judge(operator: Any, arguments: Any, got: Any, expected: Any) -> str:
    """What is wrong about a result; '' if nothing."""
    if operator.accepts is not None:
        return str(operator.accepts(arguments, got))
    return difference(got, expected, operator)


def difference(got: Any, expected: Any, operator: Any) -> str:
    """How a result differs from the expected one; '' if it does not."""
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


def supervise(fork: Any, name: str, arguments: tuple[Any, ...], limit: float) -> Outcome:
    """Run one case in a forked child, with a time limit."""
    operator, _, dtype, *_ = arguments
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
    kind = str(dtype).split(".")[-1].replace("int64", "-")
    seconds = time.perf_counter() - started
    return Outcome(name, kind, status, detail, seconds, launches, operator.family)


def outcomes_of(operator: Any, options: argparse.Namespace, mode: Any) -> Iterator[Outcome]:
    """Run one operator's calls, by the common wrapper too where the variant's does not compile."""
    fork = multiprocessing.get_context("fork")
    without = [name for name in options.without.split(",") if name]
    name = f"{operator.name} {operator.note}".strip()
    wrappers = wrappers_of(operator.name, options.variant)
    if not wrappers:
        reason = "FlagGems has no such wrapper"
        yield Outcome(name, "", "missing", reason, family=operator.family)
    for dtype in operator.dtypes[: 1 if options.one_type else None]:
        for kind, wrapper in wrappers.items():
            case = (operator, wrapper, dtype, mode, without, not options.no_checks)
            outcome = supervise(fork, name, case, options.timeout)
            outcome.wrapper = kind
            yield outcome
            if not is_frontends(outcome):
                break


def is_frontends(outcome: Outcome) -> bool:
    """Whether Triton's frontend refused the kernel: no stage of the vendor's saw it."""
    refused = outcome.status == "refused" and ": error:" in outcome.detail
    return refused and "[stage" not in outcome.detail and "Ascend" not in outcome.detail


def main() -> int:
    """Run every operator; exit status 1 if a result is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the outcomes here")
    parser.add_argument(
        "--only",
        default="",
        help="only calls whose name contains one of these, separated by commas",
    )
    parser.add_argument("--one-type", action="store_true", help="only the first element type")
    parser.add_argument("--family", default="", help="only these families, with commas")
    parser.add_argument("--variant", choices=("ascend", "nvidia"), default="ascend")
    parser.add_argument("--without", default="", help="default passes to leave out, with commas")
    parser.add_argument("--no-checks", action="store_true", help="the emulator checks nothing")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds per call")
    options = parser.parse_args()
    mode, operators = load(options.variant)
    outcomes: list[Outcome] = []
    for operator in operators:
        name = f"{operator.name} {operator.note}"
        if not any(part in name for part in options.only.split(",")):
            continue
        if options.family and operator.family not in options.family.split(","):
            continue
        for last in outcomes_of(operator, options, mode):
            outcomes.append(last)
            told = f"{last.name} {last.dtype} ({last.wrapper}): {last.status} {last.detail[:150]}"
            print(told, file=sys.stderr, flush=True)
            if options.json:
                write(options.json, outcomes)
    show(outcomes)
    return int(any(outcome.status == "wrong" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
