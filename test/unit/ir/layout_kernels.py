"""Real kernels whose TTGIR shows most layouts and types; compiled without a GPU."""

import functools

import triton
import triton.language as tl
from triton._C.libtriton import ir as triton_ir
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource

from flagc.ir import triton_bridge


@triton.jit
def gemm(a, b, c, k, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    depth = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, k, B):
        left = tl.load(a + rows[:, None] * k + start + depth[None, :])
        right = tl.load(b + (start + depth)[:, None] * B + columns[None, :])
        acc = tl.dot(left, right, acc)
    tl.store(c + rows[:, None] * B + columns[None, :], acc.to(tl.float16))


@triton.jit
def descriptor_gemm(a, b, c, m, n, k, B: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a, [m, k], [k, 1], [B, B])
    b_desc = tl.make_tensor_descriptor(b, [n, k], [k, 1], [B, B])
    c_desc = tl.make_tensor_descriptor(c, [m, n], [n, 1], [B, B])
    row = tl.program_id(0) * B
    column = tl.program_id(1) * B
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, k, B):
        left = a_desc.load([row, start])
        right = b_desc.load([column, start])
        acc = tl.dot(left, right.T, acc)
    c_desc.store([row, column], acc.to(tl.float16))


@triton.jit
def sorted_softmax(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at)
    top = tl.exp(value - tl.max(value, 0))
    tl.store(y + at, tl.sort(top / tl.sum(top, 0)))


POINTERS = {"a": "*fp16", "b": "*fp16", "c": "*fp16"}
SIGNATURES = (
    (gemm, {**POINTERS, "k": "i32"}),
    (descriptor_gemm, {**POINTERS, "m": "i32", "n": "i32", "k": "i32"}),
    (sorted_softmax, {"x": "*fp32", "y": "*fp32"}),
)


def sources():
    for function, signature in SIGNATURES:
        typed = {**signature, "B": "constexpr"}
        size = 128 if function is sorted_softmax else 64
        # Divisible by 16, so that loads are vectorised and pipelined.
        attributes = {(i,): [["tt.divisibility", 16]] for i in range(len(signature))}
        yield ASTSource(function, typed, {"B": size}, attributes)


@functools.lru_cache(maxsize=1)
def opaque_texts():
    """The text of every type and attribute in those kernels' TTGIR for three GPU families."""
    texts = set()
    for capability in (80, 90, 100):
        target = GPUTarget("cuda", capability, 32)
        for source in sources():
            if capability == 80 and source.fn is descriptor_gemm:
                continue
            ttgir = triton.compile(source, target=target).asm["ttgir"]
            context = triton_ir.context()
            triton_ir.load_dialects(context)
            CUDABackend(target).load_dialects(context)
            module = triton_bridge.export(triton_bridge.import_text(ttgir, context), "ttgir")
            for op in module.walk():
                texts.update(str(result.type) for result in op.results)
                texts.update(str(op.attributes[name]) for name in op.attributes)
    return sorted(texts)
