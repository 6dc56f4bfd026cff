"""What the vendor's passes and library get wrong without flagc's default passes for casts."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from support.emulating import DTYPES, emulated

BLOCK = 256
COUNT = 500


@triton.jit
def convert(x, out, N, BY: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < N, other=0)
    tl.store(out + i, value.to(BY).to(value.dtype), mask=i < N)


@triton.jit
def int8(a, b, c, out, N, OP: tl.constexpr, THEN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(a + i, mask=i < N, other=0)
    value = (
        (value // tl.load(b + i, mask=i < N, other=1))
        if OP == "//"
        else value - tl.load(b + i, mask=i < N, other=1)
    )
    other = tl.load(c + i, mask=i < N, other=1)
    value = (value + other) if THEN == "+" else value % other
    tl.store(out + i, value, mask=i < N)


@triton.jit
def compare(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Column by column, which the library's scalar code does."""
    r, c = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    value = tl.load(x + r * COLUMNS + c)
    tl.store(out + r + c * ROWS, tl.where(value <= 0.0, 1.0, 2.0))


@pytest.mark.parametrize(
    ("kind", "by"),
    [
        ("fp16", "i32"),
        ("fp16", "i16"),
        ("bf16", "i32"),
        ("bf16", "i8"),
        ("fp32", "i8"),
        ("fp32", "i32"),
        ("i64", "i32"),
        ("i64", "i16"),
        ("i32", "i16"),
        ("i32", "i8"),
        ("i16", "i8"),
    ],
)
def test_by_way_of_an_integer(kind, by):
    names = {"i32": tl.int32, "i16": tl.int16, "i8": tl.int8}
    kernel = emulated(
        convert, {"x": f"*{kind}", "out": f"*{kind}", "N": "i32"}, {"BY": names[by], "BLOCK": BLOCK}
    )
    if kind.startswith("i"):
        x = torch.randint(-(2**62), 2**62, (COUNT,)).to(DTYPES[kind])
        x[:3] = torch.tensor([2**31 - 1, -(2**31), 0]).to(DTYPES[kind])
    else:
        x = (torch.randn(COUNT) * 30).clamp(-120, 120).to(DTYPES[kind])
    out = torch.empty_like(x)
    kernel.run((2,), [x, out, COUNT])
    assert torch.equal(out, x.to(DTYPES[by]).to(x.dtype))


@pytest.mark.parametrize("op", ["//", "-"])
@pytest.mark.parametrize("then", ["+", "%"])
def test_int8_arithmetic(op, then):
    types = {**{name: "*i8" for name in ("a", "b", "c", "out")}, "N": "i32"}
    kernel = emulated(int8, types, {"OP": op, "THEN": then, "BLOCK": BLOCK})
    a = torch.randint(-128, 128, (COUNT,)).to(torch.int8)
    b, c = (torch.randint(1, 128, (COUNT,)).to(torch.int8) for _ in range(2))
    out = torch.empty_like(a)
    kernel.run((2,), [a, b, c, out, COUNT])
    first = torch.div(a, b, rounding_mode="trunc") if op == "//" else a - b
    assert torch.equal(out, first + c if then == "+" else torch.fmod(first, c))


def test_compare_small_f16():
    rows, columns = 16, 32
    kernel = emulated(compare, {"x": "*fp16", "out": "*fp32"}, {"ROWS": rows, "COLUMNS": columns})
    x = (torch.arange(rows * columns) * 2.0**-24 * 2.5).reshape(rows, columns).half()
    x[1::2] *= -1
    out = torch.empty(columns, rows)
    kernel.run((1,), [x, out])
    assert torch.equal(out.t(), torch.where(x <= 0, 1.0, 2.0))
