"""Drop cache modifiers and eviction policies of loads and stores."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.module import Module, Operation
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_ACCESSES = ("tt.load", "tt.store", "tt.descriptor_load")
# Triton 3.6 has two enums, 3.9 one attribute. In both enums 1 is the default.
_ENUMS = ("cache", "evict")
_POLICY = "cachePolicy"


@register
@dataclass(frozen=True)
class DropCacheHints(Pass):
    """Remove what `cache_modifier` and `eviction_policy` say about NVIDIA's caches.

    They are hints: the kernel computes the same. Targets without such caches have no use for them,
    and the vendor's Ascend adapter cannot read the form in which Triton 3.9 writes them.
    """

    name = "drop-cache-hints"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Take the attributes off every access that has them."""
        for access in module.walk(*_ACCESSES):
            if _has_hint(access):
                context.statistic("hints dropped")
            for name in (*_ENUMS, _POLICY):
                if name in access.attributes:
                    del access.attributes[name]


def _has_hint(access: Operation) -> bool:
    attributes = access.attributes
    enums = [attributes[name].value for name in _ENUMS if name in attributes]
    return _POLICY in attributes or any(value != 1 for value in enums)
