"""`--bench` for Ascend: modelled times, with their band, of launches that need no NPU."""

import json
from pathlib import Path

from e2e.commands import EXAMPLES, flagc

TARGET = ("--target", "ascend:910B3", "--bench")


def test_a_time_has_chip_version_band_and_reasons() -> None:
    done = flagc(EXAMPLES / "gemm.py", *TARGET, "--format", "json")
    assert done.status == 0, done.stderr
    document = json.loads(done.stdout)
    assert "timed and not executed" in document["note"]
    (launch,) = document["modelled"]
    (timing,) = launch["candidates"].values()
    assert timing["chip"] == "910B3"
    assert timing["clock_mhz"] == 1800
    assert timing["model_version"]
    assert 0 < timing["band"] < 0.5
    assert timing["microseconds"] * 1800 - timing["cycles"] < 3
    assert timing["critical_pipe"] in [f"{p['core']} {p['pipe']}" for p in timing["pipes"]]
    assert any(pipe["idle"] for pipe in timing["pipes"])


def test_a_difference_inside_the_band_is_not_called_one(tmp_path: Path) -> None:
    trace = tmp_path / "gemm.json"
    done = flagc(
        *(EXAMPLES / "gemm.py", *TARGET, "--run", "--trace", trace),
        *("--passes", "swizzle-program-ids{group-m=2}", "--compare", ""),
    )
    assert done.status == 0, done.stderr
    assert "gemm: ok" in done.stdout
    assert "no difference outside the band" in " ".join(done.stdout.split())
    assert "nothing was measured on an NPU" in done.stdout.replace("\n", " ")
    events = json.loads(trace.read_text())["traceEvents"]
    names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {"AIC M", "AIC MTE1", "AIC MTE2", "AIC FIX"} <= names
    assert all(event["dur"] > 0 for event in events if event["ph"] == "X")


def test_compare_needs_bench() -> None:
    done = flagc(EXAMPLES / "gemm.py", "--target", "ascend", "--compare", "")
    assert done.status == 2
    assert "--compare needs --bench" in done.stderr
