"""Passes in JIT launches: they run, they recompile when changed, and they compose."""

import os
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

import flagc
from flagc.frontend.recorder import RecordingDriver
from flagc.targets.registry import target_by_name
from kernels import bridge_kernels


@pytest.fixture(autouse=True)
def compile_only_driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let `kernel.warmup` compile for sm90 without a GPU, and drop what was installed."""
    recording = RecordingDriver(target_by_name("cuda:sm90"), executing=False)
    monkeypatch.setattr(driver, "_active", recording)
    yield
    flagc.uninstall()
    bridge_kernels.gemm.device_caches.clear()


def compile_gemm():
    """Compile the GEMM as a JIT launch does, through Triton's caches in memory and on disk."""
    import torch

    half = torch.float16
    return bridge_kernels.gemm.warmup(
        half,
        half,
        half,
        512,
        512,
        512,
        512,
        512,
        512,
        BLOCK_M=128,
        BLOCK_N=128,
        BLOCK_K=64,
        grid=(4, 4),
    )


def write_pass(path: Path, name: str, stages: int) -> None:
    path.write_text(
        textwrap.dedent(
            f"""
            from dataclasses import dataclass
            from flagc import Pass, register

            @register
            @dataclass(frozen=True)
            class PipelineDepth(Pass):
                name = "{name}"
                level = "ttir"

                def run(self, module, context):
                    for loop in module.walk("scf.for"):
                        loop.attributes["tt.num_stages"] = module.integer({stages})
            """
        )
    )


def shared_bytes(kernel) -> int:
    return kernel.metadata.shared


def test_ttir_pass_changes_the_launch_and_only_inside_the_block() -> None:
    plain = compile_gemm()
    with flagc.use_passes("set-num-stages{n=4}"):
        deep = compile_gemm()
    again = compile_gemm()
    tile_bytes = 2 * 128 * 64 * 2  # A and B, 128 x 64 fp16 each
    assert shared_bytes(plain) == 3 * tile_bytes
    assert shared_bytes(deep) == 4 * tile_bytes
    assert again.asm["ptx"] == plain.asm["ptx"]


def test_ttgir_anchor_reaches_between_tritons_passes() -> None:
    with flagc.use_passes("ttgir@after(accelerate_matmul):set-mma-shape{n=64}"):
        narrow = compile_gemm()
    assert "m64n64k16" in narrow.asm["ptx"]
    assert "m64n128k16" not in narrow.asm["ptx"]
    assert "m64n128k16" in compile_gemm().asm["ptx"]


@pytest.mark.parametrize("clear_memory", [False, True], ids=["memory-cache", "disk-cache"])
def test_changing_a_passes_source_recompiles(tmp_path: Path, clear_memory: bool) -> None:
    path = tmp_path / "depth.py"
    name = f"depth-{'disk' if clear_memory else 'memory'}"
    seen = []
    for stages in (2, 4, 2):
        write_pass(path, name, stages)
        os.utime(path, (stages, stages))
        with flagc.use_passes(name, load=[str(path)]):
            seen.append(shared_bytes(compile_gemm()) // 32768)
        if clear_memory:
            bridge_kernels.gemm.device_caches.clear()
    assert seen == [2, 4, 2]


def test_options_are_part_of_the_key() -> None:
    depths = []
    for depth in (2, 3, 4):
        with flagc.use_passes(f"set-num-stages{{n={depth}}}"):
            depths.append(shared_bytes(compile_gemm()) // 32768)
    assert depths == [2, 3, 4]


def test_unchanged_passes_hit_the_cache() -> None:
    ran = []

    def count(findings, kernel: str) -> None:
        ran.append(kernel)

    for _ in range(2):
        with flagc.use_passes("ttir:count-ops", report=count):
            compile_gemm()
        bridge_kernels.gemm.device_caches.clear()
    assert ran == ["gemm"]


def test_installations_nest_and_a_foreign_hook_keeps_working() -> None:
    foreign = []

    def hook(*arguments):
        if not arguments:
            return "foreign", "foreign"
        foreign.append(list(arguments[1]))

    knobs.runtime.add_stages_inspection_hook = hook
    try:
        with (
            flagc.use_passes("set-num-stages{n=4}"),
            flagc.use_passes("ttgir@after(accelerate_matmul):set-mma-shape{n=64}"),
        ):
            both = compile_gemm()
        assert shared_bytes(both) == 4 * 32768
        assert "m64n64k16" in both.asm["ptx"]
        assert foreign == [["ttir", "ttgir", "llir", "ptx", "cubin"]]
        assert knobs.runtime.add_stages_inspection_hook is hook
    finally:
        knobs.runtime.add_stages_inspection_hook = None


def test_a_wrong_place_is_reported_at_the_launch() -> None:
    with (
        flagc.use_passes("ttgir@after(acelerate_matmul):count-ops"),
        pytest.raises(flagc.errors.UsageError, match="accelerate_matmul"),
    ):
        compile_gemm()
    with pytest.raises(flagc.errors.UsageError, match="count-ops"):
        flagc.install("count-opps")


def test_pass_objects_are_taken_too() -> None:
    from flagc.passes.ttir.set_num_stages import SetNumStages

    with flagc.use_passes([SetNumStages(n=2)]):
        assert shared_bytes(compile_gemm()) == 2 * 32768


def test_remarks_carry_the_kernels_line(capsys: pytest.CaptureFixture[str]) -> None:
    with flagc.use_passes("ttir:count-ops"):
        compile_gemm()
    assert "tt.dot" in capsys.readouterr().err


def test_other_targets_are_left_alone() -> None:
    source = triton.compiler.ASTSource(
        bridge_kernels.vector_add,
        {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"},
        {"BLOCK": 128},
    )
    with flagc.use_passes("ttir:count-ops"):
        compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32))
    assert ".target sm_80" in compiled.asm["ptx"]
