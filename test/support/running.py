"""Run one pass on TTIR as Triton prints it, and the kernel before and after on numpy arrays."""

import numpy as np
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend

from flagc.ir.module import Module
from flagc.ir.triton_bridge import export, import_text
from flagc.pipeline.context import PassContext
from flagc.pipeline.diagnostics import Findings
from flagc.targets.triton_frontend import new_context
from support import ttir_interpreter


def parsed(text: str) -> Module:
    """Parse TTIR in the form that Triton prints."""
    context = new_context(make_backend(GPUTarget("cuda", 90, 32)))
    return export(import_text(text, context), "ttir")


def transformed(instance, text: str):
    """Return the module after the pass `instance`, and its diagnostics' texts.

    libtriton's verifier has seen the result.
    """
    module = parsed(text)
    findings = Findings()
    context = PassContext(module, instance.name, "ttir", None, {}, findings)
    with module.context:
        instance.run(module, context)
    parsed(module.text())
    return module, [diagnostic.message for diagnostic in findings.diagnostics]


def assert_same(instance, text: str, arguments, grid=(1,), tolerance=None):
    """Run the kernel before and after the pass: every array must end alike, bit for bit.

    `tolerance` relaxes that, relative and absolute, for passes that change the order of sums.
    """
    before = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    after = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    ttir_interpreter.run(parsed(text), before, grid)
    module, _ = transformed(instance, text)
    assert module.text(debug=False) != parsed(text).text(debug=False), "the pass did nothing"
    ttir_interpreter.run(module, after, grid)
    for left, right in zip(before, after, strict=True):
        if tolerance is None:
            np.testing.assert_array_equal(left, right)
        else:
            np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance)
    return after
