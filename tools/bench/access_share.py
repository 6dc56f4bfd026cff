"""How many loads and stores of TTIR files the address analysis describes. Prints a table.

    PYTHONPATH=python python tools/bench/access_share.py FOLDER...

Counted are accesses whose address is described, and those whose mask is as well: every condition a
bound on the lanes of one dimension, or the same for all lanes. Then the reasons of the others.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend

from flagc.ir.analysis.accesses import Access, Refused, accesses
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.triton_bridge import export, import_file
from flagc.targets.triton_frontend import new_context


def main(folders: list[str]) -> None:
    counts: dict[str, Counter[str]] = {"blocks": Counter(), "scalars": Counter()}
    reasons: Counter[str] = Counter()
    files = sorted(path for folder in folders for path in Path(folder).glob("*.ttir"))
    for path in files:
        context = new_context(make_backend(GPUTarget("cuda", 90, 32)))
        module = export(import_file(path, context), "ttir")
        for found in accesses(module, IndexValues()):
            pointer = str(found.op.operands[0].type)
            kind = counts["blocks" if "tensor" in pointer else "scalars"]
            kind["all"] += 1
            if isinstance(found, Refused):
                reasons[found.reason] += 1
                continue
            assert isinstance(found, Access)
            kind["described"] += 1
            kind["with its mask"] += not found.irregular
    print(f"{len(files)} files")
    for name, count in counts.items():
        shares = (f"{key} {number} ({number / count['all']:.1%})" for key, number in count.items())
        print(f"{name}: {', '.join(shares)}")
    for reason, number in reasons.most_common():
        print(f"{number:6}  {reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
