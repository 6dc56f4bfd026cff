"""flagc: compiler-pass experimentation for Triton, on NVIDIA and on Ascend."""

from __future__ import annotations

__version__ = "0.1.0"
