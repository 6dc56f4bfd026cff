"""FlagGems operators that move data: indexing, gather and scatter, joins, padding, resampling."""

# ruff: noqa: E731 - argument builders read best as one-line lambdas

from __future__ import annotations

import torch
from cases import Case, args, boolean, cases, f16, f32, i32, i64
from flaggems_pointwise import experimental

SHAPE = (1024, 1024)


def indexing() -> list[Case]:
    """Reads and writes through index tensors and masks."""
    table = lambda: args(f32(1024, 512), 0, i64(256, high=1024))
    scatter = lambda: args(f32(256, 128), 0, i64(256, 128, high=256), f32(256, 128))
    pair = lambda: [i64(512, high=1024), i64(512, high=1024)]
    return [
        *cases("index_select", table),
        *cases("index_select", lambda: args(f32(1024, 512), 1, i64(256, high=512))),
        *cases("index_add index_add_", lambda: args(*table()[0], f32(256, 512))),
        *cases("index_add", lambda: args(f32(64, 64, 64), 1, i64(32, high=64), f32(64, 32, 64))),
        *cases("gather", lambda: args(f32(256, 128), 0, i64(256, 128, high=256))),
        *cases("gather", lambda: args(f32(256, 128), -1, i64(256, 128, high=128))),
        *cases("gather", lambda: args(f32(32, 64, 64), 1, i64(32, 64, 64, high=64))),
        *cases(
            "gather_backward",
            lambda: args(f32(256, 128), f32(256, 128), 0, i64(256, 128, high=256), False),
        ),
        *cases("scatter scatter_ scatter_add_", scatter),
        *cases("scatter_add_", lambda: args(f16(256, 128), 1, i64(256, 128), f16(256, 128))),
        *cases("scatter", lambda: args(*scatter()[0], reduce="add")),
        *cases("scatter", lambda: args(*scatter()[0], reduce="multiply")),
        *cases("scatter", lambda: args(f32(8, 64, 64), 2, i64(8, 64, 64, high=64), f32(8, 64, 64))),
        *cases("index", lambda: args(f32(*SHAPE), pair())),
        *cases("index", lambda: args(f32(*SHAPE), [i64(512, high=1024)])),
        *cases("index", lambda: args(f32(64, 64, 64), [None, i64(32, high=64), i64(32, high=64)])),
        *cases("index_put index_put_", lambda: args(f32(*SHAPE), pair(), f32(512))),
        *cases("index_put", lambda: args(f32(*SHAPE), pair(), f32(512), True)),
        *cases("index_put", lambda: args(f32(*SHAPE), [i64(512, high=1024)], f32(512, 1024))),
        *cases("_index_put_impl_", lambda: args(f32(*SHAPE), pair(), f32(512))),
        *cases("embedding", lambda: args(f32(4096, 256), i64(8, 128, high=4096))),
        *cases("embedding_backward", lambda: args(f32(8, 128, 256), i64(8, 128, high=4096), 4096)),
        *cases(
            "embedding_backward",
            lambda: args(f32(8, 128, 256), i64(8, 128, high=4096), 4096, 0, True),
        ),
        *cases(
            "embedding_dense_backward",
            lambda: args(f32(8, 128, 256), i64(8, 128, high=4096), 4096, -1, False),
        ),
        *cases(
            "embedding_dense_backward",
            lambda: args(f32(8, 128, 256), i64(8, 128, high=4096), 4096, 3, True),
        ),
        *cases("masked_select", lambda: args(f32(*SHAPE), boolean(*SHAPE))),
        *cases("masked_select", lambda: args(f32(64), boolean(64))),
        *cases(
            "masked_scatter masked_scatter_",
            lambda: args(f32(*SHAPE), boolean(*SHAPE), f32(*SHAPE)),
        ),
        *cases("masked_scatter", lambda: args(f32(64), boolean(64), f32(64))),
        *cases(
            experimental("masked_scatter"), lambda: args(f32(*SHAPE), boolean(*SHAPE), f32(*SHAPE))
        ),
        *cases(experimental("masked_select"), lambda: args(f32(*SHAPE), boolean(*SHAPE))),
        *cases(experimental("take"), lambda: args(f32(*SHAPE), i64(4096))),
        *cases("nonzero", lambda: args(i32(1024, 64, high=2))),
        *cases("one_hot", lambda: args(i64(1024), 100)),
        *cases("select_scatter", lambda: args(f32(512, 256), f32(512), 1, 3)),
        *cases("slice_scatter", lambda: args(f32(512, 256), f32(512, 128), 1, 0, 256, 2)),
        *cases(
            experimental("slice_scatter"), lambda: args(f32(512, 256), f32(512, 128), 1, 0, 256, 2)
        ),
        *cases("select_backward", lambda: args(f32(512), (512, 256), 1, 3)),
        *cases(
            f"slice_backward {experimental('slice_backward')}",
            lambda: args(f32(512, 128), (512, 256), 1, 0, 256, 2),
        ),
        *cases("unfold_backward", lambda: args(f32(64, 31, 4), (64, 64), 1, 4, 2)),
        *cases("diagonal_backward", lambda: args(f32(512), (512, 512), 0, 0, 1)),
        *cases("isin", lambda: args(i32(4096), i32(16))),
        *cases("isin", lambda: args(i32(65536, high=9999), i32(16384, high=9999))),
        *cases("isin", lambda: args(i32(4096), i32(16384), assume_unique=True)),
        *cases("bincount", lambda: args(i64(4096))),
        *cases("bincount", lambda: args(i64(4096), f32(4096))),
        *cases("bincount", lambda: args(i64(65536, high=50000))),
        *cases("_unique2", lambda: args(i32(2048), True, True, True)),
        *cases("_unique2", lambda: args(i32(65536), True, True, True)),
        *cases("_unique2", lambda: args(i32(65536), True, False, False)),
        *cases("_unique2", lambda: args(i32(65536), True, False, True)),
        *cases("unique_consecutive", lambda: args(i32(2048), True, True)),
        *cases("unique_consecutive", lambda: args(i32(65536), True, True)),
    ]


def layout() -> list[Case]:
    """Joins, copies with another order, padding."""
    image = lambda: f32(2, 16, 64, 64)
    return [
        *cases("cat", lambda: args([f32(512, 256), f32(512, 128)], 1)),
        *cases("cat", lambda: args([f32(512, 256), f32(128, 256)], 0)),
        *cases("stack hstack vstack", lambda: args([f32(256, 256), f32(256, 256)])),
        *cases("flip", lambda: args(f32(*SHAPE), [0, 1])),
        *cases("flip", lambda: args(f32(64, 64, 64), [1])),
        *cases("roll", lambda: args(f32(*SHAPE), 3, 0)),
        *cases("roll", lambda: args(f32(*SHAPE), [3, 5], [0, 1])),
        *cases("tril triu triu_", lambda: args(f32(*SHAPE))),
        *cases("triu", lambda: args(f32(16, 128, 128), 1)),
        *cases("diag", lambda: args(f32(512))),
        *cases(f"diag {experimental('diag')}", lambda: args(f32(512, 512))),
        *cases("diag_embed", lambda: args(f32(64, 128))),
        *cases("repeat tile", lambda: args(f32(128, 64), (2, 3))),
        *cases("repeat tile", lambda: args(f32(16, 128, 64), (1, 2, 3))),
        *cases("repeat_interleave_self_int", lambda: args(f32(128, 64), 3, 0)),
        *cases("repeat_interleave_tensor", lambda: args(torch.full((256,), 3))),
        *cases(
            "repeat_interleave_self_tensor", lambda: args(f32(256, 64), torch.full((256,), 3), 0)
        ),
        *cases("kron", lambda: args(f32(32, 32), f32(16, 16))),
        *cases("t_copy", lambda: args(f32(512, 256))),
        *cases("trace", lambda: args(f32(512, 512))),
        *cases("constant_pad_nd", lambda: args(f32(128, 64), (1, 2, 3, 4), 1.5)),
        *cases("pad", lambda: args(f32(4, 16, 64, 64), (1, 2, 3, 4), "reflect")),
        *cases("pad", lambda: args(f32(4, 16, 64, 64), (1, 2, 3, 4), "replicate")),
        *cases("pad", lambda: args(f32(4, 16, 64, 64), (1, 2, 3, 4), "circular")),
        *cases("reflection_pad1d replication_pad1d", lambda: args(f32(8, 16, 256), (3, 5))),
        *cases(
            f"reflection_pad2d {experimental('replication_pad2d')}",
            lambda: args(image(), (3, 5, 2, 4)),
        ),
        *cases(
            f"replication_pad3d {experimental('replication_pad3d')}",
            lambda: args(f32(2, 4, 16, 32, 32), (1, 2, 1, 2, 1, 2)),
        ),
        *cases("pixel_unshuffle", lambda: args(image(), 2)),
        *cases(experimental("pixel_shuffle"), lambda: args(image(), 2)),
        *cases(experimental("permute permute_copy"), lambda: args(f32(64, 32, 16), (2, 0, 1))),
        *cases(experimental("expand"), lambda: args(f32(64, 1), (64, 512))),
        *cases(experimental("unsqueeze unsqueeze_copy"), lambda: args(f32(512, 256), 1)),
        *cases(experimental("_unsafe_view"), lambda: args(f32(512, 256), (256, 512))),
        *cases(experimental("im2col"), lambda: args(image(), (3, 3), 1, 1, 1)),
        *cases(
            experimental("_adaptive_avg_pool3d"), lambda: args(f32(2, 4, 16, 32, 32), (4, 8, 8))
        ),
    ]


def resampling() -> list[Case]:
    """Up- and down-sampling of images."""
    image = lambda: f32(2, 16, 32, 32)
    line = lambda: f32(2, 16, 256)
    return [
        *cases(
            f"upsample_nearest1d {experimental('upsample_nearest1d')} _upsample_nearest_exact1d",
            lambda: args(line(), (512,)),
        ),
        *cases("_upsample_nearest_exact1d", lambda: args(line(), (512,), None)),
        *cases("upsample_linear1d", lambda: args(line(), (512,), False)),
        *cases("upsample_nearest2d upsample_bicubic2d", lambda: args(image(), (64, 64))),
        *cases("upsample_nearest2d", lambda: args(image(), (64, 50))),
        *cases("upsample_bicubic2d _upsample_bicubic2d_aa", lambda: args(image(), (64, 64), True)),
        *cases("_upsample_bicubic2d_aa", lambda: args(image(), (16, 16), False)),
        *cases(
            "_upsample_bicubic2d_aa_backward",
            lambda: args(f32(2, 16, 64, 64), (64, 64), (2, 16, 32, 32), False),
        ),
        *cases(
            "_upsample_bicubic2d_aa_backward",
            lambda: args(f32(2, 16, 16, 16), (16, 16), (2, 16, 64, 64), False),
        ),
        *cases(
            f"upsample_nearest3d {experimental('upsample_nearest3d')}",
            lambda: args(f32(2, 4, 8, 16, 16), (16, 32, 32)),
        ),
    ]


SHAPED: list[Case] = [*indexing(), *layout(), *resampling()]
