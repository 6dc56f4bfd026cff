"""A script with two kernels, compiled to one; no GPU is needed."""

import json

from e2e.commands import EXAMPLES, flagc

SCRIPT = EXAMPLES / "gemm_then_gelu.py"


def compiled(*arguments: object) -> list[dict]:
    done = flagc(SCRIPT, "--target", "cuda:sm90", "--format", "json", *arguments)
    assert done.status == 0, done.stderr
    return json.loads(done.stdout)["kernels"]


def test_one_kernel_with_the_passes_of_a_fast_product() -> None:
    passes = "fuse-epilogue,resize-tiles{y=256},loads-to-descriptors,make-persistent{group-m=8}"
    (kernel,) = compiled("--passes", passes, "--dump-ir=ptx", "--num-warps", "8")
    assert kernel["kernel"] == "gemm_kernel_then_bias_gelu_kernel"
    assert kernel["merged"] == ["gemm_kernel", "bias_gelu_kernel"]
    assert kernel["grids"] == [[4, 4, 1]]
    saved = 2 * 512 * 512 * 2  # fp16, written and read
    assert kernel["statistics"]["ttir:fuse-epilogue:bytes of traffic saved"] == saved
    (table,) = kernel["tables"]
    assert table["title"] == "traffic saved"
    assert table["rows"] == [["gemm_kernel", "bias_gelu_kernel", 512, 512, saved]]
    (remark,) = (d for d in kernel["diagnostics"] if d["pass_name"] == "fuse-epilogue")
    assert f"{saved} bytes of DRAM traffic saved" in remark["text"]
    (ptx,) = (s["content"] for s in kernel["stages"] if s["stage"] == "ptx")
    assert ptx.count(".visible .entry") == 1
    assert "wgmma.mma_async" in ptx
    # The tile is stored through a descriptor, and nothing else is stored to memory by threads.
    assert "cp.async.bulk.tensor.2d.global.shared::cta" in ptx


def test_two_kernels_without_the_pass_and_for_other_targets() -> None:
    names = ["gemm_kernel", "bias_gelu_kernel"]
    assert [k["kernel"] for k in compiled("--emit", "ttir")] == names
    done = flagc(
        SCRIPT, "--target", "ascend", "--passes", "fuse-epilogue", "--emit", "ttir",
        "--format", "json",
    )  # fmt: skip
    assert done.status == 0, done.stderr
    kernels = json.loads(done.stdout)["kernels"]
    assert [kernel["kernel"] for kernel in kernels] == names
    assert all(
        any("no other kernel follows this one" in d["text"] for d in kernel["diagnostics"])
        for kernel in kernels
    )


def test_check_each_is_refused() -> None:
    done = flagc(
        SCRIPT, "--target", "cuda:sm90", "--passes", "fuse-epilogue", "--run", "--check-each"
    )
    assert done.status == 2
    assert "--check-each looks at one launch at a time" in done.stderr
