"""lit configuration: tests run the commands of this checkout with this Python."""

import os
import sys
from pathlib import Path

import lit.formats

import flagc

root = Path(__file__).resolve().parent.parent
config.name = "flagc"  # noqa: F821 - lit defines `config` and `lit_config`
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".ttir", ".ttgir", ".test"]  # noqa: F821
config.excludes = ["inputs", "Inputs"]  # noqa: F821
config.test_source_root = str(root / "test")  # noqa: F821
config.test_exec_root = str(root / "build" / "lit")  # noqa: F821

environment = config.environment  # noqa: F821
for name in ("FLAGC_DATA_DIR", "FLAGC_CACHE_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME"):
    if name in os.environ:
        environment[name] = os.environ[name]
# The same flagc that runs this: the installed one, or the checkout on PYTHONPATH.
environment["PYTHONPATH"] = str(Path(flagc.__file__).parent.parent)
environment["TRITON_DEFAULT_FP_FUSION"] = "1"  # Triton 3.9 warns when it is unset
environment["PYTHONWARNINGS"] = "ignore"


def command(module: str) -> str:
    return f'{sys.executable} -c "from flagc.cli.{module} import main; main()"'


substitutions = config.substitutions  # noqa: F821
substitutions.append(("%{root}", str(root)))
substitutions.append((r"\bflagc-opt\b", command("opt")))
substitutions.append((r"\bflagc-run\b", command("run")))
# Not the lowering of that name: `--pipeline flagc`.
substitutions.append((r"(?<![\w./-])(?<!--pipeline )flagc(?![\w./-])", command("main")))
substitutions.append((r"\bfilecheck\b", f"{sys.executable} -m filecheck"))
