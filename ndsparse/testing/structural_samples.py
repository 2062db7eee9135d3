"""Samples of the operators on structure, products, layers and updates."""

from __future__ import annotations

from typing import Any

from ndsparse.testing.samples import Sample, Shape, add_samples

X: Shape = (5, 4)


def _of(*shapes: Shape, values: tuple[str, ...] = (), gradient: bool = True, **attrs: Any) -> Sample:
    return Sample(shapes, attrs, values, gradient=gradient)


def _products() -> None:
    for a in (False, True):
        for b in (False, True):
            lhs, rhs, out = ((4, 5) if a else X), ((3, 4) if b else (4, 3)), (5, 3)
            flags: dict[str, Any] = {"transpose_a": a, "transpose_b": b}
            add_samples("dot", _of(lhs, rhs, **flags))
            add_samples("_backward_dot_lhs", _of(out, rhs, lhs, **flags))
            add_samples("_backward_dot_rhs", _of(out, lhs, rhs, **flags))
            deep = (2, 4, 3) if a else (2, 3, 4)
            add_samples("batch_dot", _of(deep, (2, 5, 4) if b else (2, 4, 5), **flags))
    add_samples("dot", _of(X, (4,)), _of((0, 4), (4, 3)), _of((5, 0), (0, 3)), _of((4, 2, 3), (3, 2, 2)))
    add_samples("dot", _of((4, 2, 3), (2, 2, 4), transpose_a=True, transpose_b=True))
    add_samples("_backward_dot_rhs", _of((5,), X, (4,)), _of((0, 3), (0, 4), (4, 3)))
    add_samples("_backward_dot_lhs", _of((5,), (4,), X), _of((4, 2, 2, 2), (3, 2, 2), (4, 2, 3)))


def _shapes_of_arrays() -> None:
    for stype in ("default", "csr", "row_sparse"):
        add_samples("cast_storage", _of(X, stype=stype), _of((0, 4), stype=stype), _of((1, 1), stype=stype))
    add_samples("cast_storage", _of((5, 2, 2), stype="row_sparse"), _of((5,), stype="row_sparse"))
    add_samples("Reshape", _of(X, shape=(2, -1)), _of(X, shape=(-3,)), _of((4, 2, 3), shape=(0, -1)))
    add_samples("Flatten", _of(X), _of((5, 2, 2)), _of((0, 4)))
    add_samples("expand_dims", _of(X, axis=1), _of(X, axis=-1), _of((5,), axis=0))
    add_samples("squeeze", _of((5, 1)), _of((1, 4), axis=(0,)), _of((1, 1)))
    add_samples("reshape_like", _of(X, (2, 10)), _of(X, (4, 5)))
    add_samples("reshape_like", _of((5, 4), (3, 2, 2, 7), lhs_begin=1, lhs_end=2, rhs_begin=1, rhs_end=3))
    add_samples("transpose", _of(X), _of(X, axes=(0, 1)), _of((5, 2, 3), axes=(1, 2, 0)), _of((0, 4)))
    add_samples("SwapAxis", _of(X, dim1=0, dim2=1), _of((5, 2, 3), dim1=0, dim2=2), _of(X))


def _blocks() -> None:
    cuts: list[dict[str, Any]] = [
        {"begin": (1,), "end": (4,)},
        {"begin": (None, 1), "end": (None, 3)},
        {"begin": (-3, 0), "end": (None, 4)},
        {"begin": (2,), "end": (2,)},
        {"begin": (0, 3), "end": (5, 0), "step": (2, -1)},
        {"begin": (4,), "end": (None,), "step": (-2,)},
        {"begin": (1, 1), "end": (4, 3), "step": (1, 1)},
    ]
    results = [(3, 4), (5, 2), (3, 4), (0, 4), (3, 3), (3, 4), (3, 2)]
    for cut, result in zip(cuts, results, strict=True):
        add_samples("slice", _of(X, **cut))
        add_samples("_backward_slice", _of(result, X, **cut))
    add_samples("slice_axis", _of(X, axis=0, begin=1, end=3), _of(X, axis=-1, begin=-3, end=None))
    add_samples("_backward_slice_axis", _of((2, 4), X, axis=0, begin=1, end=3))
    add_samples("slice_like", _of(X, (2, 3)), _of(X, (2, 3), axes=(1,)))
    add_samples("_backward_slice_like", _of((2, 3), X))
    add_samples("Concat", _of(X, (5, 2), (5, 1)), _of(X, (2, 4), (0, 4), dim=0), _of(X))
    add_samples("_backward_Concat", _of((5, 6), X, (5, 2), pieces=2), _of((7, 4), X, (2, 4), pieces=2, dim=0))
    add_samples("stack", _of(X, X), _of(X, X, axis=1), _of(X, X, axis=-1))
    add_samples("SliceChannel", _of(X, num_outputs=2), _of(X, num_outputs=4, squeeze_axis=True))
    add_samples("SliceChannel", _of(X, num_outputs=5, axis=0), _of(X, num_outputs=1))


def _lookups() -> None:
    ids = ("any", "ids:5")
    for mode in ("clip", "wrap", "raise"):
        add_samples("take", _of(X, (3,), mode=mode, values=ids), _of(X, (0,), mode=mode, values=ids))
        for shape in ((3,), (2, 3), (0,)):
            out = (*shape, 4)
            add_samples("_backward_take", _of(out, shape, X, mode=mode, values=ids))
    add_samples("take", _of(X, (3,), axis=1, mode="wrap", values=ids))
    add_samples("_backward_take", _of((5, 3), (3,), X, axis=1, mode="wrap", values=ids))
    sizes: dict[str, Any] = {"input_dim": 5, "output_dim": 4}
    for name in ("Embedding", "_contrib_SparseEmbedding"):
        for shape in ((6,), (2, 3), (0,)):
            add_samples(name, _of(shape, X, values=("ids:5", "any"), **sizes))
    for sparse in (False, True):
        for shape in ((6,), (2, 3), (0,)):
            given = {"sparse_grad": sparse, **sizes}
            add_samples("_backward_Embedding", _of((*shape, 4), shape, values=ids, **given))
    add_samples("one_hot", _of((6,), depth=4, values=("ids:6",)), _of((2, 3), depth=3, values=("ids:3",)))
    add_samples("one_hot", _of((6,), depth=3, on_value=2.0, off_value=-1.0, values=("ids:3",)))
    add_samples("pick", _of(X, (5,), values=("any", "ids:6")), _of(X, (5, 1), keepdims=True, values=ids))
    add_samples("pick", _of(X, (4,), axis=0, mode="wrap", values=("any", "ids:9")))
    add_samples("_backward_pick", _of((5,), (5,), X, values=("any", "ids:4")))
    add_samples("gather_nd", _of(X, (2, 3), values=("any", "ids:4")), _of(X, (1, 3), values=ids))
    add_samples("_backward_gather_nd", _of((3,), (2, 3), X, values=("any", "ids:4")))
    add_samples("scatter_nd", _of((1,), (2, 1), shape=X, values=("any", "ids:4")))
    add_samples("_sparse_retain", _of(X, (3,), values=ids), _of((5, 2, 2), (1,), values=ids), _of(X, (0,)))


def _rearranged() -> None:
    add_samples("tile", _of(X, reps=(2, 1)), _of(X, reps=(2,)), _of(X, reps=(2, 1, 3)))
    add_samples("_backward_tile", _of((10, 4), X, reps=(2, 1)))
    add_samples("repeat", _of(X, repeats=2), _of(X, repeats=2, axis=0))
    add_samples("_backward_repeat", _of((40,), X, repeats=2), _of((10, 4), X, repeats=2, axis=0))
    add_samples("reverse", _of(X, axis=(0,)), _of(X, axis=(0, 1)))
    for mode in ("constant", "edge", "reflect"):
        given: dict[str, Any] = {"mode": mode, "pad_width": (1, 0, 2, 1)}
        add_samples("Pad", _of(X, constant_value=3.0, **given))
        add_samples("_backward_Pad", _of((6, 7), X, **given))
    filled = ("filled",)
    add_samples("sort", _of(X, values=filled), _of(X, axis=0, is_ascend=False, values=filled))
    add_samples("_backward_sort", _of(X, X, values=filled), _of((5, 2), X, k=2, values=filled))
    add_samples("argsort", _of(X, values=filled), _of(X, axis=None, values=filled))
    for returned in ("value", "indices", "mask", "both"):
        add_samples("topk", _of(X, k=2, ret_typ=returned, values=filled))
    add_samples("diag", _of(X), _of(X, k=1), _of(X, k=-2), _of((4,), k=1), _of((3, 2, 4), axis1=0, axis2=2))
    add_samples("_backward_diag", _of((4,), X), _of((5, 5), (4,), k=1))


def _layers() -> None:
    add_samples("FullyConnected", _of(X, (3, 4), (3,), num_hidden=3), _of((0, 4), (3, 4), (3,), num_hidden=3))
    add_samples("FullyConnected", _of(X, (3, 4), num_hidden=3, no_bias=True))
    add_samples("FullyConnected", _of((2, 3, 2), (3, 6), (3,), num_hidden=3))
    add_samples("FullyConnected", _of((2, 3, 2), (3, 2), (3,), num_hidden=3, flatten=False))
    add_samples("_backward_FullyConnected_data", _of((5, 3), (3, 4), X), _of((2, 3), (3, 6), (2, 3, 2)))
    add_samples("_backward_FullyConnected_weight", _of((5, 3), X, (3, 4)), _of((2, 3), (2, 3, 2), (3, 6)))
    add_samples("_backward_FullyConnected_bias", _of((5, 3)), _of((2, 3, 2)))
    add_samples(
        "Dropout", _of(X, p=0.5, gradient=False), _of(X, p=0.5, axes=(0,), gradient=False), _of(X, p=0.0)
    )
    add_samples("_backward_Dropout", _of(X, X, X, p=0.5))
    for name in ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"):
        add_samples(name, _of(X, X, gradient=False), _of((5, 1), (5,), gradient=False))
    for name in ("_backward_linear_reg_out", "_backward_mae_reg_out"):
        add_samples(name, _of(X, X, grad_scale=2.0), _of((0, 4), (0, 4)))
    classes = ("any", "ids:4")
    add_samples("SoftmaxOutput", _of(X, (5,), values=classes, gradient=False), _of(X, X, gradient=False))
    add_samples("SoftmaxOutput", _of(X, (5, 1), multi_output=True, values=classes, gradient=False))
    add_samples("_backward_SoftmaxOutput", _of(X, X, (5,), normalization="batch", values=("any", *classes)))
    add_samples("softmax_cross_entropy", _of(X, (5,), values=classes))
    add_samples("_backward_softmax_cross_entropy", _of((1,), X, (5,), values=("any", *classes)))
    add_samples("SVMOutput", _of(X, (5,), values=classes, gradient=False))
    add_samples(
        "_backward_SVMOutput", _of(X, (5,), values=classes), _of(X, (5,), use_linear=True, values=classes)
    )


def _updates() -> None:
    rate: dict[str, Any] = {"lr": 0.1}
    common = {**rate, "wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.7}
    exact = {**common, "lazy_update": False}
    square = ("any", "any", "positive")
    for shape in (X, (5, 2, 2), (5,), (0, 4)):
        add_samples("sgd_update", _of(shape, shape, **exact), _of(shape, shape, **rate))
        add_samples("mp_sgd_update", _of(shape, shape, shape, values=("any",), **exact))
        for name in ("sgd_mom_update", "nag_mom_update"):
            add_samples(name, _of(shape, shape, shape, momentum=0.9, **exact))
        add_samples("mp_sgd_mom_update", _of(shape, shape, shape, shape, momentum=0.9, **exact))
        add_samples("adam_update", _of(shape, shape, shape, shape, values=("any", *square), **exact))
        add_samples("_sparse_adagrad_update", _of(shape, shape, shape, values=square, **exact))
        grouped = {k: v for k, v in exact.items() if k != "wd"}
        add_samples(
            "_contrib_group_adagrad_update", _of(shape, shape, (shape[0], 1), values=square, **grouped)
        )
        add_samples("ftrl_update", _of(shape, shape, shape, shape, values=("any", *square), **exact))
        add_samples("rmsprop_update", _of(shape, shape, shape, values=square, **exact))
        alex = ("any", "any", "above_one", "unit", "any")
        add_samples("rmspropalex_update", _of(*(shape,) * 5, values=alex, **exact))
    add_samples("signsgd_update", _of(X, X, **common))
    add_samples("signum_update", _of(X, X, X, momentum=0.9, wd_lh=0.1, **common))


for _add in (_products, _shapes_of_arrays, _blocks, _lookups, _rearranged, _layers, _updates):
    _add()
