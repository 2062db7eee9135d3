"""libsvm files as NDArrays: ``read_libsvm`` and ``write_libsvm``."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ndsparse.io import libsvm, rows
from ndsparse.io.libsvm_write import write_rows
from ndsparse.ndarray.csr import CSRNDArray
from ndsparse.ndarray.invoke import dense, wrap
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.ndarray.sparse_creation import csr_matrix


def read_libsvm(
    path: str | os.PathLike[str],
    num_features: int | None = None,
    *,
    zero_based: bool | Literal["auto"] = "auto",
    dtype: DTypeLike = np.float32,
    canonical: bool = True,
    qid: bool = False,
    weight: bool = False,
    part_index: int = 0,
    num_parts: int = 1,
) -> tuple[Any, ...]:
    r"""Read a libsvm file whole.

    Parameters
    ----------
    path : path
        The file (plain, gzip, bzip2 or xz).
    num_features : int, optional
        Columns of the result; an id beyond is refused.  Default: what the largest id needs.
    zero_based : bool or "auto"
        Whether the first feature has id 0 (else 1).  ``"auto"`` takes the file to start at 1 if it
        has no id 0, and says so in the log.
    dtype : float32 or float64
        Of data and labels.
    canonical : bool
        Sort the ids of every row and sum duplicates; False keeps them as in the file.
    qid, weight : bool
        Whether to return query ids (int64, -1 where there is none) and weights of rows (1 where
        there is none).
    part_index, num_parts : int
        Which of how many parts of the file to read (by ranges of bytes, moved to line ends).

    Returns
    -------
    data : CSRNDArray
    label : NDArray
        Shape (rows,).
    qid, weight : NDArray
        If asked for.

    Raises
    ------
    FileFormatError
        Naming file, line and token.

    Notes
    -----
    Two threads parse.  Cost: two passes over the text, and a copy of the result.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ndsparse.io import read_libsvm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rows.svm"
    ...     _ = path.write_text("1 1:0.5 3:1  # a comment\n-1 2:2\n")
    ...     data, label = read_libsvm(path, zero_based=False)
    >>> data.asnumpy().tolist(), label.asnumpy().tolist()
    ([[0.5, 0.0, 1.0], [0.0, 2.0, 0.0]], [1.0, -1.0])
    """
    found = libsvm.read_rows(
        path,
        num_features=num_features,
        zero_based=zero_based,
        dtype=dtype,
        canonical=canonical,
        qids=qid,
        weights=weight,
        part_index=part_index,
        num_parts=num_parts,
    )
    data = wrap(rows.csr(found.indptr, found.indices, found.values, found.num_features))
    wanted = found.values.dtype
    extra = [dense(found.qids)] if found.qids is not None else []
    if found.weights is not None:
        extra.append(dense(found.weights.astype(wanted, copy=False)))
    return data, dense(found.labels.astype(wanted, copy=False)), *extra


def write_libsvm(
    path: str | os.PathLike[str],
    data: Any,
    label: Any,
    *,
    zero_based: bool = True,
    qid: Any = None,
    weight: Any = None,
) -> None:
    """Write a csr array and labels to a libsvm file, which takes the place of ``path`` once it is whole.

    Parameters
    ----------
    path : path
        The file; compressed if it ends in ``.gz``, ``.bz2`` or ``.xz``.
    data : CSRNDArray, or what :func:`ndsparse.nd.sparse.csr_matrix` takes
        Every stored element is written, zeros too.
    label : array, (rows,)
    zero_based : bool
        Whether to write ids from 0 (else from 1).
    qid : array of int, (rows,), optional
        Query ids; negative ones are left out.
    weight : array, (rows,), optional
        Weights of rows, written ``label:weight``.

    Notes
    -----
    Values read back exactly in their own dtype.  Cost: about 0.1 microseconds an element, 1 if it
    needs 17 digits.
    """
    matrix = data if isinstance(data, CSRNDArray) else csr_matrix(data)
    indptr, indices, values = matrix._chunk.csr
    write_rows(
        path,
        _numpy(label),
        indptr,
        indices,
        values,
        zero_based=zero_based,
        qids=None if qid is None else _numpy(qid),
        weights=None if weight is None else _numpy(weight),
    )


def _numpy(array: Any) -> ArrayLike:
    return array.asnumpy() if isinstance(array, NDArray) else np.asarray(array)
