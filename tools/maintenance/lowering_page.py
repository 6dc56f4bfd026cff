"""Write docs/ascend-lowering.md: examples/gemm.py after each pass of flagc's own lowering.

    python tools/maintenance/lowering_page.py [FILE]

The text around the IR is lowering_page.md beside this file; `{{name}}` stands for the IR after the
pass of that name, `{{start}}` for the TTIR. No NPU is needed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = Path(__file__).with_suffix(".md")
PAGE = ROOT / "docs/ascend-lowering.md"
COMMAND = (
    *("examples/gemm.py", "--target", "ascend:910B3", "--pipeline", "flagc"),
    *("--print-ir-after-change", "--format", "json"),
)
NOTICE = (
    "<!-- Written by tools/maintenance/lowering_page.py; edit lowering_page.md beside it. -->\n"
)
# What a kernel author looks for first. Lines of other ops are scalar arithmetic.
SKELETON = re.compile(
    r'^ {4,}(%[\w, :]+ = )?("?staged\.|scf\.|"?tt\.(load|dot|store|trans|get_program_id)|\})'
)
# `: (types) -> types` at the end of an op in generic form, and Triton's ` : types`.
TYPES = re.compile(r" : (\(.*\) -> .*|tensor<.*|!tt.*)$")
LOCATION = re.compile(r" loc\((\"[^\"]*\"\(#loc\d*\)|#loc\d*|unknown)\)")
# An `else` without ops.
EMPTY_ELSE = re.compile(r"\n\s*\} else \{\n(?=\s*\})")
TILE = re.compile(r"-> (!staged\.tile<[^>]*>)$")


def printed_ir() -> dict[str, str]:
    """Return the IR after each pass, without locations; `start` is the TTIR."""
    program = "from flagc.cli.main import main; main()"
    finished = subprocess.run(
        [sys.executable, "-c", program, *COMMAND],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    (kernel,) = json.loads(finished.stdout)["kernels"]
    found = {}
    for entry in kernel["printed_ir"]:
        name = "start" if entry["stage"] == "ttir" else entry["name"]
        found[name] = without_locations(entry["text"])
    return found


def without_locations(text: str) -> str:
    """Return MLIR text without its debug locations."""
    lines = [line for line in text.splitlines() if not line.startswith("#loc")]
    return "\n".join(LOCATION.sub("", line) for line in lines)


def skeleton(text: str) -> str:
    """Return loops, moves, products and flags, without types; tiles keep theirs."""
    kept = []
    for line in text.splitlines():
        if SKELETON.match(line):
            tile = TILE.search(line)
            kept.append(TYPES.sub("", line) + (f" : {tile.group(1)}" if tile else ""))
    return EMPTY_ELSE.sub("\n", "\n".join(kept))


def section(text: str) -> str:
    """Return what stands for one `{{name}}`."""
    return (
        f"```mlir\n{skeleton(text)}\n```\n\n"
        f"<details><summary>the complete IR</summary>\n\n```mlir\n{text}\n```\n\n</details>"
    )


def page() -> str:
    """Return the page.

    Raises:
        KeyError: the template names a pass that changed nothing, or that does not exist.
    """
    ir = printed_ir()
    template = TEMPLATE.read_text("utf-8")
    filled = re.sub(r"\{\{([\w-]+)\}\}", lambda match: section(ir[match.group(1)]), template)
    return NOTICE + filled


def main() -> None:
    """Write the page to the file given, or to docs/."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    target.write_text(page(), "utf-8")
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
