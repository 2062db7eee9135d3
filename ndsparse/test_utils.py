"""``mx.test_utils``: random arrays, comparisons, and checks of symbols, under MXNet's names.

For operators of the registry, :mod:`ndsparse.testing` checks more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ndsparse.context import Context, current_context
from ndsparse.errors import ArgumentError, ArgumentTypeError
from ndsparse.executor.executor import Executor
from ndsparse.executor.symbol import Symbol
from ndsparse.ndarray.creation import array as make_array
from ndsparse.ndarray.generator import generator
from ndsparse.ndarray.invoke import dense, wrap
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.storage import CSRChunk, RowSparseChunk, as_dtype, as_shape, cast

Array = np.ndarray[Any, Any]

TOLERANCES = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-6}
"""Default relative tolerance by dtype; whole numbers must be equal."""


def default_context() -> Context:
    """Return the context of the innermost ``with`` block."""
    return current_context()


def default_dtype() -> Any:
    """Return float32."""
    return np.float32


# -- random arrays ----------------------------------------------------------------------------------------


def rand_shape_2d(dim0: int = 10, dim1: int = 10) -> tuple[int, int]:
    """Return a random shape, each extent from 1 to the given one."""
    return rand_shape_nd(2, (dim0, dim1))  # type: ignore[return-value]


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10) -> tuple[int, int, int]:
    """Return a random shape, each extent from 1 to the given one."""
    return rand_shape_nd(3, (dim0, dim1, dim2))  # type: ignore[return-value]


def rand_shape_nd(num_dim: int, dim: int | Sequence[int] = 10) -> tuple[int, ...]:
    """Return a random shape of ``num_dim`` dimensions, each extent from 1 to ``dim``."""
    most = [dim] * num_dim if isinstance(dim, int) else list(dim)
    return tuple(int(generator().integers(1, n + 1)) for n in most)


def rand_ndarray(
    shape: Any, stype: str = "default", density: float | None = None, dtype: Any = None, **kwargs: Any
) -> Any:
    """Return an array of numbers uniform in [-1, 1); of sparse ones, about a share ``density`` is stored."""
    if stype == "default":
        return dense(generator().uniform(-1, 1, as_shape(shape)).astype(as_dtype(dtype or np.float32)))
    return rand_sparse_ndarray(shape, stype, density, dtype, **kwargs)[0]


def rand_sparse_ndarray(
    shape: Any, stype: str, density: float | None = None, dtype: Any = None, distribution: str = "uniform"
) -> tuple[Any, tuple[Array, ...]]:
    """Return a random sparse array and its parts.

    Parameters
    ----------
    shape : tuple of int
    stype : {"csr", "row_sparse"}
    density : float, optional
        Share of the elements (rows, for row_sparse) that are stored; default a random one.
    dtype : dtype, optional
        Default float32.
    distribution : {"uniform", "powerlaw"}
        Of the elements of a csr array over its rows: evenly, or each row twice as many as the last.

    Returns
    -------
    array, (indptr, indices, data) or (data, indices)
        The order of the parts is MXNet's.
    """
    dims, kind, rng = as_shape(shape), as_dtype(dtype or np.float32), generator()
    share = float(rng.random()) if density is None else density
    if not 0 <= share <= 1:
        raise ArgumentError(f"density: expected a number in [0, 1], got {density!r}")
    if stype == "row_sparse":
        ids = np.flatnonzero(rng.random(dims[0]) < share)
        rows = RowSparseChunk(dims, kind)
        rows.adopt(rng.uniform(-1, 1, (len(ids), *dims[1:])).astype(kind), ids.astype(np.int64))
        return wrap(rows), (rows.data.copy(), rows.indices.copy())
    if stype != "csr":
        raise ArgumentError(f"stype: expected 'csr' or 'row_sparse', got {stype!r}")
    CSRChunk.check_shape(dims)
    mask = _powerlaw(dims, share) if distribution == "powerlaw" else rng.random(dims) < share
    matrix = CSRChunk(dims, kind)
    matrix.set_coo(np.nonzero(mask), rng.uniform(-1, 1, int(mask.sum())).astype(kind))
    return wrap(matrix), (matrix.indptr.copy(), matrix.indices.copy(), matrix.data.copy())


def _powerlaw(dims: tuple[int, ...], share: float) -> Array:
    left, mask = int(share * dims[0] * dims[1]), np.zeros(dims, bool)
    for row in range(dims[0]):
        count = min(2**row, dims[1], left)
        mask[row, :count] = True
        left -= count
    return mask


# -- comparisons ------------------------------------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Whether two arrays are equal in shape and every element."""
    return np.array_equal(_numpy(a), _numpy(b))


def almost_equal(
    a: Any, b: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = False
) -> bool:
    """Whether two arrays are equal up to ``atol + rtol * |b|`` (default: by dtype)."""
    x, y = _numpy(a), _numpy(b)
    rtol, atol = _tolerances(x, y, rtol, atol)
    return x.shape == y.shape and bool(np.allclose(x, y, rtol, atol, equal_nan))


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
) -> None:
    """Raise AssertionError, saying where, unless two arrays are equal up to ``atol + rtol * |b|``."""
    x, y = _numpy(a), _numpy(b)
    rtol, atol = _tolerances(x, y, rtol, atol)
    np.testing.assert_allclose(x, y, rtol, atol, equal_nan, err_msg=f"{names[0]} and {names[1]}")


def assert_exception(
    f: Callable[..., Any], exception_type: type[BaseException], *args: Any, **kwargs: Any
) -> None:
    """Raise AssertionError unless the call raises ``exception_type``."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{f!r} did not raise {exception_type.__name__}")


def _numpy(value: Any) -> Array:
    return value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)


def _tolerances(x: Array, y: Array, rtol: float | None, atol: float | None) -> tuple[float, float]:
    loose = max(TOLERANCES.get(str(a.dtype), 0.0) for a in (x, y))
    return loose if rtol is None else rtol, loose / 10 if atol is None else atol


# -- checks of symbols ------------------------------------------------------------------------------------


def simple_forward(sym: Symbol, ctx: Any = None, is_train: bool = False, **inputs: Any) -> Any:
    """Return the outputs of a symbol as numpy arrays (one array if there is one)."""
    exe = sym.bind(ctx, {k: _as_array(v) for k, v in inputs.items()}, grad_req="null")
    outputs = [o.asnumpy() for o in exe.forward(is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def check_symbolic_forward(
    sym: Symbol,
    location: Any,
    expected: Any,
    rtol: float = 1e-4,
    atol: float | None = None,
    aux_states: Any = None,
    ctx: Any = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> list[NDArray]:
    """Compare the outputs of a symbol with expected ones; return them.

    ``location`` are the arguments and ``expected`` the outputs, lists or dicts by name.
    """
    exe = _bound(sym, location, aux_states, ctx, dtype, "null")
    outputs = exe.forward(is_train=False)
    wanted = _ordered(expected, sym.list_outputs(), "expected")
    for name, found, value in zip(sym.list_outputs(), outputs, wanted, strict=True):
        assert_almost_equal(found, value, rtol, atol, (name, "expected"), equal_nan)
    return outputs


def check_symbolic_backward(
    sym: Symbol,
    location: Any,
    out_grads: Any,
    expected: Any,
    rtol: float = 1e-5,
    atol: float | None = None,
    aux_states: Any = None,
    grad_req: Any = "write",
    ctx: Any = None,
    grad_stypes: Mapping[str, str] | None = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> dict[str, NDArray]:
    """Compare the gradients of a symbol with expected ones (a dict by name, or a list); return them.

    ``grad_stypes`` says which storage types gradients must come out in.
    """
    exe = _bound(sym, location, aux_states, ctx, dtype, grad_req)
    exe.forward(is_train=True)
    heads = None if out_grads is None else _ordered(out_grads, sym.list_outputs(), "out_grads")
    exe.backward(None if heads is None else [_as_array(h, dtype) for h in heads])
    names = sym.list_arguments()
    wanted = expected if isinstance(expected, Mapping) else dict(zip(names, expected, strict=True))
    for name, value in wanted.items():
        found = exe.grad_dict[name]
        if found is None:
            continue
        stype = (grad_stypes or {}).get(name)
        if stype is not None and found.stype != stype:
            raise AssertionError(f"the gradient of {name} is {found.stype}; expected {stype}")
        assert_almost_equal(found, value, rtol, atol, (f"gradient of {name}", "expected"), equal_nan)
    return {n: g for n, g in exe.grad_dict.items() if g is not None}


def check_numeric_gradient(
    sym: Symbol,
    location: Any,
    aux_states: Any = None,
    numeric_eps: float = 1e-3,
    rtol: float = 1e-2,
    atol: float | None = None,
    grad_nodes: Sequence[str] | None = None,
    use_forward_train: bool = True,
    ctx: Any = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: Any = np.float64,
) -> None:
    """Compare the gradients of a symbol with central differences.

    Parameters
    ----------
    sym : Symbol
    location : list or dict of array_like
        The arguments; NDArrays keep their storage types.
    aux_states : list or dict, optional
    numeric_eps : float
        Step of the differences.
    rtol, atol : float
    grad_nodes : list of str, optional
        Which arguments; default all that are not whole numbers.
    use_forward_train : bool
        Run forward in training mode.
    grad_stype_dict : dict, optional
        Storage types that gradients must come out in.
    dtype : dtype
        Of the computation.

    Notes
    -----
    The outputs are multiplied by random numbers and summed; 2 x elements forward passes.
    """
    exe = _bound(sym, location, aux_states, ctx, dtype, "write")
    outputs = exe.forward(is_train=use_forward_train)
    weights = [generator().uniform(0.5, 1.5, o.shape) for o in outputs]
    exe.backward([dense(w.astype(o.dtype)) for w, o in zip(weights, outputs, strict=True)])
    for name in exe.arg_dict if grad_nodes is None else grad_nodes:
        grad = exe.grad_dict[name]
        if grad is None:
            continue
        wanted = (grad_stype_dict or {}).get(name)
        if wanted is not None and grad.stype != wanted:
            raise AssertionError(f"the gradient of {name} is {grad.stype}; expected {wanted}")
        found = grad.asnumpy()
        numeric = _differences(exe, name, weights, numeric_eps, use_forward_train)
        limit = rtol if atol is None else atol
        assert_almost_equal(found, numeric, rtol, limit, (f"gradient of {name}", "differences"))


def _differences(exe: Executor, name: str, weights: Sequence[Array], eps: float, train: bool) -> Array:
    array = exe.arg_dict[name]
    start = array.asnumpy()
    result = np.zeros(start.shape)
    for at in np.ndindex(*start.shape):
        values = []
        for step in (eps, -eps):
            moved = start.copy()
            moved[at] += step
            cast(dense(moved)._chunk, array._chunk)
            outputs = exe.forward(is_train=train)
            values.append(sum(float((w * o.asnumpy()).sum()) for w, o in zip(weights, outputs, strict=True)))
        result[at] = (values[0] - values[1]) / (2 * eps)
    cast(dense(start)._chunk, array._chunk)
    return result


def _bound(sym: Symbol, location: Any, aux_states: Any, ctx: Any, dtype: Any, grad_req: Any) -> Executor:
    """Bind to these arguments, with gradients of the inferred storage types."""
    names, states = sym.list_arguments(), sym.list_auxiliary_states()
    args = {n: _as_array(v, dtype) for n, v in zip(names, _ordered(location, names, "location"), strict=True)}
    aux = _ordered(aux_states or [], states, "aux_states") if states else []
    exe = sym.simple_bind(
        ctx,
        grad_req=grad_req,
        type_dict={n: a.dtype for n, a in args.items()},
        stype_dict={n: a.stype for n, a in args.items()},
        **{n: a.shape for n, a in args.items()},
    )
    exe.copy_params_from(args, {n: _as_array(v, dtype) for n, v in zip(states, aux, strict=True)})
    return exe


def _as_array(value: Any, dtype: Any = None) -> NDArray:
    result: NDArray = value if isinstance(value, NDArray) else make_array(np.asarray(value))
    if dtype is not None and np.dtype(result.dtype).kind == "f":
        result = result.astype(dtype, copy=False)
    return result


def _ordered(given: Any, names: Sequence[str], what: str) -> list[Any]:
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise ArgumentError(f"{what}: expected {list(names)}, got {list(given)}")
        return [given[n] for n in names]
    values = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(values) != len(names):
        raise ArgumentTypeError(f"{what}: {len(values)} arrays for {list(names)}")
    return values
