"""Python side of the emulated AI Core. The native engine is `flagc.aicore._aicore`.

kernel = EmulatedKernel(final_to_llvm(final_text, note_lines=True))
kernel.run((8, 1, 1), [x, y, out, n])
"""

from flagc.aicore.runner import EmulatedKernel, KernelFault, RunReport

__all__ = ["EmulatedKernel", "KernelFault", "RunReport"]
