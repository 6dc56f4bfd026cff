"""docs/ascend-lowering.md shows the IR that the passes make today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from e2e.commands import ROOT

WRITER = ROOT / "tools/maintenance/lowering_page.py"


def test_the_page_is_what_its_writer_writes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    subprocess.run([sys.executable, str(WRITER), str(page)], check=True, timeout=240)
    current = (ROOT / "docs/ascend-lowering.md").read_text("utf-8")
    assert page.read_text("utf-8") == current, f"run {WRITER.relative_to(ROOT)}"
