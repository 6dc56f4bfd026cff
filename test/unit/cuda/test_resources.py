"""The resource report, on cubins and PTX of kernels that are compiled here."""

from __future__ import annotations

import json

import pytest
import triton
import triton.language as tl

from e2e.commands import EXAMPLES, flagc
from flagc.pipeline.compiler import CompileRequest, compile_kernel
from flagc.pipeline.target import KernelSource
from flagc.targets.cuda.facts import cuda_facts
from flagc.targets.cuda.matrix_instructions import matrix_instructions
from flagc.targets.cuda.occupancy import occupancy
from flagc.targets.cuda.ptx_reader import read_instructions
from flagc.targets.cuda.resources import Resources
from flagc.targets.cuda.target import CudaTarget


@triton.jit
def square(x_ptr, out_ptr, SIZE: tl.constexpr, PRECISION: tl.constexpr):
    offsets = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + offsets)
    product = tl.dot(x, x, input_precision=PRECISION)
    tl.store(out_ptr + offsets, product)


def resources(chip: str, dtype: str, size: int = 64, precision: str = "tf32") -> Resources:
    source = KernelSource(
        square,
        {"x_ptr": f"*{dtype}", "out_ptr": "*fp32", "SIZE": "constexpr", "PRECISION": "constexpr"},
        {(2,): size, (3,): precision},
        {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]},
    )
    target = CudaTarget(chip)
    return target.resources(compile_kernel(CompileRequest(source, target)))


@pytest.mark.parametrize(
    ("chip", "dtype", "size", "expected"),
    [
        ("sm80", "fp16", 64, ("mma.sync", "m16n8k16", "f16", "f32")),
        ("sm80", "fp32", 64, ("mma.sync", "m16n8k8", "tf32", "f32")),
        ("sm90", "bf16", 128, ("wgmma", "m64n128k16", "bf16", "f32")),
        ("sm90", "fp8e4nv", 64, ("wgmma", "m64n64k32", "e4m3", "f32")),
        ("sm90", "fp16", 32, ("mma.sync", "m16n8k16", "f16", "f32")),
        ("sm100", "bf16", 128, ("tcgen05", "m128n128k16", "bf16", "f32")),
        ("sm100", "fp8e5", 128, ("tcgen05", "m128n128k32", "e5m2", "f32")),
    ],
)
def test_the_instruction_of_a_dot(
    chip: str, dtype: str, size: int, expected: tuple[str, str, str, str]
) -> None:
    report = resources(chip, dtype, size)
    (dot,) = report.dots
    line = square.starting_line_number + square.src[: square.src.index("tl.dot")].count("\n") + 1
    assert (dot.file, dot.line) == ("test_resources.py", line)
    found = {(m.family, m.shape, m.a, m.accumulator) for m in dot.instructions}
    assert found == {expected}
    m, n, k = (int(part) for part in expected[1].replace("m", "").replace("n", "k").split("k"))
    groups = 4 if expected[0] == "mma.sync" else 1  # mma.sync is each warp's own
    assert sum(m.count for m in dot.instructions) == size**3 // (m * n * k) // groups
    stem = {"mma.sync": "HMMA", "wgmma": "GMMA", "tcgen05": "UTC"}[expected[0]]
    assert any(stem in opcode for opcode in report.cubin.opcodes)


def test_a_dot_without_matrix_unit_and_its_spills() -> None:
    report = resources("sm90", "fp32", precision="ieee")
    assert [dot.instructions for dot in report.dots] == [()]
    assert report.cubin.stack > 0
    assert report.spill_instructions > 0
    assert "none: FMA" in str(report.tables()[1].rows)


@pytest.mark.parametrize(
    ("chip", "registers", "warps", "shared", "blocks", "limits"),
    [
        # 32 registers a thread, 2048 threads: all that fit.
        ("sm80", 32, 8, 0, 8, {"registers", "warps"}),
        # 255 registers are 8192 a warp: two warps in each of four partitions.
        ("sm90", 255, 4, 0, 2, {"registers"}),
        ("sm90", 168, 12, 0, 1, {"registers"}),
        ("sm90", 32, 4, 113 * 1024, 2, {"shared memory"}),
        ("sm90", 32, 4, 113 * 1024 + 1, 1, {"shared memory"}),
        ("sm90", 16, 1, 0, 32, {"blocks"}),
        ("sm86", 40, 8, 0, 6, {"registers", "warps"}),
        ("sm90", 255, 16, 0, 0, {"registers"}),
    ],
)
def test_occupancy(
    chip: str, registers: int, warps: int, shared: int, blocks: int, limits: set[str]
) -> None:
    found = occupancy(cuda_facts(chip), registers=registers, warps=warps, shared_memory=shared)
    assert (found.blocks, set(found.limits)) == (blocks, limits)
    assert found.warps == blocks * warps


def test_tensor_memory_limits_blocks() -> None:
    facts = cuda_facts("sm100")
    found = occupancy(facts, registers=64, warps=4, shared_memory=0, tensor_memory=256)
    assert (found.blocks, found.limits) == (2, ("tensor memory",))


PTX = """
.version 8.7
.visible .entry k(
    .param .u64 k_param_0
)
{
    .reg .b32 %r<9>;
    .loc 1 7 4 // k.py:7:4
    mov.b32 %r4, 0;
$L__tmp0:
    .loc 2 91 3, function_name $L__info_string0, inlined_at 1 9 5
    // begin inline asm
    { mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%r1,
      %r2}, {%r3}, {%r4}, {%r1, %r2}; }
    @%p1 mma.sp.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1}, {%r2}, {%r3}, {%r1}, %r4;
    // end inline asm
    // mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1}, {%r2}, {%r3}, {%r1};
    ret;
}
    .file 1 "/home/me/k.py"
    .file 2 "/home/me/other.py"
    .section .debug_abbrev
    { .b8 1 }
"""


def test_ptx_with_inlined_code_predicates_and_statements_over_lines() -> None:
    instructions = read_instructions(PTX)
    assert [i.opcode[0] for i in instructions] == ["mov", "mma", "mma", "ret"]
    assert instructions[0].operands == ("%r4", "0")
    assert (instructions[0].file, instructions[0].line) == ("k.py", 7)
    assert instructions[1].operands == ("{%r1, %r2}", "{%r3}", "{%r4}", "{%r1, %r2}")
    first, second = matrix_instructions(instructions)
    assert (first.shape, first.a, first.b, first.accumulator) == ("m16n8k32", "s8", "u8", "s32")
    assert (second.shape, second.a, second.accumulator) == ("m16n8k16", "bf16", "f32")
    assert (first.file, first.line, first.count) == ("other.py", 91, 1)


def test_the_report_on_the_command_line() -> None:
    done = flagc(EXAMPLES / "gemm.py", "--target", "cuda:sm90", "--resources", "--format", "json")
    assert done.status == 0, done.stderr
    (kernel,) = json.loads(done.stdout)["kernels"]
    found = kernel["metadata"]["resources"]
    assert found["shared_memory"] == kernel["metadata"]["shared"]
    assert found["dots"][0]["instructions"][0]["shape"] == "m64n128k16"
    assert found["occupancy"]["blocks"] == 2
    assert [table["title"] for table in kernel["tables"]] == [
        "resources of gemm_kernel",
        "dots of gemm_kernel",
    ]


def test_there_is_no_report_without_a_cubin() -> None:
    done = flagc(EXAMPLES / "gemm.py", "--target", "cuda", "--resources", "--emit", "ptx")
    assert done.status == 2
    assert "leave out --emit" in done.stderr
    done = flagc(EXAMPLES / "gemm.py", "--target", "ascend", "--resources")
    assert (done.status, "--resources reads cubins" in done.stderr) == (2, True)
