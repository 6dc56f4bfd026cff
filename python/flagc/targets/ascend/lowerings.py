"""The two ways from TTIR to the final module (`--pipeline`), and the passes of flagc's own."""

from __future__ import annotations

from flagc.pipeline.stages import Alternative

PIPELINES = ("auto", "flagc", "vendor")

# flagc's own lowering of the level "staged", in running order. Those without which nothing can be
# executed are in `NEEDED_PASSES`; the others make it faster.
STAGED_PASSES: tuple[str, ...] = (
    "stage-loads",
    "stage-dot-on-cube",
    "stage-epilogue",
    "stage-store",
    "pack-k",
    "persistent-blocks",
    "multi-buffer",
    "plan-memory",
    "insert-sync",
)
NEEDED_PASSES = frozenset(
    ("stage-loads", "stage-dot-on-cube", "stage-store", "plan-memory", "insert-sync")
)

# What takes a kernel, with `auto`, that the staged passes decline.
VENDOR_INSTEAD = Alternative(
    stages=("linalg", "hivm"),
    name="the vendor's pipeline",
    own_name="flagc's pipeline",
    choice="--pipeline auto",
)
