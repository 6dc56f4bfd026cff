"""Replace calls of NVIDIA's libdevice by ops that every target knows."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.builder import Builder
from flagc.ir.module import Module
from flagc.passes.ttir.libdevice_functions import FUNCTIONS
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_LIBDEVICE_PREFIX = "__nv_"


@register
@dataclass(frozen=True)
class LibdeviceToMath(Pass):
    """Replace `tt.extern_elementwise` of a libdevice symbol by arith and math ops.

    Meant for targets without libdevice: NVIDIA's own code generator takes only some of the math ops
    (exp, log, sqrt, erf, ...), while the vendor's Ascend compiler takes all that this pass makes.
    Results agree to the precision of the target's math ops. A symbol without an equivalent stays,
    with a remark.
    """

    name = "libdevice-to-math"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Replace each call by what the table `FUNCTIONS` builds for its symbol."""
        for call in module.walk("tt.extern_elementwise"):
            symbol = call.attributes["symbol"].value
            function = FUNCTIONS.get(symbol)
            if function is not None:
                build = Builder(module, before=call)
                result = function(build, list(call.operands), str(call.results[0].type))
                module.replace(call, [result])
                context.statistic("calls replaced")
            elif symbol.startswith(_LIBDEVICE_PREFIX):
                context.remark(
                    call, f"left alone: there is no equivalent of libdevice's '{symbol}' here"
                )
