"""Published measurements that the model can reproduce, and which of them are variants."""

from __future__ import annotations

from case import Case
from copy_rows import copy_cases
from gemm_rows import gemm_cases

# Variants of one kernel on one chip: by table, names that begin alike or are listed together.
VARIANTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("T1", ("case 0", "case 1")),
    ("T1", ("case 2", "case 3", "case 4", "case 5", "case 6", "case 7", "case 8")),
    ("T3", ("1 L1",)),
    ("T3", ("2 zN", "2 row")),
    ("T3", ("3 L1",)),
    ("T3", ("4 swizzle",)),
    ("T4", ("tiling a",)),
    ("T4", ("mdl",)),
    ("T4", ("k ",)),
    ("T4", ("constant",)),
    ("T4", ("l2",)),
    ("T4", ("preload",)),
    ("T5", ("aiv 1", "aiv 2", "aiv 3", "aiv 4")),
    ("T5", ("aiv 5", "aiv 6")),
    ("T5", ("aiv 7", "aiv 8")),
    ("T5", ("aic 1", "aic 2", "aic 3")),
    ("T5", ("aic 4", "aic 5")),
    ("T5", ("aic 6", "aic 7")),
    ("T7", ("add 2", "add 3", "add 4", "add 5", "add 6")),
    ("T8", ("basic",)),
    ("T9", ("nd2nz",)),
)


def variant_of(table: str, name: str) -> int | None:
    """Which group of variants a case belongs to."""
    for index, (of_table, beginnings) in enumerate(VARIANTS):
        if table == of_table and name.startswith(beginnings):
            return index
    return None


def all_cases() -> list[Case]:
    """Every case, by table."""
    return [*gemm_cases(), *copy_cases()]
