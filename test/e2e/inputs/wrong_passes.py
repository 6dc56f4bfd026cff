"""Passes that break a kernel, each in its way, and one that only changes rounding."""

from dataclasses import dataclass

from flagc import Pass, register


@register
@dataclass(frozen=True)
class AddsBecomeSubtractions(Pass):
    """Turn floating-point additions into subtractions."""

    name = "adds-to-subs"
    level = "ttir"

    def run(self, module, context):
        for op in list(module.walk("arith.addf")):
            kind = op.results[0].type
            new = module.create("arith.subf", list(op.operands), [kind], {}, before=op)
            module.replace(op, list(new.results))


@register
@dataclass(frozen=True)
class DropStoreMasks(Pass):
    """Store all lanes."""

    name = "drop-store-masks"
    level = "ttir"

    def run(self, module, context):
        for op in list(module.walk("tt.store")):
            if len(op.operands) == 3:
                module.create("tt.store", list(op.operands)[:2], [], {}, before=op)
                op.erase()
