"""`flagc-bundle DIR`: launch and time the kernels that `flagc -o DIR` compiled elsewhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import flagc
from flagc.cli.common import run_command
from flagc.errors import EXIT_GOOD, UsageError, nearest
from flagc.pipeline.diagnostics import Table
from flagc.report import terminal

if TYPE_CHECKING:
    from flagc.targets.cuda.bundle import BundledKernel

_SECONDS = 0.3
_DTYPES = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    "i1": "bool",
    "u8": "uint8",
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--kernel", metavar="NAME", help="Which kernel, where the bundle has several.")
@click.option(
    "--arg",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A number, a shape for a tensor of random values (4096x4096), or a file.pt.",
)
@click.option("--grid", default="", metavar="X[,Y[,Z]]", help="Default: the script's only one.")
@click.option("--save", multiple=True, metavar="NAME=FILE.pt", help="Write a tensor afterwards.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of random values.")
@click.option("--time", "timed", is_flag=True, help="Time the launch, too.")
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), default="text")
@click.version_option(flagc.__version__, prog_name="flagc-bundle")
def command(
    folder: Path,
    kernel: str | None,
    assignments: tuple[str, ...],
    grid: str,
    save: tuple[str, ...],
    seed: int,
    timed: bool,
    output_format: str,
) -> int:
    """Launch a kernel of the bundle in FOLDER on this machine's GPU.

    Without --arg, list the bundle's kernels and their arguments.
    """
    from flagc.targets.cuda.bundle import load_bundle

    kernels = load_bundle(folder)
    if not assignments:
        _list(kernels)
        return EXIT_GOOD
    chosen = _choose(kernels, kernel)
    sizes = _grid(chosen, grid)
    values = _values(chosen, assignments, seed)
    document = _run(chosen, sizes, values, timed)
    _save(values, save)
    if output_format == "json":
        print(json.dumps(document, indent=2))
    else:
        _show(document)
    return EXIT_GOOD


def _list(kernels: dict[str, BundledKernel]) -> None:
    for name, kernel in kernels.items():
        rows = tuple(
            (
                parameter["name"],
                parameter.get("type", "constant"),
                str(parameter.get("constant", parameter.get("value", ""))),
                str(divisor) if (divisor := parameter.get("divisible_by", 1)) > 1 else "",
            )
            for parameter in kernel.parameters
        )
        grids = ", ".join("x".join(map(str, grid)) for grid in kernel.grids) or "none recorded"
        title = f"{name} for {kernel.target}, grids {grids}"
        terminal.print_table(Table(title, ("argument", "type", "value", "divisible by"), rows))


def _choose(kernels: dict[str, BundledKernel], name: str | None) -> BundledKernel:
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name not in kernels:
        asked = f"unknown kernel '{name}'" if name else "the bundle has several kernels"
        raise UsageError(f"--kernel: {asked}; {nearest(name or '', list(kernels))}")
    return kernels[name]


def _grid(kernel: BundledKernel, text: str) -> tuple[int, int, int]:
    parts: Sequence[Any] = text.split(",")
    if not text:
        if len(set(kernel.grids)) != 1:
            raise UsageError("--grid X[,Y[,Z]] is needed: the script launched with none or several")
        parts = kernel.grids[0]
    if not 1 <= len(parts) <= 3 or not all(str(part).strip().isdigit() for part in parts):
        raise UsageError(f"--grid {text}: write one to three numbers, e.g. --grid 32,32")
    x, y, z = [*map(int, parts), 1, 1][:3]
    return x, y, z


def _values(kernel: BundledKernel, assignments: Sequence[str], seed: int) -> dict[str, Any]:
    """Return the arguments' values by name, tensors on the GPU.

    Raises:
        UsageError: a name or value that makes no sense for the kernel.
        EnvironmentProblem: no GPU here.
    """
    import torch

    from flagc.targets.cuda.executor import require_gpu
    from flagc.targets.cuda.facts import cuda_facts

    require_gpu(cuda_facts(kernel.target.partition(":")[2]).capability, kernel.target)
    torch.manual_seed(seed)
    types = {p["name"]: p.get("type", "constant") for p in kernel.parameters}
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or name not in types:
            raise UsageError(f"--arg {assignment}: write NAME=VALUE; {nearest(name, list(types))}")
        values[name] = _value(types[name], text)
    return values


def _value(kind: str, text: str) -> Any:
    """Return a tensor for a pointer's type (`*fp16`), else a number."""
    import torch

    if kind.startswith("*"):
        if text.endswith(".pt"):
            return torch.load(text, map_location="cuda", weights_only=True)
        sizes = text.split("x")
        if not all(size.isdigit() for size in sizes):
            raise UsageError(f"'{text}' is neither a shape such as 4096x4096 nor a .pt file")
        return _random(kind.removeprefix("*").removeprefix("k"), [int(size) for size in sizes])
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _random(kind: str, shape: list[int]) -> Any:
    import torch

    if kind not in _DTYPES:
        raise UsageError(f"no random values of type {kind}; give a .pt file")
    dtype = getattr(torch, _DTYPES[kind])
    if dtype.is_floating_point:
        return torch.randn(shape, device="cuda").to(dtype)
    return torch.randint(0, 2, shape, device="cuda").to(dtype)


def _run(
    kernel: BundledKernel, grid: tuple[int, int, int], values: dict[str, Any], timed: bool
) -> dict[str, Any]:
    from flagc.targets.cuda.bench_device import CudaBenchDevice

    device = CudaBenchDevice()
    kernel.launch(grid, **values)
    device.wait()
    document: dict[str, Any] = {
        "kernel": kernel.name,
        "grid": list(grid),
        "device": device.describe(),
        "tensors": {name: _summary(value) for name, value in values.items() if _is_tensor(value)},
    }
    if timed:
        document["timing"] = _timing(kernel, grid, values, device)
    return document


def _timing(
    kernel: BundledKernel, grid: tuple[int, int, int], values: dict[str, Any], device: Any
) -> dict[str, Any]:
    """Time the launch on copies of its arguments; see docs/bench.md."""
    from functools import partial

    from flagc.bench.executor import sets_needed
    from flagc.bench.timing import measure
    from flagc.check.snapshot import snapshot

    before = snapshot(values)
    sets = sets_needed(device, before.bytes)
    calls = [partial(kernel.launch, grid, **before.values()) for _ in range(sets)]
    timing = measure(device, {kernel.name: calls}, _SECONDS)[kernel.name]
    return {**timing.describe(), "input_sets": sets}


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "data_ptr")


def _summary(tensor: Any) -> dict[str, Any]:
    numbers = tensor.double()
    return {
        "shape": list(tensor.shape),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "mean": float(numbers.mean()),
        "rms": float(numbers.square().mean().sqrt()),
        "not_finite": int((~numbers.isfinite()).sum()),
    }


def _save(values: dict[str, Any], wanted: Sequence[str]) -> None:
    import torch

    for item in wanted:
        name, equals, file = item.partition("=")
        if not equals or not _is_tensor(values.get(name)):
            raise UsageError(f"--save {item}: write NAME=FILE.pt with the name of a tensor")
        torch.save(values[name].cpu(), file)


def _show(document: dict[str, Any]) -> None:
    console = terminal.out()
    grid = "x".join(map(str, document["grid"]))
    console.print(f"ran {document['kernel']}, grid {grid}, on {document['device']['gpu']}")
    rows = tuple(
        (
            name,
            "x".join(map(str, facts["shape"])),
            facts["dtype"],
            f"{facts['mean']:.6g}",
            f"{facts['rms']:.6g}",
            facts["not_finite"],
        )
        for name, facts in document["tensors"].items()
    )
    columns = ("tensor", "shape", "type", "mean", "rms", "NaN or infinite")
    terminal.print_table(Table("tensors after the launch", columns, rows))
    if "timing" in document:
        timing = document["timing"]
        low, high = timing["quartiles"]
        console.print(
            f"mean {timing['mean'] * 1e6:.2f} us, median {timing['median'] * 1e6:.2f} us, "
            f"quartiles {low * 1e6:.2f} .. {high * 1e6:.2f} us; {timing['rounds']} rounds of "
            f"{timing['launches_per_round']} launches on {timing['input_sets']} sets of inputs",
            markup=False,
            soft_wrap=True,
        )


def main() -> None:
    """Entry point of the console script `flagc-bundle`."""
    run_command(command)
