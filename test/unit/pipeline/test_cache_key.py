"""The compile cache is keyed by everything that can change the result, and by nothing else."""

import sys
from pathlib import Path

import pytest

from e2e.commands import EXAMPLES, flagc
from flagc.pipeline import cache
from flagc.pipeline.compiler import CompileRequest, cached_result, compile_kernel
from flagc.pipeline.loading import load_installed_passes, load_pass_files
from flagc.pipeline.pipeline_text import parse_pipeline
from flagc.targets.registry import target_by_name
from kernels.bridge_cases import case

PASS = """\
from dataclasses import dataclass
from flagc import Pass, register
{imports}

@register
@dataclass(frozen=True)
class Keyed(Pass):
    name = "{name}"
    level = "ttir"

    def run(self, module, context):
        context.remark(None, "{text}" {suffix})
"""


def request(passes: str = "", target: str = "cuda:sm90", name: str = "vector_add", **options):
    load_installed_passes()
    source, defaults = case(name)
    return CompileRequest(
        source, target_by_name(target), {**defaults, **options}, parse_pipeline(passes)
    )


def test_key_is_stable() -> None:
    assert request("count-ops").key == request("count-ops").key


@pytest.mark.parametrize(
    "other",
    [
        {"passes": "count-ops"},
        {"passes": "ttgir:count-ops"},
        {"passes": "set-num-stages{n=4}"},
        {"passes": "set-num-stages{n=5}"},
        {"target": "cuda:sm80"},
        {"target": "ascend:910B3"},
        {"name": "prefix_sum"},
        {"num_warps": 8},
    ],
)
def test_key_covers(other: dict) -> None:
    assert request().key != request(**other).key
    if other.get("passes", "").startswith("set-num-stages"):
        assert request(**other).key != request("set-num-stages{n=3}").key


def keyed(path: Path, name: str) -> str:
    load_pass_files([path])
    return request(name).key


def test_key_covers_the_passes_source(tmp_path: Path) -> None:
    path = tmp_path / "keyed.py"
    keys = []
    for text in ("one", "two", "one"):
        path.write_text(PASS.format(imports="", name="keyed-source", text=text, suffix=""))
        keys.append(keyed(path, "keyed-source"))
    assert keys[0] == keys[2] != keys[1]


def test_key_covers_modules_beside_the_pass(tmp_path: Path) -> None:
    helper, path = tmp_path / "keyed_helper.py", tmp_path / "keyed.py"
    imports = "from keyed_helper import SUFFIX"
    path.write_text(PASS.format(imports=imports, name="keyed-helper", text="x", suffix="+ SUFFIX"))
    keys = []
    for suffix in ("a", "b"):
        helper.write_text(f"SUFFIX = {suffix!r}\n")
        sys.modules.pop("keyed_helper", None)
        keys.append(keyed(path, "keyed-helper"))
    assert keys[0] != keys[1]


def test_second_compilation_is_a_hit_with_everything_it_said() -> None:
    first = compile_kernel(request("count-ops"))
    again = cached_result(request("count-ops"))
    assert again is not None
    assert again.cached
    assert [a.content for a in again.artifacts] == [a.content for a in first.artifacts]
    assert again.findings == first.findings
    assert len(again.findings.tables) == 2  # ttir and ttgir


def test_a_broken_cache_entry_is_compiled_anew() -> None:
    wanted = request()
    compile_kernel(wanted)
    key = wanted.key
    path = cache.cache_folder() / key[:2] / key
    path.write_bytes(path.read_bytes()[:100])
    assert cached_result(wanted) is None
    path.write_bytes(b"something else")
    assert cached_result(wanted) is None


def test_unwritable_cache_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAGC_CACHE_DIR", "/proc/flagc-cache")
    assert compile_kernel(request()).artifacts


def test_command_says_where_the_result_came_from(tmp_path: Path) -> None:
    script = EXAMPLES / "vector_add.py"
    assert "compiled in" in flagc(script, "--target", "cuda:sm90").stdout
    assert "from the cache" in flagc(script, "--target", "cuda:sm90").stdout
    assert "compiled in" in flagc(script, "--target", "cuda:sm90", "--no-cache").stdout
    timed = flagc(script, "--target", "cuda:sm90", "--time-passes")
    assert "loop_unroll" in timed.stdout
