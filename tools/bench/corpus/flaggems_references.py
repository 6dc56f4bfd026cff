"""FlagGems operators with torch references: what `tools/bench/flaggems.py` runs.

Every input is random and small, with odd extents; references compute in float64 where torch can.
"""

# ruff: noqa: E731 - argument builders and references read best as one-line lambdas

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn.functional as F
from cases import args
from flaggems_operator import (
    ANY,
    F32,
    SHAPES,
    Inputs,
    Maker,
    Operator,
    both,
    distinct,
    in_family,
    integers,
    mask,
    named,
    normal,
    positive,
    then,
    unit,
)
from flaggems_references_attention import attention
from flaggems_references_random import sampling


def pointwise() -> list[Operator]:
    """Element by element."""
    a, b = SHAPES
    pair = both(normal(*a), normal(*a))
    broadcast = both(normal(*b), normal(b[1]))
    ints = both(integers(*a), integers(*a))
    logits = both(mask(*a), normal(*a), normal(*a))
    return [
        *named(
            "abs neg exp exp2 sin cos tanh erf sigmoid relu ceil square tan expm1 atan"
            " isnan isinf isfinite nan_to_num angle zeros_like ones_like",
            normal(*a),
        ),
        *named("sqrt rsqrt log log10 reciprocal", positive(*b)),
        *named("cosh arcsinh selu celu", normal(*a)),
        *named("acos", unit(*a)),
        *named("round", then(normal(*a)), dtypes=F32),
        *named("logical_not", integers(*a, low=0, high=2), dtypes=ANY),
        *named("bitwise_not", integers(*a), dtypes=ANY),
        *named("signbit", normal(*a), dtypes=F32),
        Operator("gelu", normal(*a), F.gelu),
        Operator("gelu", then(normal(*a), approximate="tanh"), F.gelu, note="tanh"),
        Operator("silu", normal(*b), F.silu),
        Operator("elu", normal(*a), F.elu),
        Operator("softplus", normal(*a), F.softplus),
        Operator("log_sigmoid", normal(*a), F.logsigmoid),
        Operator("threshold", then(normal(*a), 0.5, -1.0), F.threshold),
        Operator("glu", normal(34, 66), F.glu),
        *named("add mul sub", pair),
        *named("add mul sub maximum minimum", broadcast),
        *named("add mul eq", ints, dtypes=ANY),
        Operator("bitwise_and_tensor", ints, torch.bitwise_and, ANY),
        Operator("bitwise_or_tensor", ints, torch.bitwise_or, ANY),
        *named("eq ne ge gt le", both(integers(*a, high=-45), integers(*a, high=-45)), dtypes=ANY),
        *named("lt logaddexp hypot atan2 copysign", pair, dtypes=F32),
        *named("floor_divide remainder", ints_without_zero(*a), dtypes=ANY),
        Operator("true_divide", both(normal(*a), positive(*a)), torch.true_divide),
        Operator("add", then(normal(*a), 2.5), torch.add, note="scalar"),
        Operator("pow_tensor_scalar", then(positive(*a), 2.5), torch.pow),
        Operator("pow_scalar", lambda d: args(2.0, torch.randn(33, 65).to(d)), torch.pow),
        Operator("pow_tensor_tensor", both(positive(*a), normal(*a)), torch.pow),
        Operator("clamp", then(normal(*a), -0.5, 0.7), torch.clamp),
        Operator("clamp_tensor", both(normal(*a), unit(*a), positive(*a)), torch.clamp),
        Operator("where_self", logits, torch.where),
        Operator("where_scalar_other", then(both(mask(*a), normal(*a)), 1.5), torch.where),
        Operator("masked_fill", then(both(normal(*b), mask(*b)), 1.5), torch.masked_fill),
        Operator("lerp_scalar", then(pair, 0.25), torch.lerp),
        Operator("addcmul", both(normal(*a), normal(*a), normal(*a)), torch.addcmul),
        Operator("addcdiv", both(normal(*a), normal(*a), positive(*a)), torch.addcdiv),
        Operator("fill_scalar", then(normal(*a), 2.5), torch.full_like),
        Operator("silu_and_mul", pair, lambda x, y: F.silu(x) * y),
        Operator("gelu_and_mul", pair, lambda x, y: F.gelu(x) * y),
        Operator("to_copy", then(normal(*a), dtype=torch.float16), lambda x, dtype: x.to(dtype)),
        Operator("sigmoid_backward", pair, lambda g, y: g * y * (1 - y)),
        Operator("tanh_backward", pair, lambda g, y: g * (1 - y * y)),
        Operator("prelu", both(normal(3, 5, 70), normal(5)), F.prelu),
    ]


def ints_without_zero(*shape: int) -> Maker:
    """An integer tensor and one without zeros."""
    return both(integers(*shape), integers(*shape, low=1, high=9))


def reductions() -> list[Operator]:
    """Whole tensors, inner and outer axes; scans and sorting."""
    a, b = SHAPES
    cube = (5, 17, 9)
    wide = 4.0
    ops: list[Operator] = [
        *named("sum mean", normal(*b), loose=wide),
        *named("max min amax argmax argmin", distinct(1, 999)),
        Operator("prod", lambda d: args(torch.rand(9, 13).to(d) + 0.5), torch.prod, F32, wide),
        *named("all any", mask(*a), dtypes=ANY),
        *named("count_nonzero", integers(*a, low=0, high=2), dtypes=ANY),
        *named("trace", normal(33, 33), loose=wide),
        Operator("aminmax", distinct(1, 999), lambda x: tuple(torch.aminmax(x))),
        Operator("dot", both(normal(999), normal(999)), torch.dot, loose=wide),
        Operator("vdot", both(normal(999), normal(999)), torch.vdot, F32, loose=wide),
        Operator("mse_loss", both(normal(*a), normal(*a)), F.mse_loss, loose=wide),
        Operator("isin", both(integers(99), integers(9)), torch.isin, ANY),
        Operator("vector_norm", normal(*a), torch.linalg.vector_norm, loose=wide),
    ]
    for shape, dim in ((a, 1), (b, 1), (a, 0), (cube, 1)):
        note = f"{'x'.join(map(str, shape))} dim {dim}"
        on = functools.partial(Operator, note=note)
        take = then(normal(*shape), dim)
        takes = then(normal(*shape), [dim])
        unlike = then(distinct(*shape) if dim else normal(*shape), dim)
        ops += [
            on("sum_dim", takes, torch.sum, loose=wide),
            on("mean_dim", takes, torch.mean, loose=wide),
            on("amax", takes, torch.amax),
            on("max_dim", unlike, lambda x, d: tuple(torch.max(x, d)), F32),
            on("min_dim", unlike, lambda x, d: tuple(torch.min(x, d)), F32, compared=1),
            on("argmax", unlike, torch.argmax, F32),
            on("argmin", unlike, torch.argmin, F32),
            on("softmax", take, torch.softmax),
            on("log_softmax", take, torch.log_softmax),
            on("cumsum", take, torch.cumsum, loose=wide),
            on("var_mean", takes, torch.var_mean, F32, loose=wide),
            on("any_dim", then(mask(*shape), dim), torch.any, ANY),
            on("all_dim", then(mask(*shape), dim), torch.all, ANY),
        ]
    return [
        *ops,
        Operator("std", then(normal(*b), [1]), torch.std, F32, wide),
        Operator("var", then(normal(*b), [1]), torch.var, F32, wide),
        Operator("prod_dim", then(unit(9, 13), 1), torch.prod, F32, wide),
        Operator("cummax", then(distinct(*a), 1), lambda x, d: tuple(torch.cummax(x, d)), F32),
        Operator("cummin", then(distinct(*a), 1), lambda x, d: tuple(torch.cummin(x, d)), F32),
        Operator("normed_cumsum", then(positive(*a), 1), normed_cumsum, F32, wide),
        Operator("sort", distinct(*a), lambda x: tuple(torch.sort(x))),
        Operator("sort", then(integers(5, 99), -1, True), sorted_values, ANY, compared=1),
        Operator("topk", then(distinct(7, 100), 5), lambda x, k: tuple(torch.topk(x, k))),
        Operator("softmax_backward", gradients(1), softmax_gradient, loose=wide),
        Operator("log_softmax_backward", gradients(1), log_softmax_gradient, loose=wide),
        Operator("cross_entropy_loss", classes(33, 65), F.cross_entropy, F32, wide),
        Operator(
            "cross_entropy_loss",
            then(classes(7, 1000), None, "sum"),
            lambda x, t, w, r: F.cross_entropy(x, t, weight=w, reduction=r),
            F32,
            wide,
            note="sum",
        ),
        Operator(
            "nll_loss_forward",
            then(classes(33, 65), None, 1),
            lambda x, t, w, r: (F.nll_loss(x, t),),
            F32,
            wide,
            compared=1,
        ),
    ]


def sorted_values(x: Any, dim: int, descending: bool) -> Any:
    """Sorted values, without the places, which ties leave open."""
    return (torch.sort(x, dim, descending)[0],)


def classes(rows: int, count: int) -> Maker:
    """Scores and one class per row."""
    return both(normal(rows, count), integers(rows, low=0, high=count, dtype=torch.int64))


def normed_cumsum(x: Any, dim: int) -> Any:
    """A running sum, as a part of the whole one."""
    return torch.cumsum(x, dim) / x.sum(dim, keepdim=True)


def gradients(dim: int) -> Maker:
    """A gradient and a forward result of a softmax."""

    def made(dtype: torch.dtype) -> Inputs:
        forward = torch.softmax(torch.randn(33, 65), dim).to(dtype)
        return args(torch.randn(33, 65).to(dtype), forward, dim, dtype)

    return made


def softmax_gradient(grad: Any, out: Any, dim: int, _: Any) -> Any:
    """Softmax's gradient from its result."""
    return out * (grad - (grad * out).sum(dim, keepdim=True))


def log_softmax_gradient(grad: Any, out: Any, dim: int, _: Any) -> Any:
    """Log-softmax's gradient from its result."""
    return grad - out.exp() * grad.sum(dim, keepdim=True)


def norms_and_products() -> list[Operator]:
    """Normalisation layers, matrix products, convolution."""
    wide = 8.0
    ops: list[Operator] = []
    for rows, n in SHAPES:
        row = both(normal(rows, n), lambda _, n=n: ([(n,)], {}), normal(n), normal(n))
        two = lambda d, rows=rows, n=n: args(
            torch.randn(rows, n).to(d), torch.randn(rows, n).to(d), (n,), torch.randn(n).to(d)
        )
        on = functools.partial(Operator, note=f"{rows}x{n}", loose=4.0)
        ops += [
            on("layer_norm", row, F.layer_norm, compared=1),
            on("rms_norm", lambda d, m=row: (m(d)[0][:3], {}), F.rms_norm, compared=1),
            on(
                "skip_layer_norm",
                lambda d, t=two, n=n: ((*t(d)[0], torch.randn(n).to(d)), {}),
                lambda x, r, s, w, b: F.layer_norm(x + r, s, w, b),
            ),
            on("fused_add_rms_norm", two, lambda x, r, s, w: (F.rms_norm(x + r, s, w), x + r)),
        ]
    image = lambda d: args(
        torch.randn(2, 6, 5, 7).to(d), torch.randn(6).to(d), torch.randn(6).to(d), 2, 6, 35, 3
    )
    for m, k, n in ((33, 65, 17), (7, 1000, 5), (256, 512, 256)):
        on = functools.partial(Operator, note=f"{m}x{k}x{n}", loose=wide)
        ops += [
            on("mm", both(normal(m, k), normal(k, n)), torch.mm),
            on("addmm", both(normal(m, n), normal(m, k), normal(k, n)), torch.addmm),
            on("bmm", both(normal(3, m, k), normal(3, k, n)), torch.bmm),
            on("mv", both(normal(m, k), normal(k)), torch.mv),
            on("addmv", both(normal(m), normal(m, k), normal(k)), torch.addmv),
        ]
    return [
        *ops,
        Operator(
            "baddbmm",
            both(normal(3, 9, 7), normal(3, 9, 33), normal(3, 33, 7)),
            torch.baddbmm,
            loose=wide,
        ),
        Operator("outer", both(normal(33), normal(65)), torch.outer),
        Operator("addr", both(normal(33, 65), normal(33), normal(65)), torch.addr),
        Operator("kron", both(normal(3, 5), normal(7, 9)), torch.kron),
        Operator(
            "group_norm", image, lambda x, w, b, *_: F.group_norm(x, 3, w, b), loose=4.0, compared=1
        ),
        Operator(
            "weight_norm_interface",
            then(both(normal(33, 65), positive(33, 1)), 0),
            lambda v, g, d: (v * (g / v.norm(dim=1, keepdim=True)),),
            F32,
            4.0,
            compared=1,
        ),
        Operator(
            "conv2d",
            both(normal(2, 3, 9, 11), normal(5, 3, 3, 3)),
            F.conv2d,
            loose=wide,
        ),
        Operator("avg_pool2d", then(normal(2, 3, 9, 11), 3, 2, 1), F.avg_pool2d, loose=2.0),
    ]


def movement() -> list[Operator]:
    """Indexing, joins, copies in another order, tensors from nothing."""
    a = (33, 65)
    index = functools.partial(integers, low=0, dtype=torch.int64)
    lists = lambda d: args([torch.randn(33, 65).to(d), torch.randn(33, 7).to(d)], 1)
    equal = lambda d: args([torch.randn(33, 65).to(d), torch.randn(33, 65).to(d)])
    pick = lambda d: args(
        torch.randn(33, 65).to(d), [torch.randint(0, 33, (50,)), torch.randint(0, 65, (50,))]
    )
    return [
        *[
            Operator(
                "index_select",
                lambda d, dim=dim: args(torch.randn(a).to(d), dim, torch.randint(0, 33, (19,))),
                torch.index_select,
                note=f"dim {dim}",
            )
            for dim in (0, 1)
        ],
        Operator(
            "index_add",
            lambda d: args(
                torch.randn(a).to(d), 0, torch.randperm(33)[:19], torch.randn(19, 65).to(d)
            ),
            torch.index_add,
        ),
        *[
            Operator(
                "gather",
                lambda d, dim=dim: args(torch.randn(a).to(d), dim, torch.randint(0, 33, (20, 30))),
                torch.gather,
                note=f"dim {dim}",
            )
            for dim in (0, 1)
        ],
        Operator(
            "scatter",
            lambda d: args(
                torch.randn(a).to(d),
                1,
                torch.rand(a).argsort(1)[:, :20].contiguous(),
                torch.randn(33, 20).to(d),
            ),
            torch.scatter,
        ),
        Operator("index", pick, lambda x, at: x[at[0], at[1]]),
        Operator(
            "index_put",
            lambda d: args(
                torch.randn(a).to(d), [torch.randperm(33)[:9]], torch.randn(9, 65).to(d)
            ),
            torch.index_put,
        ),
        Operator(
            "embedding",
            both(normal(99, 65), index(5, 7, high=99)),
            lambda w, i: F.embedding(i, w),
        ),
        Operator("masked_select", both(normal(*a), mask(*a)), torch.masked_select),
        Operator("nonzero", integers(*a, low=0, high=2), torch.nonzero, ANY),
        Operator("cat", lists, torch.cat),
        *named("stack hstack vstack", equal),
        *named("flip", then(normal(*a), [0, 1])),
        *named("roll", then(normal(*a), 3, 1)),
        *named("tril triu", normal(*a)),
        *named("diag diag_embed", normal(65)),
        Operator("repeat", then(normal(*a), (2, 3)), lambda x, s: x.repeat(s)),
        *named("tile", then(normal(*a), (2, 3))),
        Operator("repeat_interleave_self_int", then(normal(*a), 3, 0), torch.repeat_interleave),
        Operator(
            "constant_pad_nd",
            then(normal(*a), (1, 2, 3, 4), 1.5),
            lambda x, p, v: F.pad(x, p, value=v),
        ),
        Operator("select_scatter", then_source((33,), 1, 3), torch.select_scatter),
        Operator("slice_scatter", then_source((33, 10), 1, 5, 15), torch.slice_scatter),
        Operator("t_copy", normal(*a), lambda x: x.t()),
        Operator("contiguous", lambda d: args(torch.randn(a).to(d).t()), lambda x: x),
        Operator("one_hot", then(index(33, high=10), 10), F.one_hot, ANY),
        Operator("upsample_nearest2d", then(normal(2, 3, 5, 7), (10, 14)), F.interpolate),
        Operator("arange", lambda _: args(777, device="cpu"), torch.arange, ANY),
        Operator("linspace", lambda _: args(0.0, 8.0, 777, device="cpu"), torch.linspace, F32),
        Operator("full", lambda _: args(a, 2.5, device="cpu"), torch.full, F32),
        Operator("eye", lambda _: args(33, device="cpu"), torch.eye, F32),
    ]


def then_source(shape: tuple[int, ...], *more: Any) -> Maker:
    """A matrix, a piece for it, and where the piece goes."""
    return then(both(normal(33, 65), normal(*shape)), *more)


# Of the functions below, the operators that belong to another family than the rest.
_REDUCED = {
    **dict.fromkeys(("softmax", "log_softmax"), "softmax"),
    **dict.fromkeys(("softmax_backward", "log_softmax_backward"), "softmax"),
    **dict.fromkeys(("cumsum", "cummax", "cummin", "normed_cumsum", "sort", "topk"), "sort/scan"),
    **dict.fromkeys(("cross_entropy_loss", "nll_loss_forward"), "cross-entropy"),
    **dict.fromkeys(("dot", "vdot"), "matmul"),
    "vector_norm": "norm",
}
_NORMALISED = (
    "layer_norm rms_norm skip_layer_norm fused_add_rms_norm group_norm weight_norm_interface"
)

OPERATORS: list[Operator] = [
    *in_family("pointwise", pointwise()),
    *in_family("reduction", reductions(), _REDUCED),
    *in_family("matmul", norms_and_products(), dict.fromkeys(_NORMALISED.split(), "norm")),
    *in_family("attention", attention()),
    *in_family("index", movement()),
    *in_family("random", sampling()),
]
