"""Bad input gives one clear message and the right exit status; nothing is left half-written."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.commands import EXAMPLES, INPUTS, flagc, flagc_opt

GEMM = EXAMPLES / "gemm.py"
VALID_TTIR = """\
module {
  tt.func public @kernel(%p: !tt.ptr<f32>) {
    %zero = arith.constant 0.0 : f32
    tt.store %p, %zero : !tt.ptr<f32>
    tt.return
  }
}
"""


@pytest.fixture
def ttgir_text(tmp_path: Path) -> str:
    (tmp_path / "good.ttir").write_text(VALID_TTIR)
    made = flagc(tmp_path / "good.ttir", "--target", "cuda:sm90", "--emit", "ttgir")
    assert made.status == 0
    return made.stdout


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"  \n\n", "empty"),
        (VALID_TTIR[: len(VALID_TTIR) // 2].encode(), "not valid ttir"),
        (bytes(range(256)) * 4, "binary"),
        (b"\x7fELF\x00\x00\x00", "binary"),
        (b"module {}\n", "no public kernel"),
        (b"hello, world\n", "not valid ttir"),
    ],
    ids=["empty", "blank", "truncated", "binary", "elf", "no-kernel", "prose"],
)
@pytest.mark.parametrize("target", ["cuda:sm90", "ascend"])
def test_broken_ttir(content: bytes, says: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.ttir"
    path.write_bytes(content)
    done = flagc(path, "--target", target, "-o", tmp_path / "out")
    assert done.status == 2
    assert len(done.error_lines) == 1
    assert str(path) in done.error_lines[0]
    assert says in done.error_lines[0]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_ttgir_named_ttir(ttgir_text: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.ttir"
    path.write_text(ttgir_text)
    done = flagc(path, "--target", "cuda:sm90")
    assert done.status == 2
    assert len(done.error_lines) == 1
    assert "holds ttgir, not ttir" in done.error_lines[0]


def test_reduce_with_bad_axis_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad_reduce.ttir"
    path.write_text(
        """\
tt.func public @kernel(%x: tensor<8x8xf32>) {
  %sum = "tt.reduce"(%x) <{axis = 2 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %add = arith.addf %a, %b : f32
    tt.reduce.return %add : f32
  }) : (tensor<8x8xf32>) -> tensor<8xf32>
  tt.return
}
"""
    )
    done = flagc(path, "--target", "cuda:sm90")
    assert done.status == 1
    assert len(done.error_lines) == 1
    assert f"{path}:2:" in done.error_lines[0]
    assert "axis" in done.error_lines[0]  # from 3.9 on Triton's own verifier finds it
    assert "rank" in done.error_lines[0]


def test_kernel_syntax_error_shows_the_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("import triton\n\n@triton.jit\ndef kernel(x_ptr:\n    return\n")
    done = flagc(path)
    assert done.status == 1
    assert f"{path}:4:" in done.stderr
    assert "def kernel(x_ptr:" in done.stderr
    assert "Traceback" not in done.stderr


def test_kernel_type_error_shows_the_users_line(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(
        "import torch, triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def kernel(x_ptr, N: tl.constexpr):\n    a = tl.zeros((16, N), tl.float32)\n"
        "    b = tl.zeros((24, 16), tl.float32)\n    tl.store(x_ptr, tl.sum(a + b))\n\n\n"
        "kernel[(1,)](torch.zeros(1), N=16)\n"
    )
    done = flagc(path)
    assert done.status == 1
    assert f"{path}:8:" in done.stderr
    assert "b = tl.zeros((24, 16), tl.float32)" in done.stderr
    assert "Traceback" not in done.stderr


def test_script_error_shows_its_line(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("import torch\nx = torch.zeros(4, device='cuda')\n")
    done = flagc(path)
    assert done.status == 1
    assert f"{path}:2: error:" in done.stderr
    assert "tensors on the CPU" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--passes", "count-opps"], "count-ops"),
        (["--passes", "count-ops{x=1}"], "it takes none"),
        (["--passes", "swizzle-program-ids{group-n=1}"], "group-m"),
        (["--passes", "swizzle-program-ids{group-m=many}"], "is no int"),
        (["--passes", "ttgir@after(acelerate_matmul):count-ops"], "accelerate_matmul"),
        (["--passes", "ttgir@after(canonicalizer):count-ops"], "canonicalizer#2"),
        (["--passes", "ttgr:count-ops"], "ttgir"),
        (["--passes", "count-ops,,"], "cannot read the pass pipeline"),
        (["--passes", "ptx:count-ops"], "cannot run"),
        (["--target", "cdua"], "cuda"),
        (["--target", "cuda:sm91"], "sm90"),
        (["--target", "ascend:910B9"], "910B"),
        (["--dump-ir=ttgr"], "ttgir"),
        (["--emit", "ptxx"], "ptx"),
        (["--trget", "cuda"], "--target"),
        (["--load", "nowhere.py"], "no such file"),
        (["--without", "explicit-othr", "--target", "ascend"], "explicit-other"),
    ],
)
def test_unknown_names_get_the_nearest(arguments: list[str], says: str) -> None:
    done = flagc(GEMM, *arguments)
    assert done.status == 2
    assert len(done.error_lines) == 1
    assert says in done.error_lines[0]
    assert done.stdout == ""


@pytest.mark.parametrize("folder", ["/proc/flagc-out", "/dev/null/out"])
def test_unwritable_output_folder(folder: str) -> None:
    done = flagc(GEMM, "-o", folder)
    assert done.status == 2
    assert len(done.error_lines) == 1
    assert f"cannot write to output folder {folder}" in done.error_lines[0]


def test_full_disk_leaves_nothing(tmp_path: Path) -> None:
    # A file size limit fails writes in the way a full disk does: late, in the middle of a file.
    limit = 100_000

    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    out = tmp_path / "deep" / "out"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from flagc.cli.main import main; main()",
            str(GEMM),
            "-o",
            str(out),
            "--in-process",
            "--no-cache",
        ],
        capture_output=True,
        text=True,
        preexec_fn=limit_files,
        env=dict(os.environ),
        check=False,
    )
    assert done.returncode == 2
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(errors) == 1
    assert not (tmp_path / "deep").exists()


def test_missing_python_package_is_said_when_needed(tmp_path: Path) -> None:
    blocker = tmp_path / "ascendnpuir"
    blocker.mkdir()
    (blocker / "__init__.py").write_text("raise ImportError('not here')\n")
    search = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {"PYTHONPATH": search}
    assert flagc(GEMM, "--target", "cuda:sm90", environment=environment).status == 0
    done = flagc(GEMM, "--target", "ascend", environment=environment)
    assert done.status == 2
    assert "ascendnpu-ir" in done.error_lines[0]


@pytest.mark.parametrize("folder", ["data", "/proc/flagc-data"])
def test_missing_toolchain_without_a_network(folder: str, tmp_path: Path) -> None:
    place = tmp_path / folder
    environment = {"FLAGC_DATA_DIR": str(place), "PIP_NO_INDEX": "1"}
    out = tmp_path / "out"
    vendor = ("--target", "ascend", "--pipeline", "vendor")
    done = flagc(GEMM, *vendor, "-o", out, environment=environment)
    assert done.status == 2
    assert len(done.error_lines) == 1
    says = "cannot download triton-ascend" if folder == "data" else "set FLAGC_DATA_DIR"
    assert says in done.error_lines[0]
    assert not out.exists()
    assert not [path for path in place.rglob("*") if path.name != ".lock" and path.is_file()]


def test_a_product_needs_no_download(tmp_path: Path) -> None:
    """flagc's own lowering does without the vendor's adapter."""
    environment = {"FLAGC_DATA_DIR": str(tmp_path / "data"), "PIP_NO_INDEX": "1"}
    done = flagc(GEMM, "--target", "ascend", environment=environment)
    assert done.status == 0, done.stderr


def test_no_path_and_unknown_suffix(tmp_path: Path) -> None:
    assert flagc().status == 2
    other = tmp_path / "kernel.txt"
    other.write_text("x")
    done = flagc(other)
    assert done.status == 2
    assert ".ttir" in done.error_lines[0]


def test_opt_refuses_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.mlir"
    path.write_text("")
    done = flagc_opt(path, "--passes", "count-ops")
    assert done.status == 2
    assert "empty" in done.error_lines[0]


def test_l0c_overflow_names_the_largest_tiles(tmp_path: Path) -> None:
    script = tmp_path / "big_tile.py"
    script.write_text(
        GEMM.read_text().replace("BLOCK_M=128, BLOCK_N=128", "BLOCK_M=256, BLOCK_N=256")
    )
    whole = ("--without", "split-accumulators")
    done = flagc(script, "--target", "ascend:910B3", *whole, "-o", tmp_path / "out")
    assert done.status == 1
    message = done.error_lines[0]
    assert "262144 bytes" in message  # 256 * 256 * 4
    assert "131072" in message
    assert "BLOCK_M <= 128" in message
    assert "big_tile.py:" in message
    assert not (tmp_path / "out").exists()
    split = flagc(script, "--target", "ascend:910B3")
    assert split.status == 0, split.stderr
    assert "128 of 256 rows are computed at a time" in split.stdout + split.stderr


def test_ub_overflow_names_the_largest_block() -> None:
    done = flagc(INPUTS / "ub_overflow.py", "--target", "ascend:910B3")
    assert done.status == 1
    message = done.error_lines[0]
    assert "196608" in message  # 192 KiB
    assert "ub_overflow.py:" in message
    assert "bits" not in message
    assert "largest legal block" in message
