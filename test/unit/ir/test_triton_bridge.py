"""The IR bridge is lossless: text and PTX are the same with and without a detour through it."""

import pytest
from triton.compiler.compiler import ASTSource
from triton.compiler.compiler import compile as triton_compile

from flagc.ir import triton_bridge
from flagc.ir.locations import source_location
from flagc.pipeline.compiler import CompileRequest, compile_kernel
from flagc.targets.registry import target_by_name
from kernels.bridge_cases import NAMES, case

# Kernels for which two plain Triton compiles differ in PTX too: register order depends on hashing.
CHIP = {"fp8_scaled_dot": "sm100", "warp_specialised_gemm": "sm100"}


def target_for(name: str):
    return target_by_name(f"cuda:{CHIP.get(name, 'sm90')}")


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_keeps_text_and_ptx(name: str) -> None:
    source, options = case(name)
    target = target_for(name)
    compilation = target.begin(source, options)
    payload = compilation.payload
    for stage in compilation.stages[:4]:
        payload = stage.run(payload, None)
        if stage.level is None:
            continue
        before = stage.text(payload)
        payload = stage.import_module(stage.export(payload))
        assert stage.text(payload) == before
    plain = triton_compile(
        ASTSource(
            source.function,
            dict(source.signature),
            dict(source.constexprs),
            dict(source.attributes),
        ),
        target=target.triton_target(),
        options=options,
    )
    assert payload == plain.asm["ptx"]


@pytest.mark.parametrize("name", NAMES)
def test_no_passes_give_tritons_own_ptx(name: str) -> None:
    source, options = case(name)
    target = target_for(name)
    ours = compile_kernel(CompileRequest(source, target, options, stop_after="ptx"))
    plain = triton_compile(
        ASTSource(
            source.function,
            dict(source.signature),
            dict(source.constexprs),
            dict(source.attributes),
        ),
        target=target.triton_target(),
        options=options,
    )
    assert ours.artifact("ptx").content == plain.asm["ptx"]


def test_source_locations_survive_a_rewrite() -> None:
    source, options = case("gemm")
    compilation = target_for("gemm").begin(source, options)
    stage = compilation.stages[0]
    module = stage.export(stage.run(compilation.payload, None))
    (dot,) = module.walk("tt.dot")
    expected = source.function.starting_line_number
    body = source.function.src.split("\n")
    line = next(i for i, text in enumerate(body) if "tl.dot" in text)
    location = source_location(dot.location)
    assert location is not None
    assert location.file.endswith("bridge_kernels.py")
    assert location.line == expected + 1 + line  # the decorator line precedes `def`
    reimported = stage.text(stage.import_module(module))
    assert f'bridge_kernels.py":{location.line}:' in reimported


def test_marker_is_gone_after_export() -> None:
    source, options = case("vector_add")
    compilation = target_for("vector_add").begin(source, options)
    text = triton_bridge.export_text(compilation.payload)
    assert '"builtin.module"()' in text
    assert "data_layout" not in text
