"""Emission: fully lowered staged IR to the module that the vendor's last stage takes."""

from flagc.targets.ascend.emission.code import EmissionError
from flagc.targets.ascend.emission.kernel import emit

__all__ = ["EmissionError", "emit"]
