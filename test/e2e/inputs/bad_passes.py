"""Passes that go wrong, each in its own way."""

import os
import time
from dataclasses import dataclass

from flagc import Module, Pass, PassContext, register


@register
@dataclass(frozen=True)
class BadMmaShape(Pass):
    """Write an instruction shape on which Triton's compiler aborts."""

    name = "bad-mma-shape"
    level = "ttgir"

    def run(self, module: Module, context: PassContext) -> None:
        module.replace_in_types_and_attributes(
            "instrShape = [16, 128, 16]", "instrShape = [16, 17, 16]"
        )


@register
@dataclass(frozen=True)
class SegfaultPass(Pass):
    """Kill the process as a null pointer would."""

    name = "segfault"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        os.kill(os.getpid(), 11)


@register
@dataclass(frozen=True)
class EndlessPass(Pass):
    """Never return."""

    name = "endless"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        while True:
            time.sleep(0.05)


@register
@dataclass(frozen=True)
class KilledPass(Pass):
    """Be killed from outside, as by the kernel when memory runs out."""

    name = "killed"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        os.kill(os.getpid(), 9)


@register
@dataclass(frozen=True)
class RaisingPass(Pass):
    """Have a bug in Python."""

    name = "raising"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        raise KeyError("no such thing")


@register
@dataclass(frozen=True)
class InvalidIrPass(Pass):
    """Leave IR that Triton's verifier rejects."""

    name = "invalid-ir"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        for op in module.walk("tt.make_range"):
            op.attributes["end"] = module.integer(127)


@register
@dataclass(frozen=True)
class RefusingPass(Pass):
    """Find every dot illegal."""

    name = "refusing"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        for op in module.walk("tt.dot"):
            context.error(op, "no dots here, please")
