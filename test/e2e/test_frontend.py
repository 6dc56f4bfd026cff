"""Launches are recorded as Triton's launcher makes them, and kernels can be given by flags."""

import json
from pathlib import Path

import pytest

from e2e.commands import EXAMPLES, INPUTS, flagc

SEVERAL = INPUTS / "several_kernels.py"


def kernels(*arguments: object) -> list[dict]:
    done = flagc("--format", "json", *arguments)
    assert done.status == 0, done.stderr
    return json.loads(done.stdout)["kernels"]


def test_every_specialisation_is_compiled_once_with_all_its_grids() -> None:
    found = kernels(SEVERAL, "--emit", "ttir")
    assert [(k["kernel"], k["grids"]) for k in found] == [
        ("copy_kernel", [[8, 1, 1], [16, 1, 1]]),
        ("copy_kernel", [[8, 1, 1]]),
        ("tuned_kernel", [[8, 1, 1]]),
        ("heuristic_kernel", [[8, 1, 1]]),
        ("heuristic_kernel", [[8, 1, 1]]),
    ]
    assert [k["signature"]["x_ptr"] for k in found[:2]] == ["*fp32", "*fp16"]
    assert [k["constexprs"]["EVEN"] for k in found[3:]] == ["True", "False"]
    assert found[0]["divisible_by_16"] == ["x_ptr", "out_ptr", "n"]
    assert found[2]["divisible_by_16"] == ["x_ptr", "out_ptr"]


@pytest.mark.parametrize(("config", "block", "warps", "grid"), [(0, "128", 2, 8), (2, "512", 4, 2)])
def test_config_picks_an_autotune_config(config: int, block: str, warps: int, grid: int) -> None:
    (tuned,) = [
        k
        for k in kernels(SEVERAL, "--emit", "ttir", "--config", config)
        if k["kernel"] == "tuned_kernel"
    ]
    assert tuned["constexprs"]["BLOCK"] == block
    assert tuned["options"]["num_warps"] == warps
    assert tuned["grids"] == [[grid, 1, 1]]
    assert "3 configs" in tuned["note"]


def test_a_config_that_does_not_compile_gives_way_to_the_next(tmp_path: Path) -> None:
    script = tmp_path / "tuned.py"
    script.write_text(
        SEVERAL.read_text().replace('{"BLOCK": 128}, num_warps=2', '{"BLOCK": 131072}, num_warps=2')
    )
    found = kernels(script, "--target", "ascend", "--emit", "final")
    (tuned,) = [k for k in found if k["kernel"] == "tuned_kernel"]
    assert tuned["constexprs"]["BLOCK"] == "256"
    assert "UB overflow" in tuned["note"]
    done = flagc(script, "--target", "ascend", "--config", 0)
    assert done.status == 1
    assert "UB overflow" in done.stderr


def test_files_of_specialisations_have_their_own_names(tmp_path: Path) -> None:
    done = flagc(SEVERAL, "--dump-ir=ttir", "-o", tmp_path)
    assert done.status == 0
    assert sorted(path.name for path in tmp_path.glob("*.ttir")) == [
        "copy_kernel.1.ttir",
        "copy_kernel.2.ttir",
        "heuristic_kernel.1.ttir",
        "heuristic_kernel.2.ttir",
        "tuned_kernel.ttir",
    ]


KERNEL_ONLY = """\
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr, ROUND: tl.constexpr = False):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n) * factor
    tl.store(out_ptr + offsets, tl.floor(x) if ROUND else x, mask=offsets < n)
"""


def test_kernel_given_by_flags(tmp_path: Path) -> None:
    path = tmp_path / "scale.py"
    path.write_text(KERNEL_ONLY)
    (found,) = kernels(
        path,
        "--kernel",
        "scale",
        "--signature",
        "x_ptr=*fp32:16,out_ptr=*fp32:16,n=i32,factor=fp32",
        "-D",
        "BLOCK=256",
        "--grid",
        "4,2",
        "--dump-ir=ttir",
    )
    assert found["grids"] == [[4, 2, 1]]
    assert found["constexprs"] == {"BLOCK": "256", "ROUND": "False"}
    assert found["divisible_by_16"] == ["x_ptr", "out_ptr"]
    ttir = found["stages"][0]["content"]
    assert "tensor<256xf32>" in ttir
    (positional,) = kernels(
        path,
        "--kernel",
        "scale",
        "--signature",
        "*fp32:16,*fp32:16,i32,fp32",
        "-D",
        "BLOCK=256",
        "--dump-ir=ttir",
    )
    assert positional["stages"][0]["content"] == ttir


def test_file_without_launch_names_its_kernels(tmp_path: Path) -> None:
    path = tmp_path / "scale.py"
    path.write_text(KERNEL_ONLY)
    done = flagc(path)
    assert done.status == 2
    assert "--kernel scale" in done.error_lines[0]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--kernel", "scal"], "'scale'"),
        (["--kernel", "scale", "-D", "BLOCK=256"], "nothing about argument 'x_ptr'"),
        (["--kernel", "scale", "--signature", "*fp32,*fp32,i32,fp32"], "-D BLOCK="),
        (["--kernel", "scale", "--signature", "*fp33,*fp32,i32,fp32", "-D", "BLOCK=2"], "fp32"),
        (["--kernel", "scale", "--signature", "y=*fp32", "-D", "BLOCK=2"], "no argument 'y'"),
        (["--kernel", "scale", "--signature", "*fp32:8,*fp32,i32,fp32", "-D", "BLOCK=2"], ":16"),
        (
            [
                "--kernel",
                "scale",
                "--signature",
                "*fp32,*fp32,i32,fp32",
                "-D",
                "BLOCK=2",
                "--grid",
                "4,x",
            ],
            "--grid",
        ),
    ],
)
def test_wrong_flags_say_what_is_wrong(flags: list[str], says: str, tmp_path: Path) -> None:
    path = tmp_path / "scale.py"
    path.write_text(KERNEL_ONLY)
    done = flagc(path, *flags)
    assert done.status == 2
    assert len(done.error_lines) == 1
    assert says in done.error_lines[0]


def test_script_arguments_reach_the_script(tmp_path: Path) -> None:
    path = tmp_path / "sized.py"
    path.write_text(
        KERNEL_ONLY + "\n\nimport sys\nimport torch\n\nx = torch.zeros(int(sys.argv[1]))\n"
        "scale[(1,)](x, x, x.numel(), 2.0, BLOCK=int(sys.argv[2]))\n"
    )
    (found,) = kernels(path, "--emit", "ttir", "--", "64", "32")
    assert found["constexprs"]["BLOCK"] == "32"


def test_options_override_those_of_the_launch() -> None:
    (plain,) = kernels(EXAMPLES / "gemm.py", "--emit", "ttgir")
    (eight,) = kernels(EXAMPLES / "gemm.py", "--emit", "ttgir", "--num-warps", 8)
    assert plain["options"]["num_warps"] == 4
    assert eight["options"]["num_warps"] == 8


def test_warmed_up_kernels_are_compiled_too(tmp_path: Path) -> None:
    path = tmp_path / "warm.py"
    path.write_text(
        KERNEL_ONLY + "\n\nimport torch\n"
        "scale.warmup(torch.float32, torch.float32, 64, 2.0, BLOCK=32, grid=(1,))\n"
    )
    (found,) = kernels(path, "--emit", "ttir")
    assert found["grids"] == []
