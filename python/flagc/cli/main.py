"""`flagc kernel.py`: compile the kernels of a Triton script, with passes, and show the result."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

import flagc
from flagc.cli import listing
from flagc.cli.common import DEFAULT_TIME_LIMIT, compile_isolated, run_command
from flagc.cli.executing import executing
from flagc.cli.present import Inputs, file_names, finish, present
from flagc.cli.settings import Settings
from flagc.cli.watch import LaunchJournal, watched
from flagc.errors import EXIT_GOOD, FlagcError, KernelError, UsageError, nearest
from flagc.frontend.launch import Launch
from flagc.pipeline.compiler import CompileRequest, CompileResult
from flagc.pipeline.defaults import build_pipeline
from flagc.pipeline.pipeline_text import PlacedPass
from flagc.pipeline.places import check_places
from flagc.pipeline.target import Target
from flagc.report import terminal
from flagc.report.trace import write_timed_trace, write_trace
from flagc.targets.registry import target_by_name

DEFAULT_TARGET = "cuda"


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 good, 1 the kernel or a check failed, 2 usage or environment.",
)
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.argument("script_arguments", nargs=-1)
@click.option(
    "--target",
    default=DEFAULT_TARGET,
    show_default=True,
    metavar="FAMILY[:CHIP]",
    help="Chip to compile for, e.g. ascend, ascend:910B3, cuda:sm90.",
)
@click.option(
    "--pipeline",
    type=click.Choice(["auto", "flagc", "vendor"]),
    help="Lowering of ascend: flagc's own, the vendor's, or flagc's where it applies (default).",
)
@click.option(
    "--dump-ir",
    is_flag=False,
    flag_value="all",
    metavar="[=STAGE,...]",
    help="Print the IR of every stage, or of the stages named; with -o, write it.",
)
@click.option(
    "-o",
    "output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write results into DIR instead of printing them.",
)
@click.option(
    "--passes",
    default="",
    metavar="PIPELINE",
    help="Passes to run, e.g. 'swizzle-program-ids{group-m=4},ttgir:count-ops'.",
)
@click.option("--without", multiple=True, metavar="PASS", help="Leave out a default pass.")
@click.option("--load", multiple=True, metavar="FILE.py", help="Python file that defines passes.")
@click.option("--print-ir-after-all", is_flag=True, help="Print the IR after every pass.")
@click.option("--print-ir-after-change", is_flag=True, help="... after every pass that changed it.")
@click.option("--time-passes", is_flag=True, help="Time every pass.")
@click.option(
    "--resources",
    is_flag=True,
    help="Report registers, spills, shared memory, occupancy and matrix instructions (cuda).",
)
@click.option("--emit", metavar="STAGE", help="Stop at STAGE and write its bare result.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output for people or for programs.",
)
@click.option("--kernel", metavar="NAME", help="Kernel of a file that only defines kernels.")
@click.option("--signature", default="", metavar="TYPES", help="e.g. 'a=*fp16:16,M=i32'.")
@click.option("-D", "definitions", multiple=True, metavar="NAME=VALUE", help="A constexpr's value.")
@click.option("--grid", default="", metavar="X[,Y[,Z]]", help="Grid of the launch.")
@click.option("--num-warps", type=int, help="Overrides the launch's num_warps.")
@click.option("--num-stages", type=int, help="Overrides the launch's num_stages.")
@click.option(
    "--config",
    type=click.IntRange(min=0),
    metavar="N",
    help="Which config of an autotuned kernel to compile.",
)
@click.option(
    "--time-limit",
    type=float,
    default=DEFAULT_TIME_LIMIT,
    show_default=True,
    metavar="SECONDS",
    help="Longest time that one pass or stage may take.",
)
@click.option("--in-process", is_flag=True, help="No child process: for debugging a pass with pdb.")
@click.option("--no-cache", is_flag=True, help="Compile even when the result is cached.")
@click.option(
    "--run", is_flag=True, help="Execute the launches (ascend: emulated; cuda: on a GPU)."
)
@click.option(
    "--checks/--no-checks", default=True, help="Let the emulator check what hardware does not."
)
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Host threads for --run.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write every instruction of --run to FILE (Chrome trace; .jsonl: one record a line).",
)
@click.option(
    "--check", is_flag=True, help="Compare the results of --run with a reference (see docs/run.md)."
)
@click.option(
    "--check-each", is_flag=True, help="--check after every pass, to find the one that is wrong."
)
@click.option(
    "--bench", is_flag=True, help="Run and time the launches against baselines (docs/bench.md)."
)
@click.option(
    "--compare", metavar="PIPELINE", help="Passes that --bench compares with (default: none)."
)
@click.option("--tolerance", type=float, metavar="R", help="Relative tolerance of --check.")
@click.option("--list-passes", is_flag=True, help="List all passes and their options.")
@click.option("--list-anchors", is_flag=True, help="List where passes can be inserted.")
@click.version_option(flagc.__version__, prog_name="flagc")
def command(**flags: Any) -> int:
    """Compile the Triton kernels that PATH launches, with passes, and show each stage.

    PATH is a Triton script (run without a GPU, its tensors on the CPU; arguments after -- are its
    own), a Python file that only defines kernels (with --kernel and --signature), or IR of any
    stage (kernel.ttir, kernel.ttgir, ...).
    """
    return run(Settings(**flags))


def run(settings: Settings) -> int:
    """Do what the command line says and return the exit status."""
    target = target_by_name(settings.target, settings.pipeline)
    passes = build_pipeline(target, settings.passes, settings.load, settings.without)
    if settings.list_passes:
        listing.list_passes(target, settings.output_format)
    if settings.list_anchors:
        listing.list_anchors(target, passes, settings.output_format)
    if settings.path is None:
        if settings.list_passes or settings.list_anchors:
            return EXIT_GOOD
        raise UsageError("give a kernel: flagc kernel.py (see flagc --help)")
    stages = target.stages()
    check_places(passes, stages)
    stage_names = [stage.name for stage in stages]
    dumped = _dumped_stages(settings, stage_names)
    if settings.emit is not None and settings.emit not in stage_names:
        raise UsageError(
            f"--emit: unknown stage '{settings.emit}'; {nearest(settings.emit, stage_names)}"
        )
    if (settings.run or settings.bench) and not settings.in_process:
        return watched(settings, lambda journal: _show(settings, target, passes, dumped, journal))
    return _show(settings, target, passes, dumped, None)


def _show(
    settings: Settings,
    target: Target,
    passes: list[PlacedPass],
    dumped: list[str],
    journal: LaunchJournal | None,
) -> int:
    """Collect the launches, compile and show them, and return the exit status."""
    inputs = collect_launches(settings, target, passes, journal)
    if settings.trace is not None and inputs.modelled:
        write_timed_trace(settings.trace, inputs.modelled)
    elif settings.trace is not None:
        write_trace(settings.trace, inputs.launches)
    status = EXIT_GOOD
    for launch, name in zip(inputs.launches, file_names(inputs.launches), strict=True):
        try:
            result = _compile(settings, target, passes, launch)
            if settings.resources:
                report = target.resources(result)
                result.findings.tables += report.tables()
                result.metadata["resources"] = report.describe()
            if settings.output is not None:
                result.metadata["launch"] = target.launch_document(launch, result, name)
            present(settings, launch, result, dumped, name, inputs)
        except UsageError:
            raise
        except FlagcError as error:
            if len(inputs.launches) == 1 and settings.output_format == "text":
                raise
            status = max(status, error.exit_status)
            document = {**launch.describe(), "target": target.name, "error": str(error)}
            inputs.documents.append(document)
            if str(error) != inputs.error:
                terminal.print_error(str(error))
    return finish(settings, inputs, status)


def _compile_request(settings: Settings, request: CompileRequest) -> CompileResult:
    return compile_isolated(
        request,
        loaded=settings.load,
        crash_folder=settings.output,
        time_limit=settings.time_limit,
        in_process=settings.in_process,
        use_cache=not settings.no_cache,
    )


def _compile(
    settings: Settings, target: Target, passes: list[PlacedPass], launch: Launch
) -> CompileResult:
    """Compile a launch; of an autotuned kernel, the first config that compiles.

    Raises:
        FlagcError: the launch does not compile, nor does any of its alternatives.
    """
    first_error: KernelError | None = None
    for candidate in [launch, *launch.alternatives]:
        request = CompileRequest(
            candidate.source,
            target,
            candidate.options,
            passes,
            settings.instrumentation,
            settings.emit,
        )
        try:
            result = _compile_request(settings, request)
        except KernelError as error:
            first_error = first_error or error
            continue
        if first_error is not None:
            launch.source, launch.options = candidate.source, candidate.options
            launch.note = (
                f"{launch.note}; it does not compile, the next that does was taken "
                f"({str(first_error).splitlines()[0]})"
            )
        return result
    assert first_error is not None
    if launch.alternatives:
        raise KernelError(
            f"{first_error}\n  none of its {len(launch.alternatives)} other configs compiles either"
        ) from first_error
    raise first_error


def collect_launches(
    settings: Settings,
    target: Target,
    passes: list[PlacedPass],
    journal: LaunchJournal | None,
) -> Inputs:
    """Return the launches that the command line names, executed if it says so.

    Launches that are executed are noted in `journal`.
    """
    compile = partial(_compile_request, settings)
    running = executing(settings, target, passes, compile, journal)
    assert settings.path is not None
    from flagc.frontend.definitions import launch_from_flags
    from flagc.frontend.ir_files import read_ir_file
    from flagc.frontend.pairs import merging
    from flagc.frontend.script import run_script

    options = settings.option_overrides
    if settings.path.suffix != ".py":
        return Inputs([Launch(read_ir_file(settings.path, target), options)])
    if settings.kernel is not None:
        return Inputs(
            [
                launch_from_flags(
                    settings.path,
                    settings.kernel,
                    settings.signature,
                    settings.definitions,
                    settings.grid,
                    options,
                )
            ]
        )
    script = run_script(
        settings.path,
        settings.script_arguments,
        target,
        settings.config,
        running.executor,
        passes,
        merging(compile, target, passes, options),
    )
    if not script.launches:
        raise UsageError(_no_launch(settings.path))
    for launch in script.launches:
        launch.options = {**launch.options, **options}
    return Inputs(
        script.launches,
        script.note,
        script.error,
        script.error_status,
        running.checked,
        running.benched,
        running.steps,
        running.modelled,
    )


def _no_launch(path: Path) -> str:
    from flagc.frontend.script import defined_kernels

    kernels = list(defined_kernels(path))
    if not kernels:
        return f"{path} launches no Triton kernel and defines none"
    return (
        f"{path} launches no kernel; it defines {', '.join(kernels)}: launch one in the script, or "
        f"give --kernel {kernels[0]} --signature ... -D ..."
    )


def _dumped_stages(settings: Settings, stages: list[str]) -> list[str]:
    if settings.dump_ir is None:
        return []
    if settings.dump_ir == "all":
        return stages
    wanted = [part for part in settings.dump_ir.split(",") if part]
    for name in wanted:
        if name not in stages:
            hint = nearest(name, stages)
            if Path(name).exists():
                hint = f"write the stages as --dump-ir=STAGE, or --dump-ir after {name}"
            raise UsageError(f"--dump-ir: unknown stage '{name}'; {hint}")
    return wanted


def main() -> None:
    """Entry point of the console script `flagc`."""
    run_command(command)
