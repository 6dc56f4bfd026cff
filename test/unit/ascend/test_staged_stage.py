"""Stage staged: IR that is printed can be read back, and `--pipeline` chooses who lowers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flagc.errors import FlagcError, KernelError, UsageError
from flagc.ir.module import Module
from flagc.pipeline.compiler import CompileRequest, CompileResult, compile_kernel
from flagc.pipeline.context import PassContext
from flagc.pipeline.defaults import build_pipeline
from flagc.pipeline.diagnostics import Declined
from flagc.pipeline.instrumentation import InstrumentationOptions
from flagc.pipeline.passes import Pass, register
from flagc.pipeline.target import IrSource
from flagc.targets.ascend.lowerings import STAGED_PASSES
from flagc.targets.ascend.staged_stage import StagedStage
from flagc.targets.ascend.target import AscendTarget
from flagc.targets.registry import target_by_name
from kernels.bridge_cases import case

TILES = """
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f16> loc("k.py":1:1), %n: i32 loc("k.py":1:2)):
    %o = "arith.constant"() {value = 0 : i64} : () -> i64 loc("k.py":2:1)
    %t = "staged.alloc"() {buffers = 2 : i32} : () -> !staged.tile<l1, 16x32xi8> loc("k.py":3:1)
    "scf.for"(%n, %n, %n) ({
    ^bb0(%i: i32 loc("k.py":4:1)):
      %s = "arith.addi"(%i, %n) : (i32, i32) -> i32 loc("k.py":5:1)
      "staged.fill"(%t) : (!staged.tile<l1, 16x32xi8>) -> () loc("x"("k.py":6:1))
      "scf.yield"() : () -> () loc("k.py":7:1)
    }) : (i32, i32, i32) -> () loc("k.py":4:1)
    "tt.return"() : () -> () loc("k.py":8:1)
  }) {sym_name = "k", function_type = (!tt.ptr<f16>, i32) -> ()} : () -> () loc("k.py":1:1)
}) : () -> ()
"""


@register
@dataclass(frozen=True)
class RefusesDots(Pass):
    """Declines, after it has said something."""

    name = "refuses-dots"
    level = "staged"
    early: bool = False

    def run(self, module: Module, context: PassContext) -> None:
        context.remark(None, "of work that is dropped")
        context.statistic("dropped")
        for op in module.walk("tt.dot", "staged.mad"):
            context.decline(op, "no dots please")


def compiled(
    pipeline: str, name: str = "gemm", passes: str = "", stop_after: str = "final", **more: Any
) -> CompileResult:
    target = target_by_name("ascend:910B3", pipeline)
    source, options = case(name)
    placed = build_pipeline(target, passes, (), more.pop("without", ()))
    return compile_kernel(
        CompileRequest(source, target, options, placed, stop_after=stop_after, **more)
    )


def stages_of(result: CompileResult) -> list[str]:
    return [artifact.stage for artifact in result.artifacts]


def said(result: CompileResult) -> list[str]:
    return [str(found) for found in result.findings.diagnostics]


def printed_after_each_pass() -> list[str]:
    every = InstrumentationOptions(print_ir="all")
    result = compiled("flagc", stop_after="staged", instrumentation=every)
    texts = [printed.text for printed in result.records.printed if printed.stage == "staged"]
    stage = StagedStage(None)
    return [*texts, stage.text(Module.parse(TILES, "staged"))]


def test_what_is_printed_reads_back(tmp_path: Path) -> None:
    """The same module, whether it was printed with locations or not, pretty or generic."""
    texts = printed_after_each_pass()
    assert len(texts) > 3
    for text in texts:
        path = tmp_path / "k.staged.mlir"
        path.write_text(text)
        stage = StagedStage(None)
        module = stage.read(path)
        assert stage.text(module) == text
        for debug in (True, False):
            path.write_text(module.text(debug=debug))
            again = StagedStage(None).read(path)
            assert again.text(debug=False) == module.text(debug=False)
            if debug:
                assert stage.text(again) == text
        path.write_text(stage.text(module, debug=False))
        assert StagedStage(None).read(path).text(debug=False) == module.text(debug=False)


def test_the_lowering_passes_are_timed_and_printed() -> None:
    every = InstrumentationOptions("change", time_passes=True)
    result = compiled("flagc", passes="count-ops", stop_after="staged", instrumentation=every)
    timed = [timing.name for timing in result.records.timings if timing.stage == "staged"]
    printed = [entry.name for entry in result.records.printed if entry.stage == "staged"]
    assert timed == [*STAGED_PASSES, "count-ops"]
    assert set(printed) >= {"stage-loads", "stage-dot-on-cube", "stage-store"}
    assert "count-ops" not in printed


def test_after_any_pass_the_rest_gives_the_same_result(tmp_path: Path) -> None:
    every = InstrumentationOptions("all")
    whole = compiled("flagc", instrumentation=every)
    target = target_by_name("ascend:910B3", "flagc")
    placed = build_pipeline(target, "", (), ())
    texts = [entry.text for entry in whole.records.printed if entry.stage == "staged"]
    assert len(texts) == len(STAGED_PASSES)
    for text in texts:
        path = tmp_path / "gemm.staged.mlir"
        path.write_text(text)
        source = IrSource("gemm", "staged", path, text)
        _, options = case("gemm")
        request = CompileRequest(source, target, options, placed, stop_after="final")
        rest = compile_kernel(request)
        assert rest.artifact("staged").content == whole.artifact("staged").content
        assert rest.artifact("final").content == whole.artifact("final").content


def test_upstream_ops_are_shown_in_their_own_form() -> None:
    text = StagedStage(None).text(Module.parse(TILES, "staged"), debug=False)
    assert "scf.for %arg2 = %arg1 to %arg1 step %arg1" in text
    assert '"staged.fill"(%0) : (!staged.tile<l1, 16x32xi8>) -> ()' in text


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ((TILES, " \n"), UsageError, "the file is empty; expected staged IR"),
        ((TILES, "tt.func @k"), UsageError, ":1:1: error: not valid staged IR: "),
        (("(%i, %n) :", "(%i, %m) :"), UsageError, ":9:29: error: not valid staged IR: use of un"),
        (
            ('(i32, i32) -> i32 loc("k.py":5:1)', "(i32, i32) -> i64"),
            KernelError,
            ":9:12: error: 'arith.addi' op requires the same type",
        ),
        (
            ('16x32xi8>) -> () loc("x"("k.py":6:1))', "8x32xi8>) -> ()"),
            UsageError,
            "expects different type",
        ),
        (("16x32xi8", "16x24xi8"), KernelError, "k.py:3:1: error: 'staged.alloc': a tile of i8 in"),
    ],
)
def test_files_that_are_refused(
    change: tuple[str, str], error: type[FlagcError], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "k.staged.mlir"
    path.write_text(TILES.replace(*change))
    with pytest.raises(error) as failure:
        StagedStage(None).read(path)
    assert says in str(failure.value)
    assert str(failure.value).startswith(("k.py:", f"{path}:"))


def test_the_stage_leaves_the_ttir_as_it_was() -> None:
    source, options = case("gemm")
    compilation = AscendTarget("910B3").begin(source, options)
    before = str(compilation.payload)
    module = StagedStage(None).run(compilation.payload, None)
    assert [op.name for op in module.walk("tt.dot")] == ["tt.dot"]
    assert str(compilation.payload) == before


def test_vendor_has_no_stage_staged_and_flagc_has_none_of_the_vendors() -> None:
    assert stages_of(compiled("vendor")) == ["ttir", "linalg", "hivm", "final"]
    assert stages_of(compiled("flagc", stop_after="staged")) == ["ttir", "staged"]
    with pytest.raises(UsageError, match="works on staged, which this target does not have"):
        compiled("vendor", passes="refuses-dots")


def test_a_kernel_without_dot() -> None:
    with pytest.raises(Declined, match=r"has no tl\.dot, and flagc's pipeline lowers only those"):
        compiled("flagc", "vector_add")
    automatic = compiled("auto", "vector_add")
    assert stages_of(automatic) == ["ttir", "linalg", "hivm", "final"]
    assert not said(automatic)


def test_auto_falls_back_and_says_why() -> None:
    result = compiled("auto", passes="staged@before(stage-loads):refuses-dots")
    assert stages_of(result) == ["ttir", "linalg", "hivm", "final"]
    (remark,) = said(result)
    assert "remark: 'tt.dot': the vendor's pipeline lowers this kernel, not flagc's pipeline" in (
        remark
    )
    assert remark.endswith("(--pipeline auto): no dots please [refuses-dots]")
    assert "bridge_kernels.py:" in remark
    assert not result.findings.statistics
    vendor = compiled("vendor")
    assert result.artifact("final").content == vendor.artifact("final").content


def test_flagc_does_not_fall_back() -> None:
    with pytest.raises(Declined, match=r"bridge_kernels\.py:.*'tt\.dot': no dots please"):
        compiled("flagc", passes="staged@before(stage-loads):refuses-dots")


def test_auto_takes_the_vendors_for_the_users_passes_there() -> None:
    result = compiled("auto", passes="hivm:count-ops")
    assert stages_of(result) == ["ttir", "linalg", "hivm", "final"]
    assert said(result)[0] == (
        "remark: the vendor's pipeline lowers this kernel, not flagc's pipeline (--pipeline auto): "
        "pass 'hivm:count-ops' works there"
    )


def test_the_cache_tells_pipelines_apart() -> None:
    keys = {target_by_name("ascend:910B3", name).key() for name in ("auto", "flagc", "vendor")}
    assert len(keys) == 3
    assert target_by_name("ascend:910B3").key() == target_by_name("ascend:910B3", "auto").key()
    with pytest.raises(UsageError, match="--pipeline chooses between lowerings of ascend"):
        target_by_name("cuda:sm90", "flagc")
