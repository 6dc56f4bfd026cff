"""Elementwise kernels that follow a product, in the shapes that people write them in."""

import triton
import triton.language as tl


@triton.jit
def by_elements(x, bias, residual, out, numel, columns, BLOCK: tl.constexpr):
    """A program for so many elements, counted through."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < numel
    value = tl.load(x + at, mask=mask).to(tl.float32) + tl.load(bias + at % columns, mask=mask)
    value = tl.maximum(value, 0.0) * 0.5 + tl.load(residual + at, mask=mask)
    tl.store(out + at, value.to(tl.float16), mask=mask)


@triton.jit
def by_rows(x, bias, scales, out, columns, x_stride, out_stride, factor, BLOCK: tl.constexpr):
    """A program for each row, a number for each of them, and a position that counts."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    value = tl.load(x + row * x_stride + at, mask=mask, other=0.0).to(tl.float32)
    value = (value + tl.load(bias + at, mask=mask, other=0.0)) * tl.load(scales + row)
    value = tl.where((at + row) % 2 == 0, value, value * factor)
    tl.store(out + row * out_stride + at, value, mask=mask)


@triton.jit
def by_blocks(
    x, bias, residual, out, rows, columns, x_stride, r_stride, o_stride,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """A program for each block; grid axis 0 counts columns."""
    row = tl.program_id(1) * HEIGHT + tl.arange(0, HEIGHT)
    column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    value = tl.load(x + row[:, None] * x_stride + column[None, :], mask=mask, other=0.0)
    value += tl.load(bias + column, mask=column < columns, other=0.0)[None, :]
    value += tl.load(residual + row[:, None] * r_stride + column[None, :], mask=mask, other=0.0)
    tl.store(out + row[:, None] * o_stride + column[None, :], tl.exp2(value * 0.125), mask=mask)


@triton.jit
def in_place(x, numel, BLOCK: tl.constexpr):
    """Its result takes the place of what it reads."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < numel, other=0.0)
    tl.store(x + at, value * 2 + 1, mask=at < numel)


@triton.jit
def two_results(x, kept, out, numel, BLOCK: tl.constexpr):
    """Keeps what it reads, and adds to what it overwrites."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < numel
    value = tl.load(x + at, mask=mask)
    before = tl.load(out + at, mask=mask)
    tl.store(kept + at, value, mask=mask)
    tl.store(out + at, before + value, mask=mask)


@triton.jit
def neighbours(x, out, numel, BLOCK: tl.constexpr):
    """Not elementwise: it reads the element before as well."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < numel
    value = tl.load(x + at, mask=mask) + tl.load(x + at - 1, mask=mask & (at > 0), other=0.0)
    tl.store(out + at, value, mask=mask)


@triton.jit
def normalised(x, out, columns, stride, BLOCK: tl.constexpr):
    """Not elementwise: a sum over the row."""
    at = tl.arange(0, BLOCK)
    mask = at < columns
    value = tl.load(x + tl.program_id(0) * stride + at, mask=mask, other=0.0).to(tl.float32)
    value = value / tl.sum(value, axis=0)
    tl.store(out + tl.program_id(0) * stride + at, value, mask=mask)


@triton.jit
def transposed(x, out, rows, columns, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """Elementwise, and stored the other way round."""
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)
    column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    value = tl.load(x + row[:, None] * columns + column[None, :], mask=mask)
    tl.store(out + column[None, :] * rows + row[:, None], value * 2, mask=mask)


@triton.jit
def by_program(x, out, numel, BLOCK: tl.constexpr):
    """What an element becomes depends on the program that computes it."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < numel
    value = tl.load(x + at, mask=mask).to(tl.float32) + tl.program_id(0)
    tl.store(out + at, value, mask=mask)
