"""Benchmarks for people."""

from __future__ import annotations

from flagc.bench.outcome import BenchedLaunch
from flagc.pipeline.diagnostics import Table
from flagc.report import terminal

_COLUMNS = (
    "candidate",
    "mean us",
    "median us",
    "quartiles us",
    "TFLOP/s",
    "GB/s",
    "% of peak",
    "kernel is faster by",
    "result",
)


def bench_table(benched: BenchedLaunch) -> Table:
    """Return the candidates of one launch as a table."""
    rows: list[tuple[str | int | float, ...]] = []
    for name, timing in benched.timings.items():
        low, high = timing.quartiles
        flops, moved, share = (
            benched.flops(name),
            benched.bytes(name),
            benched.share_of_peak(name),
        )
        middle, slow, fast = benched.speedup(name)
        rows.append(
            (
                name,
                f"{timing.mean * 1e6:.2f}",
                f"{timing.median * 1e6:.2f}",
                f"{low * 1e6:.2f} .. {high * 1e6:.2f}",
                f"{flops * 1e-12:.1f}" if flops is not None else "",
                f"{moved * 1e-9:.0f}" if moved is not None else "",
                f"{share:.1%}" if share is not None else "",
                f"{middle:.3f}x ({slow:.3f} .. {fast:.3f})",
                "WRONG" if name in benched.wrong else benched.results[name],
            )
        )
    grid = "x".join(map(str, benched.grid))
    numbers = ", ".join(
        f"{name}={value}" for name, value in benched.config.items() if isinstance(value, int)
    )
    return Table(f"{benched.kernel}, grid {grid}, {numbers}", _COLUMNS, tuple(rows), "", "bench")


def print_benched(benched: list[BenchedLaunch]) -> None:
    """Print all benchmarks and, once, where they were measured."""
    console = terminal.out()
    for entry in benched:
        terminal.print_table(bench_table(entry))
        rounds = len(next(iter(entry.timings.values())).samples)
        peak = entry.peak
        rate = f"{peak.flops * 1e-12:.0f} TFLOP/s {peak.dtype}, " if peak.flops else ""
        console.print(
            f"{rounds} rounds, candidates in turn; {entry.sets} sets of inputs of "
            f"{entry.set_bytes / 2**20:.2f} MiB; results against {entry.against}; peak measured "
            f"here: {rate}{peak.bytes * 1e-9:.0f} GB/s",
            markup=False,
            soft_wrap=True,
        )
    if benched:
        device = benched[-1].device
        versions = ", ".join(f"{name} {text}" for name, text in device.items() if name != "gpu")
        console.print(f"measured on {device['gpu']}: {versions}", markup=False, soft_wrap=True)
