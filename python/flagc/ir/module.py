"""The module that passes see: a thin, typed wrapper over MLIR's Python bindings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from flagc.errors import KernelError
from flagc.ir.generic_text import normalise
from flagc.mlir import bare_context, ir, rewrite

Operation = Any  # torch_mlir.ir.Operation: the bindings carry no type information
Value = Any  # torch_mlir.ir.Value
AttributeLike = Any  # an ir.Attribute, or a str that parses as one


class Module:
    """An MLIR module in a bare context, in which every op is generic.

    `level` names the stage's level ("ttir", "ttgir", "hivm", ...). Ops are the bindings' own
    `Operation` objects, so everything upstream MLIR offers in Python can be used on them.
    """

    def __init__(self, mlir_module: Any, level: str) -> None:
        self.mlir_module = mlir_module
        self.level = level

    @classmethod
    def parse(cls, generic_text: str, level: str, *, origin: str = "input") -> Module:
        """Parse generic text as Triton or the vendor prints it.

        Raises:
            KernelError: the text is no MLIR; the message carries the parser's first diagnostic.
        """
        context = bare_context()
        try:
            with context:
                return cls(ir.Module.parse(normalise(generic_text)), level)
        except (ir.MLIRError, ValueError) as error:
            raise KernelError(f"{origin}: not parsable as generic MLIR: {error}") from error

    @property
    def context(self) -> Any:
        """The MLIR context that owns this module."""
        return self.mlir_module.context

    @property
    def operation(self) -> Operation:
        """The `builtin.module` op."""
        return self.mlir_module.operation

    @property
    def body(self) -> Any:
        """The module's only block."""
        return self.mlir_module.body

    def text(self, *, debug: bool = True) -> str:
        """Return the module in generic form, with source locations when `debug` is set."""
        return str(self.operation.get_asm(enable_debug_info=debug, print_generic_op_form=True))

    def walk(self, *op_names: str) -> Iterator[Operation]:
        """Yield the module's ops in program order, or those whose name is in `op_names`.

        The list is taken before the first op is yielded, so ops may be changed or erased while
        iterating, as long as an erased op's nested ops are not used afterwards.
        """
        found: list[Operation] = []
        _collect(self.operation, frozenset(op_names), found)
        yield from found

    def functions(self) -> list[Operation]:
        """Return the function ops (`tt.func`, `func.func`, `llvm.func`) of this module."""
        names = ("tt.func", "func.func", "llvm.func")
        return [op.operation for op in self.body.operations if op.operation.name in names]

    def attribute(self, value: AttributeLike) -> Any:
        """Return `value` as an attribute of this module's context.

        A str is parsed as MLIR attribute text (`"8 : i32"`, `"#ttg.shared_memory"`).
        """
        if isinstance(value, str):
            return ir.Attribute.parse(value, self.context)
        return value

    def type(self, text: str) -> Any:
        """Return the type that `text` spells, in this module's context."""
        return ir.Type.parse(text, self.context)

    def integer(self, value: int, width: int = 32) -> Any:
        """Return the attribute `value : i<width>`."""
        return ir.Attribute.parse(f"{value} : i{width}", self.context)

    def create(
        self,
        name: str,
        operands: Sequence[Value] = (),
        results: Sequence[Any] = (),
        attributes: Mapping[str, AttributeLike] | None = None,
        *,
        before: Operation | None = None,
        after: Operation | None = None,
        regions: int = 0,
        location: Any = None,
    ) -> Operation:
        """Create an op next to an existing one, at that op's source location.

        `results` holds types, as objects or as text. Exactly one of `before` and `after` is given.

        Raises:
            ValueError: neither or both of `before` and `after` were given.
        """
        if (before is None) == (after is None):
            raise ValueError("give exactly one of 'before' and 'after'")
        neighbour = before if before is not None else after
        assert neighbour is not None
        types = [self.type(t) if isinstance(t, str) else t for t in results]
        named = {key: self.attribute(value) for key, value in (attributes or {}).items()}
        # Moving a detached op segfaults, so it is created in its place.
        point = ir.InsertionPoint
        place = point(before) if before is not None else point.after(neighbour)
        return ir.Operation.create(
            name,
            results=types,
            operands=list(operands),
            attributes=named,
            regions=regions,
            loc=location or neighbour.location,
            ip=place,
        )

    def replace(self, op: Operation, values: Sequence[Value]) -> None:
        """Replace the results of `op` by `values`, and erase `op`.

        Raises:
            ValueError: the number of values is not the number of results.
        """
        if len(values) != len(op.results):
            raise ValueError(f"{op.name} has {len(op.results)} results, {len(values)} given")
        for old, new in zip(op.results, values, strict=True):
            old.replace_all_uses_with(new)
        op.erase()

    def rewrite(self, op_name: str, pattern: Callable[[Operation, Any], Any]) -> None:
        """Apply `pattern(op, rewriter)` greedily to every op called `op_name`.

        A pattern that matched returns something falsy, as the bindings define it.
        """
        patterns = rewrite.RewritePatternSet(self.context)
        with self.context:
            patterns.add(op_name, pattern)
            rewrite.walk_and_apply_patterns(self.operation, patterns.freeze())

    def replace_in_types_and_attributes(self, old: str, new: str) -> int:
        """Replace the attribute text `old` (a layout, say) by `new` in all types and attributes.

        Both must be complete attributes, spelled as this module prints them, without aliases.
        Returns the number of values and attributes that changed.
        """
        changed = 0
        types: dict[str, Any] = {}

        def retype(value: Value) -> int:
            text = str(value.type)
            if old not in text:
                return 0
            if text not in types:
                types[text] = self.type(text.replace(old, new))
            value.set_type(types[text])
            return 1

        for op in self.walk():
            changed += sum(retype(result) for result in op.results)
            for region in op.regions:
                for block in region.blocks:
                    changed += sum(retype(argument) for argument in block.arguments)
            for key, attribute in list(op.attributes.items()):
                text = str(attribute)
                if old in text:
                    op.attributes[key] = self.attribute(text.replace(old, new))
                    changed += 1
        return changed


def _collect(op: Operation, wanted: frozenset[str], found: list[Operation]) -> None:
    for region in op.regions:
        for block in region.blocks:
            for child in block.operations:
                child_op = child.operation
                if not wanted or child_op.name in wanted:
                    found.append(child_op)
                _collect(child_op, wanted, found)


def defining_op(value: Value) -> Operation | None:
    """Return the op whose result `value` is, or None for a block argument."""
    owner = value.owner
    return owner if isinstance(owner, ir.Operation) else getattr(owner, "operation", None)
