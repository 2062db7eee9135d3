"""The table of samples, for operators whose signature does not say enough."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ndsparse.testing.samples import Sample, Shape

S: Shape = (5, 4)
SAMPLES: dict[str, list[Sample]] = {}
"""Name of an operator to its samples."""


def _add(names: str | Iterable[str], *samples: Sample) -> None:
    for name in names.split() if isinstance(names, str) else names:
        SAMPLES.setdefault(name, []).extend(samples)


def _one(*shapes: Shape, **attrs: Any) -> Sample:
    return Sample(shapes, attrs)


def _kinds(kinds: str, *shapes: Shape, **attrs: Any) -> Sample:
    return Sample(shapes, attrs, tuple(kinds.split()))


# -- functions of one array ---------------------------------------------------------------------------

_add("arcsin arctanh erfinv arccos", _kinds("unit", S), _kinds("unit", (0, 4)))
_add("_backward_arcsin _backward_arctanh _backward_arccos", _kinds("any unit", S, S))
_add("arccosh", _kinds("above_one", S))
_add("sqrt log1p cbrt", _kinds("positive", S), _kinds("positive", (1, 1)), _kinds("positive", (0, 4)))
_add("log log2 log10 rsqrt rcbrt gamma gammaln digamma reciprocal", _kinds("positive", S))
_add("clip", *(_one(S, a_min=a, a_max=b) for a, b in ((-0.7, 1.5), (0.5, 1.5), (-2.0, -0.5))), _one((0, 4)))
_add("_backward_clip", *(_one(S, S, a_min=a, a_max=b) for a, b in ((-0.7, 1.5), (0.5, 1.5))))
_add("Activation", *(_one(S, act_type=t) for t in ("relu", "sigmoid", "tanh", "softrelu", "softsign")))
_add(
    "LeakyReLU",
    *(_one(S, act_type=t) for t in ("leaky", "elu", "selu", "gelu")),
    _one(S, (4,), act_type="prelu"),
)
_add("Cast amp_cast", _one(S, dtype="float64"), Sample((S,), {"dtype": "int32"}, gradient=False))
_add("Cast", _one((0, 4), dtype="float16"))
_add("Dropout", Sample((S,), {"p": 0.0}), Sample((S,), {"p": 0.5}, gradient=False))
_add("cast_storage", *(_one(S, stype=t) for t in ("default", "csr", "row_sparse")))
_add("_contrib_quadratic", _one(S, a=1.5, b=2.0), _one(S, a=1.5, b=2.0, c=3.0))
_add("_contrib_gradientmultiplier", Sample((S,), {"scalar": 3.0}, gradient=False))
_add("_contrib_round_ste _contrib_sign_ste BlockGrad make_loss MakeLoss", Sample((S,), gradient=False))
_add("_contrib_getnnz", *(Sample((S,), {"axis": a}, ("filled",), "none") for a in (None, 0, 1)))
_add("argmax argmin", *(_one(S, axis=a, keepdims=k) for a, k in ((None, False), (0, False), (1, True))))
_add("softmax softmin log_softmax", _one(S), _one(S, axis=0, temperature=2.0))

# -- an array and a number ----------------------------------------------------------------------------

_NUMBERS = (0.0, 2.0, -1.0)
_add(
    "_plus_scalar _minus_scalar _rminus_scalar _mul_scalar _hypot_scalar _maximum_scalar _minimum_scalar "
    "_equal_scalar _not_equal_scalar _greater_scalar _greater_equal_scalar _lesser_scalar "
    "_lesser_equal_scalar _logical_and_scalar _logical_or_scalar _logical_xor_scalar",
    *(_one(S, scalar=s) for s in _NUMBERS),
    _one((0, 4), scalar=1.0),
)
_add("_div_scalar _mod_scalar", _one(S, scalar=2.0), _one(S, scalar=-1.5))
_add("_rmod_scalar", Sample((S,), {"scalar": 2.0}, gradient=False), _kinds("filled", S, scalar=2.0))
_add("_rdiv_scalar", _kinds("filled", S, scalar=2.0))
_add("_power_scalar", *(_kinds("positive", S, scalar=s) for s in (2.0, 0.5, -1.0)), _one(S, scalar=2.0))
_add("_rpower_scalar", _one(S, scalar=2.0))
_add("_scatter_plus_scalar _scatter_minus_scalar", Sample((S,), {"scalar": 3.0}, ("filled",), "stored"))
_add("_backward_power_scalar", *(_kinds("any positive", S, S, scalar=s) for s in (2.0, 1.0)))
_add("_backward_rdiv_scalar _backward_rmod_scalar", _kinds("any filled", S, S, scalar=2.0))
_add("_backward_rpower_scalar _backward_hypot_scalar", _one(S, S, scalar=2.0))

# -- two arrays ---------------------------------------------------------------------------------------

_PAIRS = ((S, (4,)), (S, (1, 4)), (S, (5, 1)), (S, S), ((1, 4), S), ((5, 1), (1, 4)), ((2, 5, 4), (5, 1)))
_add(
    "broadcast_add broadcast_sub broadcast_mul broadcast_maximum broadcast_minimum broadcast_hypot "
    "broadcast_equal broadcast_not_equal broadcast_greater broadcast_greater_equal broadcast_lesser "
    "broadcast_lesser_equal broadcast_logical_and broadcast_logical_or broadcast_logical_xor",
    *(_one(*pair) for pair in _PAIRS),
)
_add("broadcast_div broadcast_mod", *(_kinds("any filled", *pair) for pair in _PAIRS))
_add("broadcast_power", *(_kinds("positive filled", *pair) for pair in _PAIRS))
_add("elemwise_div _mod", _kinds("any filled", S, S), _kinds("any filled", (0, 4), (0, 4)))
_add("_scatter_elemwise_div", Sample((S, S), {}, ("any", "filled"), "stored"))
_add("_power", _kinds("positive filled", S, S))
_add("_backward_maximum _backward_minimum _backward_hypot _backward_mod", _kinds("any any filled", S, S, S))
_add("_backward_power", _kinds("any positive filled", S, S, S))
_add("_sum_like", *(_one(S, t) for t in ((4,), (1, 4), (5, 1), (1, 1), (1,), S)))
_add("_backward_broadcast_product", *(_one(S, t) for t in ((4,), (1, 4), (5, 1), S)))
_add("broadcast_to", _one((1, 4), shape=(3, 4)), _one((5, 1), shape=(0, 3)), _one((1, 4), shape=(2, 3, 4)))
_add("broadcast_like", _one((1, 4), S), _one((5, 1), S))
_add("broadcast_axis", _one((1, 4), axis=(0,), size=(3,)))
_add("where", _kinds("mask any any", S, S, S), _kinds("mask any any", (5,), S, S))
_add("_identity_with_attr_like_rhs _cast_like", _one(S, S))

# -- reductions ---------------------------------------------------------------------------------------

_AXES = [
    {"axis": axis, "keepdims": keepdims} for axis in (None, 0, 1, -1, (0, 1)) for keepdims in (False, True)
]
_add(
    "sum mean _square_sum norm",
    *(_one(S, **a) for a in _AXES),
    _one((0, 4), axis=1),
    _one((2, 3, 4), axis=(0, 2)),
)
_add("sum mean _square_sum", _one(S, axis=0, exclude=True), _one(S, axis=(0, 1), exclude=True))
_add("norm", *(_one(S, ord=1, **a) for a in _AXES))
_add("prod max min nansum nanprod", *(_one(S, axis=a) for a in (None, 0, 1)), _one(S, axis=1, exclude=True))
_FULL = (((1,), None), ((4,), 0), ((5,), 1))
_add(
    "_backward_sum _backward_mean _backward_norm _backward_prod _backward_max _backward_min _backward_nansum "
    "_backward_nanprod",
    *(_kinds("filled any filled", r, S, r, axis=a) for r, a in _FULL),
)
_add("_backward_square_sum", *(_one(r, S, axis=a) for r, a in _FULL), _one((5, 1), S, axis=1, keepdims=True))

# -- products -----------------------------------------------------------------------------------------

_add("dot", _one((5, 4), (4, 3)), _one((5, 4), (4,)), _one((0, 4), (4, 3)), _one((5, 4), (4, 0)))
_add("dot", _one((5, 4), (5, 3), transpose_a=True), _one((5, 4), (3, 4), transpose_b=True))
_add("dot", _one((5, 4), (5,), transpose_a=True), _one((4, 5), (3, 4), transpose_a=True, transpose_b=True))
_add("_backward_dot_lhs", _one((5, 3), (4, 3), (5, 4)), _one((4, 3), (5, 3), (5, 4), transpose_a=True))
_add("_backward_dot_rhs", _one((5, 3), (5, 4), (4, 3)), _one((4, 3), (5, 4), (5, 3), transpose_a=True))
_add("batch_dot", _one((2, 5, 4), (2, 4, 3)), _one((2, 4, 5), (2, 3, 4), transpose_a=True, transpose_b=True))
_add(
    "FullyConnected",
    _one((5, 4), (3, 4), (3,), num_hidden=3),
    _one((5, 4), (3, 4), num_hidden=3, no_bias=True),
)
_add("_backward_FullyConnected_data", _one((5, 3), (3, 4), (5, 4)))
_add("_backward_FullyConnected_weight", _one((5, 3), (5, 4), (3, 4)))

# -- rows, slices, shapes -----------------------------------------------------------------------------

_add("Embedding _contrib_SparseEmbedding", _kinds("ids:5 any", (3, 2), S, input_dim=5, output_dim=4))
_add("Embedding", _kinds("ids:5 any", (6,), S, input_dim=5, output_dim=4, sparse_grad=True))
_add(
    "_backward_Embedding",
    *(_kinds("any ids:5", (6, 4), (6,), input_dim=5, output_dim=4, sparse_grad=g) for g in (True, False)),
)
_add(
    "take",
    _kinds("any ids:5", S, (7,)),
    _kinds("any ids:9", S, (2, 2), mode="wrap"),
    _kinds("any ids:4", S, (3,), axis=1),
)
_add("_backward_take", _kinds("any ids:5", (7, 4), (7,), S))
_add("_sparse_retain", _kinds("any ids:5", S, (3,)))
_add(
    "slice",
    _one(S, begin=(1, 1), end=(4, 3)),
    _one(S, begin=(2,), end=(None,)),
    _one(S, begin=(0, 0), end=(5, 4), step=(2, 1)),
)
_add("_backward_slice", _one((3, 2), S, begin=(1, 1), end=(4, 3)))
_add("slice_axis", _one(S, axis=0, begin=1, end=4), _one(S, axis=1, begin=-2, end=None))
_add("_backward_slice_axis", _one((3, 4), S, axis=0, begin=1, end=4))
_add("slice_like", _one(S, (3, 2)), _one(S, (3, 9), axes=(0,)))
_add("_backward_slice_like", _one((3, 2), S))
_add(
    "Reshape",
    _one(S, shape=(4, 5)),
    _one(S, shape=(-1,)),
    _one(S, shape=(0, 2, 2)),
    _one((2, 3, 2), shape=(-3, 0)),
)
_add("reshape_like", _one(S, (2, 10)), _one(S, (4, 5)))
_add("expand_dims", _one(S, axis=0), _one((5,), axis=1))
_add("squeeze", _one((5, 1, 4)), _one((1, 5, 4), axis=(0,)))
_add("SwapAxis", _one(S, dim1=0, dim2=1))
_add("SliceChannel", _one((5, 4), num_outputs=2), _one((5, 3), num_outputs=3, squeeze_axis=True))
_add("Concat", _one(S, (5, 3)), _one(S, (2, 4), dim=0), _one(S, (2, 4), (1, 4), dim=0))
_add("Pad", _one((1, 2, 3, 4), mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 2, 1), constant_value=1.0))
_add("repeat", _one(S, repeats=2), _one(S, repeats=2, axis=1))
_add("tile", _one(S, reps=(2, 3)))
_add("reverse", _one(S, axis=(0,)))
_add("one_hot", _kinds("ids:4", (5,), depth=4))
_add("pick", _kinds("any ids:4", S, (5,)))
_add("gather_nd", _kinds("any ids:4", S, (2, 3)))
_add("scatter_nd", _kinds("any ids:4", (3,), (2, 3), shape=(5, 4)))

# -- outputs: their gradient is that of the loss, not of what they return -----------------------------

_add(
    "LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput",
    Sample((S, S), gradient=False),
    Sample(((5, 1), (5,)), gradient=False),
)
_add("_backward_linear_reg_out _backward_logistic_reg_out _backward_mae_reg_out", _one(S, S))
_add("SoftmaxOutput SVMOutput", Sample((S, (5,)), {}, ("any", "ids:4"), gradient=False))
_add("softmax_cross_entropy", _kinds("any ids:4", S, (5,)))

# -- updates: the exact variants equal the dense ones -------------------------------------------------

_STATES = {
    "sgd_update": 0, "sgd_mom_update": 1, "nag_mom_update": 1, "adam_update": 2, "_sparse_adagrad_update": 1,
    "ftrl_update": 2, "rmsprop_update": 1, "rmspropalex_update": 3,
}  # fmt: skip
for _name, _count in _STATES.items():
    _add(_name, Sample((S,) * (2 + _count), {"lr": 0.1, "lazy_update": False}, ("any", "any", "positive")))
