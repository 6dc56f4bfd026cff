"""Nest what follows an early return."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.module import Module, Operation, Value
from flagc.ir.regions import Block, append, copy_to
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_TERMINATORS = ("cf.br", "cf.cond_br", "tt.return")


@register
@dataclass(frozen=True)
class StructuredEarlyReturn(Pass):
    """Turn `if c: return` into an `scf.if` around the rest of the kernel.

    Triton writes early returns as branches between blocks (`cf.cond_br`). Where every block but
    one that just returns is reached from one place only, without values, they are branches of a
    tree and nest. Others stay, with a remark.

    The vendor's Ascend adapter fails an assertion on some such kernels, loops in them for instance.
    """

    name = "structured-early-return"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Rebuild each function of more than one block."""
        for function in module.functions():
            blocks = list(function.regions[0].blocks)
            if function.name != "tt.func" or len(blocks) < 2:
                continue
            obstacle = _obstacle(blocks)
            if obstacle is not None:
                context.remark(
                    obstacle, "not applied: these branches meet again, or hand on values"
                )
                continue
            _rebuild(module, function)
            context.statistic("functions nested")


def _obstacle(blocks: list[Block]) -> Operation | None:
    """Return a terminator because of which the blocks are no tree, or None."""
    reached: list[Block] = [blocks[0]]
    for block in blocks:
        end = _terminator(block)
        is_condition = end.name == "cf.cond_br"
        if end.name not in _TERMINATORS or len(end.operands) != (1 if is_condition else 0):
            return end
        for target in _targets(end):
            if _just_returns(target):
                continue
            if target in reached:
                return end
            reached.append(target)
    return None


def _terminator(block: Block) -> Operation:
    return list(block.operations)[-1].operation


def _targets(terminator: Operation) -> list[Block]:
    return list(terminator.successors)


def _just_returns(block: Block) -> bool:
    return len(list(block.operations)) == 1 and _terminator(block).name == "tt.return"


def _rebuild(module: Module, function: Operation) -> None:
    """Create the function again with one block, and erase the old one."""
    attributes = {name: function.attributes[name] for name in function.attributes}
    created = module.create("tt.func", [], [], attributes, before=function, regions=1)
    entry = function.regions[0].blocks[0]
    types = [argument.type for argument in entry.arguments]
    locations = [argument.location for argument in entry.arguments]
    block = created.regions[0].blocks.append(*types, arg_locs=locations)
    values = dict(zip(entry.arguments, block.arguments, strict=True))
    _nest(module, entry, block, values)
    append(module, block, "tt.return", location=function.location)
    function.erase()


def _nest(module: Module, source: Block, target: Block, values: dict[Value, Value]) -> None:
    """Append what happens from `source` on to `target`, up to the return."""
    *ops, end = [child.operation for child in source.operations]
    copy_to(target, ops, values)
    if end.name == "cf.br":
        _nest(module, _targets(end)[0], target, values)
    elif end.name == "cf.cond_br":
        _branch(module, end, target, values)


def _branch(module: Module, end: Operation, target: Block, values: dict[Value, Value]) -> None:
    condition = values.get(end.operands[0], end.operands[0])
    where = end.location
    taken, other = _targets(end)
    if _just_returns(taken):  # the first region must not be empty
        true = append(
            module, target, "arith.constant", [], ["i1"], {"value": "true"}, location=where
        )
        negated = [condition, true.results[0]]
        condition = append(module, target, "arith.xori", negated, ["i1"], location=where).results[0]
        taken, other = other, taken
    branch = append(module, target, "scf.if", [condition], location=where, regions=2)
    for number, successor in enumerate((taken, other)):
        if number == 0 or not _just_returns(successor):
            inner = branch.regions[number].blocks.append()
            _nest(module, successor, inner, values)
            append(module, inner, "scf.yield", location=where)
