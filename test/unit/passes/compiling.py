"""Compile the shared test kernels with passes in place."""

from dataclasses import replace

from flagc.pipeline.compiler import CompileRequest, compile_kernel
from flagc.pipeline.loading import load_installed_passes
from flagc.pipeline.pipeline_text import parse_pipeline
from flagc.targets.registry import target_by_name
from kernels.bridge_cases import case


def aligned_gemm():
    """The GEMM with 128x128x64 tiles whose sizes are multiples of 16, so that it is pipelined."""
    source, options = case("gemm")
    names = source.function.arg_names
    runtime = [i for i, name in enumerate(names) if source.signature[name] != "constexpr"]
    return replace(source, attributes={(i,): [["tt.divisibility", 16]] for i in runtime}), options


def compiled(name, passes="", chip="sm90", stop_after="ptx"):
    """Compile the kernel called `name` of `kernels.bridge_cases`."""
    source, options = case(name)
    return compile_source(source, options, passes, chip, stop_after)


def compile_source(source, options, passes="", chip="sm90", stop_after="ptx"):
    load_installed_passes()
    request = CompileRequest(
        source,
        target_by_name(f"cuda:{chip}"),
        options,
        parse_pipeline(passes),
        stop_after=stop_after,
    )
    return compile_kernel(request)


def messages(result):
    return [diagnostic.message for diagnostic in result.findings.diagnostics]
