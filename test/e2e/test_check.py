"""`--check` compares what ran with a reference, and says where and how much it differs."""

from pathlib import Path

from e2e.checking import checked
from e2e.commands import EXAMPLES, flagc

GEMM = (EXAMPLES / "gemm.py").read_text()
# The kernel with other shapes, without the script's own check of the result.
ODD = (
    GEMM.replace("(512, 512)", "(150, 100)", 1)
    .replace("(512, 512)", "(100, 140)", 1)
    .replace(
        "    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=1e-2, atol=1e-1)\n",
        "",
    )
)

REFERENCE = """
    import flagc

    @flagc.reference(gemm_kernel)
    def exact(a_ptr, b_ptr, c_ptr, **rest):
        return {"c_ptr": a_ptr.double() @ b_ptr.double()}

"""


def with_reference(source: str) -> str:
    marker = "    device = triton.runtime"
    return source.replace(marker, REFERENCE + marker)


def test_right_kernels_pass_against_the_interpreter_and_a_reference(tmp_path: Path) -> None:
    plain, exact = tmp_path / "plain.py", tmp_path / "exact.py"
    plain.write_text(ODD)
    exact.write_text(with_reference(ODD))
    for script, against in (
        (plain, "Triton's interpreter in float64"),
        (exact, "@flagc.reference exact"),
    ):
        done, (launch,) = checked(script)
        assert done.status == 0, done.stderr
        assert launch["against"] == against
        assert [output["argument"] for output in launch["outputs"]] == ["c_ptr"]
        assert launch["mismatches"] == []


def test_a_wrong_pass_is_found_in_the_tail(tmp_path: Path) -> None:
    loader = tmp_path / "narrow_mask.py"
    loader.write_text(
        "from dataclasses import dataclass\nfrom flagc import Pass, register\n\n\n"
        "@register\n@dataclass(frozen=True)\nclass NarrowStore(Pass):\n"
        "    name = 'narrow-store'\n    level = 'ttir'\n\n"
        "    def run(self, module, context):\n"
        "        for op in module.walk('arith.cmpi'):\n"
        "            if op.attributes['predicate'].value == 2:\n"
        "                last = module.create('arith.constant', (), [op.operands[1].type],\n"
        "                    {'value': f'dense<140> : {op.operands[1].type}'}, before=op)\n"
        "                if str(op.operands[1].type) == 'tensor<128x1xi32>':\n"
        "                    op.operands[1] = last.results[0]\n"
    )
    script = tmp_path / "odd.py"
    script.write_text(ODD)
    done, (launch,) = checked(script, "--load", loader, "--passes", "narrow-store")
    assert done.status == 1
    (mismatch,) = launch["mismatches"]
    assert (mismatch["low"][0], mismatch["high"][0]) == (140, 149)  # rows 140 to 149 not stored
    assert "only in the tail of dimension 0" in done.stderr


def test_tolerance_can_be_given(tmp_path: Path) -> None:
    script = tmp_path / "exact.py"
    script.write_text(with_reference(ODD))
    done, (launch,) = checked(script, "--tolerance", "1e-9")
    assert done.status == 1
    assert launch["mismatches"][0]["worst"] < 0.05  # only rounding to fp16


def test_check_needs_run() -> None:
    done = flagc(EXAMPLES / "gemm.py", "--target", "ascend", "--check")
    assert done.status == 2
    assert "--run" in done.error_lines[0]
