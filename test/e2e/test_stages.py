"""Every stage of the examples, for both targets; dumped IR goes on with the same result."""

import json
from pathlib import Path

import pytest

from e2e.commands import EXAMPLES, flagc

NAMES = ["gemm", "gemm_bias_act", "vector_add", "layernorm", "softmax", "attention"]
CUDA_STAGES = ["ttir", "ttgir", "llir", "ptx", "cubin"]
ASCEND_STAGES = ["ttir", "linalg", "hivm", "final", "llvm"]
VENDOR = ["ascend:910B3", "--pipeline", "vendor"]
OWN = ["ascend:910B3", "--pipeline", "flagc"]
ELF_MACHINE_CUDA = 190  # EM_CUDA


def compiled(name: str, *target: str) -> dict:
    done = flagc(EXAMPLES / f"{name}.py", "--target", *target, "--dump-ir", "--format", "json")
    assert done.status == 0, done.stderr
    (kernel,) = json.loads(done.stdout)["kernels"]
    return kernel


def contents(kernel: dict) -> dict[str, str]:
    """Return the texts of all stages; those of a stage with two files joined."""
    texts: dict[str, str] = {}
    for stage in kernel["stages"]:
        texts[stage["stage"]] = texts.get(stage["stage"], "") + stage.get("content", "")
    return texts


@pytest.mark.parametrize("name", NAMES)
def test_cuda_sm90(name: str) -> None:
    kernel = compiled(name, "cuda:sm90")
    assert [stage["stage"] for stage in kernel["stages"]] == CUDA_STAGES
    texts = contents(kernel)
    has_dot = "gemm" in name or name == "attention"
    assert ("wgmma.mma_async" in texts["ptx"]) == has_dot
    assert ".target sm_90a" in texts["ptx"]
    assert f'{name}.py":' in texts["ttgir"]


@pytest.mark.parametrize("name", NAMES)
def test_ascend(name: str) -> None:
    kernel = compiled(name, "ascend:910B3", "--pipeline", "vendor")
    texts = contents(kernel)
    assert list(texts) == ASCEND_STAGES
    uses_cube = "gemm" in name or name == "attention"
    uses_vector = name != "gemm"
    for instruction in ("LOAD.L1.TO.L0A", "LOAD.L1.TO.L0B", "hivm.MAD", "FIX.L0C.TO.OUT"):
        assert (instruction in texts["llvm"]) == uses_cube, instruction
    assert ("MOV.UB.TO.OUT" in texts["llvm"]) == uses_vector
    assert "SET.FLAG" in texts["llvm"]
    assert "WAIT.FLAG" in texts["llvm"]
    files = [stage for stage in kernel["stages"] if stage["stage"] == "llvm"]
    assert len(files) == uses_cube + uses_vector
    assert f'{name}.py":' in texts["final"]
    remarks = [d["text"] for d in kernel["diagnostics"]]
    assert any("hivmc" in remark and "CANN" in remark for remark in remarks)


@pytest.mark.parametrize("name", NAMES)
def test_ascend_by_the_lowering_that_takes_it(name: str) -> None:
    kernel = compiled(name, "ascend:910B3")
    texts = contents(kernel)
    own = name in ("gemm", "gemm_bias_act")
    assert list(texts) == (["ttir", "staged", "final", "llvm"] if own else ASCEND_STAGES)
    remarks = [d["text"] for d in kernel["diagnostics"] if "lowers this kernel" in d["text"]]
    assert len(remarks) == (own or name == "attention")  # those with a dot
    assert all(("remark: flagc's pipeline" in remark) == own for remark in remarks)
    if own:
        for instruction in ("LOAD.L1.TO.L0A", "LOAD.L1.TO.L0B", "hivm.MAD", "FIX.L0C.TO.OUT"):
            assert instruction in texts["llvm"]


@pytest.mark.parametrize(
    ("chip", "instruction"),
    [("sm80", "mma.sync"), ("sm90", "wgmma"), ("sm100", "tcgen05.mma"), ("sm120", "mma.sync")],
)
def test_cubin_of_every_chip_is_an_elf(chip: str, instruction: str, tmp_path: Path) -> None:
    done = flagc(EXAMPLES / "gemm.py", "--target", f"cuda:{chip}", "-o", tmp_path)
    assert done.status == 0, done.stderr
    cubin = (tmp_path / "gemm_kernel.cubin").read_bytes()
    assert cubin[:4] == b"\x7fELF"
    assert int.from_bytes(cubin[18:20], "little") == ELF_MACHINE_CUDA
    assert instruction in (tmp_path / "gemm_kernel.ptx").read_text()
    metadata = json.loads((tmp_path / "gemm_kernel.json").read_text())
    assert metadata["num_warps"] == 4
    assert metadata["shared"] > 0


@pytest.mark.parametrize(
    ("target", "last", "suffixes"),
    [
        (["cuda:sm90"], "cubin", [".ttir", ".ttgir", ".llir", ".ptx"]),
        (VENDOR, "llvm", [".ttir", ".linalg.mlir", ".hivm.mlir", ".final.mlir"]),
        (OWN, "llvm", [".ttir", ".staged.mlir", ".final.mlir"]),
    ],
    ids=["cuda", "vendor", "flagc"],
)
def test_dumped_ir_goes_on_with_the_same_result(
    target: list[str], last: str, suffixes: list[str], tmp_path: Path
) -> None:
    assert flagc(EXAMPLES / "gemm.py", "--target", *target, "-o", tmp_path).status == 0
    whole = flagc(EXAMPLES / "gemm.py", "--target", *target, "--emit", last)
    for suffix in suffixes:
        path = tmp_path / f"gemm_kernel{suffix}"
        resumed = flagc(path, "--target", *target, "--emit", last)
        assert resumed.status == 0, resumed.stderr
        assert resumed.raw == whole.raw, suffix


@pytest.mark.parametrize(
    ("target", "last", "passes"),
    [
        (
            ["cuda:sm90"],
            "ptx",
            "ttgir@before(pipeline):count-ops,ttir@after(cse):count-ops",
        ),
        (
            VENDOR,
            "llvm",
            "hivm@after(hivm-plan-memory#2):count-ops,linalg:count-ops,"
            "hivm@before(hivm-graph-sync-solver):count-ops,final:count-ops",
        ),
        (
            OWN,
            "llvm",
            "staged@before(stage-loads):count-ops,staged@after(plan-memory):count-ops,"
            "staged:count-ops,ttir@after(explicit-other):count-ops",
        ),
    ],
    ids=["cuda", "vendor", "flagc"],
)
def test_a_pass_between_stages_of_the_target_changes_nothing_by_looking(
    target: list[str], last: str, passes: str
) -> None:
    plain = flagc(EXAMPLES / "gemm.py", "--target", *target, "--emit", last)
    looked = flagc(EXAMPLES / "gemm.py", "--target", *target, "--emit", last, "--passes", passes)
    assert looked.status == 0, looked.stderr
    assert looked.stdout == plain.stdout


def test_hivm_pass_reaches_the_final_code(tmp_path: Path) -> None:
    loader = tmp_path / "drop_unit_flag.py"
    loader.write_text(
        "from dataclasses import dataclass\nfrom flagc import Pass, register\n\n\n"
        "@register\n@dataclass(frozen=True)\nclass RenameKernel(Pass):\n"
        "    name = 'mark-loads'\n    level = 'hivm'\n\n"
        "    def run(self, module, context):\n"
        "        for op in module.walk('hivm.hir.nd2nz'):\n"
        "            context.remark(op, 'seen')\n"
        "            op.attributes['flagc.seen'] = module.attribute('unit')\n"
    )
    done = flagc(
        EXAMPLES / "gemm.py",
        "--target",
        "ascend",
        "--load",
        loader,
        "--emit",
        "hivm",
        "--passes",
        "hivm@after(hivm-plan-memory#2):mark-loads",
    )
    assert done.status == 0, done.stderr
    assert done.stdout.count("flagc.seen") == 2  # A and B
    assert done.stderr.count("remark: 'hivm.hir.nd2nz': seen") == 2
    assert "gemm.py:" in done.stderr


@pytest.mark.parametrize(
    "target", [("cuda:sm90",), ("ascend:910B3", "--pipeline", "vendor")], ids=lambda parts: parts[0]
)
def test_every_pass_is_printed_and_timed(target: tuple[str, ...]) -> None:
    done = flagc(
        EXAMPLES / "vector_add.py",
        "--target",
        *target,
        "--format",
        "json",
        "--print-ir-after-all",
        "--time-passes",
    )
    assert done.status == 0, done.stderr
    (kernel,) = json.loads(done.stdout)["kernels"]
    listed = json.loads(flagc("--list-anchors", "--target", *target, "--format", "json").stdout)
    expected = [(stage, step) for stage, steps in listed.items() for step in steps]
    timed = [(t["stage"], t["name"]) for t in kernel["pass_times"]]
    assert timed == expected
    printed = [(p["stage"], p["name"]) for p in kernel["printed_ir"]]
    assert [entry for entry in printed if entry in expected] == expected
    assert all(p["text"].strip() for p in kernel["printed_ir"])
    changed = flagc(
        EXAMPLES / "vector_add.py",
        "--target",
        *target,
        "--format",
        "json",
        "--print-ir-after-change",
    )
    (fewer,) = json.loads(changed.stdout)["kernels"]
    assert 0 < len(fewer["printed_ir"]) < len(kernel["printed_ir"])
