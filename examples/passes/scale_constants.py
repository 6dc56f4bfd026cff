"""An example of a user's pass; docs/passes.md explains it."""

from dataclasses import dataclass

from flagc import Module, Pass, PassContext, register


@register
@dataclass(frozen=True)
class ScaleConstants(Pass):
    """Multiply every i32 constant by `factor` (a bad idea, but a short one)."""

    name = "scale-constants"
    level = "ttir"
    factor: int = 2

    def run(self, module: Module, context: PassContext) -> None:
        for op in module.walk("arith.constant"):
            if str(op.results[0].type) == "i32":
                value = self.factor * op.attributes["value"].value
                op.attributes["value"] = module.integer(value)
                context.statistic("constants scaled")
                context.remark(op, f"now {value}")
