"""NDArray: what a user holds.  This file is the dense array and what all storage types share.

``NDArray`` is the base; :class:`ndsparse.ndarray.sparse.BaseSparseNDArray` and its subclasses
``RowSparseNDArray`` and ``CSRNDArray`` show the sparse storage types.  An array is a thin handle on
a :class:`ndsparse.storage.Chunk`; everything that computes goes through
:func:`ndsparse.ndarray.invoke.invoke`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ndsparse.context import Context, cpu, current_context
from ndsparse.errors import (
    ArgumentError,
    ArgumentTypeError,
    IndexOutOfBounds,
    ShapeError,
)
from ndsparse.ndarray import arithmetic, protocols
from ndsparse.ndarray.invoke import hooks, invoke, register_class, wrap
from ndsparse.ndarray.keys import checked_row, everything, numpy_key
from ndsparse.ndarray.operands import as_values, operand
from ndsparse.ops import registry
from ndsparse.ops.registry import Operator
from ndsparse.ops.shape_codes import resolve_reshape
from ndsparse.storage import Chunk, DefaultChunk, as_dtype, as_shape, cast, storage_class


class NDArray:
    """A dense array (``stype`` "default"), and the base of all arrays.

    Made by :func:`ndsparse.nd.array`, :func:`ndsparse.nd.zeros` and others, not by its constructor.
    """

    __slots__ = ("__weakref__", "_chunk", "_ctx", "_grad_info", "_mask")

    __array_priority__ = 1000.0
    __array_ufunc__ = protocols.array_ufunc
    __array_function__ = protocols.array_function

    _chunk: Chunk
    _grad_info: Any
    _ctx: Context | None
    _mask: bool  # set (only) on what a comparison gave

    def __init__(self, source: NDArray) -> None:
        if not isinstance(source, NDArray):
            raise ArgumentTypeError(f"NDArray: use nd.array(...) to make one, got {type(source).__name__}")
        self._chunk, self._ctx, self._grad_info = source._chunk, source._ctx, None

    @staticmethod
    def __ndsparse_apply__(op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) == op.plain_inputs and _UNUSUAL.isdisjoint(kwargs):
            for x in args:
                if not isinstance(x, NDArray):
                    break
            else:
                return invoke(op, args, kwargs)
        out = kwargs.pop("out", None)
        kwargs.pop("name", None)
        ctx = kwargs.pop("ctx", None) if "ctx" not in op.attributes else None
        inputs, given = op.bind(args, kwargs)
        present = [_as_input(op, x) for x in inputs if x is not None]
        result = invoke(op, present, given, out)
        if ctx is not None:
            for array in result if isinstance(result, list) else [result]:
                array._ctx = Context(ctx)
        return result

    # -- facts ----------------------------------------------------------------------------------

    @property
    def stype(self) -> str:
        """Storage type: ``default``, ``row_sparse`` or ``csr``."""
        return self._chunk.stype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape."""
        return self._chunk.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._chunk.shape)

    @property
    def size(self) -> int:
        """Number of elements, stored or not."""
        return math.prod(self._chunk.shape)

    @property
    def dtype(self) -> Any:
        """The numpy type of the elements, as a type object (``numpy.float32``), as in MXNet."""
        return self._chunk.dtype.type

    @property
    def context(self) -> Context:
        """The device."""
        return self._ctx or cpu()

    @property
    def ctx(self) -> Context:
        """The device (short name)."""
        return self.context

    @property
    def writable(self) -> bool:
        """Whether the array can be written."""
        return bool(self._chunk.data.flags.writeable)

    @property
    def nbytes(self) -> int:
        """Bytes of what is stored."""
        return self._chunk.nbytes

    @property
    def T(self) -> NDArray:
        """The transposed array, computed (arrays of one dimension are returned as a copy)."""
        result: NDArray = registry.get("transpose")(self)
        return result

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentTypeError("len() of an array without dimensions")
        return self.shape[0]

    def __repr__(self) -> str:
        shape = "x".join(str(n) for n in self.shape)
        return f"\n{self.asnumpy()!s}\n<{type(self).__name__} {shape} @{self.context}>"

    def __bool__(self) -> bool:
        if self.size == 1:
            return bool(self.asscalar())
        if self.size == 0:
            return False
        raise ArgumentError("the truth value of an array with more than one element is ambiguous")

    def __float__(self) -> float:
        return float(self._one_element("float()"))

    def __int__(self) -> int:
        return int(self._one_element("int()"))

    def __index__(self) -> int:
        value = self._one_element("an index")
        if not isinstance(value, (int, np.integer)):
            raise ArgumentTypeError("only arrays of whole numbers can be an index")
        return int(value)

    def _one_element(self, what: str) -> Any:
        if self.size != 1:
            raise ArgumentTypeError(f"{what}: expected an array with one element, got shape {self.shape}")
        return self.asscalar()

    def __iter__(self) -> Iterator[NDArray]:
        for i in range(len(self)):
            yield self[i]

    # -- out to numpy and others --------------------------------------------------------------------

    def asnumpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Return the values as a new dense numpy array, O(size)."""
        return self._chunk.to_dense()

    def asscalar(self) -> Any:
        """Return the only element as a numpy scalar; ValueError unless there is exactly one."""
        if self.size != 1:
            raise ArgumentError(f"asscalar: the array has {self.size} elements, shape {self.shape}")
        return self.asnumpy().reshape(())[()]

    def item(self) -> Any:
        """Return the only element as a Python number."""
        return self.asscalar().item()

    def tolist(self) -> Any:
        """Return the values as nested lists."""
        return self.asnumpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, np.dtype[Any]]:
        if copy is False:
            if dtype is not None and np.dtype(dtype) != self._chunk.dtype:
                raise ArgumentError(f"asarray: {self._chunk.dtype} cannot become {dtype} without a copy")
            return self._export()
        array = self.asnumpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def _export(self) -> np.ndarray[Any, np.dtype[Any]]:
        data = self._chunk.data
        self._chunk.pin()
        return data

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._export().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __reduce__(self) -> tuple[Any, ...]:
        chunk = self._chunk
        aux = [chunk.aux(i) for i in range(len(chunk.aux_names))]
        return (_rebuild, (chunk.stype, chunk.shape, chunk.dtype.str, chunk.data, aux))

    # -- copies and conversions -----------------------------------------------------------------------

    def copy(self) -> Any:
        """Return a copy, of the same storage type."""
        return self._beside(self._chunk.copy())

    def _beside(self, chunk: Chunk) -> Any:
        """Return an array on the same context."""
        result = wrap(chunk)
        result._ctx = self._ctx
        return result

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.copy()

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Return the array with another dtype; itself if nothing changes and ``copy`` is False."""
        wanted = as_dtype(dtype)
        if wanted == self._chunk.dtype and not copy:
            return self
        return registry.get("Cast")(self, dtype=wanted.name)

    def tostype(self, stype: str) -> Any:
        """Return the array in another storage type (a copy if it is the same).

        Cost: O(nnz + rows); O(size) only where one end is dense.
        """
        return registry.get("cast_storage")(self, stype=stype)

    def copyto(self, other: Any) -> Any:
        """Copy into another array (converting storage type and dtype) or onto a context.

        Returns
        -------
        NDArray or False
            ``other``, or a new array for a context; False where both are the same array.
        """
        if isinstance(other, Context):
            result = self.copy()
            result._ctx = other
            return result
        if not isinstance(other, NDArray):
            raise ArgumentTypeError(f"copyto: expected an NDArray or a Context, got {type(other).__name__}")
        if other._chunk is self._chunk:
            warnings.warn("copyto: source and destination are the same array", RuntimeWarning, stacklevel=2)
            return False
        if other.shape != self.shape:
            raise ShapeError(f"copyto: the shapes differ: {self.shape} and {other.shape}")
        cast(self._chunk, other._chunk)
        return other

    def as_in_context(self, context: Context) -> Any:
        """Return the array on a context: itself if it is there already."""
        return self if context == self.context else self.copyto(context)

    as_in_ctx = as_in_context

    def detach(self) -> Any:
        """Return an array on the same memory that autograd does not follow."""
        return self._beside(self._chunk)

    def wait_to_read(self) -> None:
        """Do nothing: calls return when the result is there."""

    wait_to_write = wait_to_read

    def check_format(self, full_check: bool = True) -> None:
        """Raise FormatCheckError where the stored arrays break the storage type's rules."""
        self._chunk.check_format(full_check)

    # -- indexing ---------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """Return a view on the same memory for basic keys (ints, slices, None, ...), else a copy.

        An NDArray as a key holds ids, floats too; what a comparison gave (``a[a > 0]``) is a mask.
        """
        data = self._chunk.data
        index = numpy_key(key)
        try:
            found = data[index]
            if found.ndim == 0:
                found = data[(*index, None) if isinstance(index, tuple) else (index, None)]
        except IndexError as error:
            raise IndexOutOfBounds(f"index {key!r} does not fit the shape {self.shape}: {error}") from None
        return self._beside(DefaultChunk.of(found))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write into the memory of the array, which its views share.

        ``a[:] = x`` on memory that was handed out (DLPack, ``asarray(copy=False)``) takes a new
        buffer, as operators do; setting a part writes what was handed out, too.
        """
        data = self._chunk.data
        if not data.flags.writeable:
            raise ArgumentError("setting elements: the array is on memory that is read-only; copy() it first")
        values = as_values(value, self._chunk.dtype)
        if self._chunk.pinned and everything(key):
            data = self._chunk.check_and_alloc_data(self.shape)
        if values.size == 1:
            values = values.reshape(())
        try:
            data[numpy_key(key)] = values
        except IndexError as error:
            raise IndexOutOfBounds(f"index {key!r} does not fit the shape {self.shape}: {error}") from None
        except ValueError as error:
            raise ShapeError(f"setting {key!r} of an array of shape {self.shape}: {error}") from None

    def _at(self, index: int) -> Any:
        """Return row ``index`` (a view)."""
        return self[checked_row(index, self.shape[0])]

    def _slice(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop`` (a view)."""
        return self[start:stop]

    def _sync_copyfrom(self, source: Any) -> None:
        """Copy from a numpy array of the same shape."""
        array = np.asarray(source)
        if array.shape != self.shape:
            raise ShapeError(f"_sync_copyfrom: the shapes differ: {array.shape} and {self.shape}")
        self[:] = array

    # -- shape (views) -------------------------------------------------------------------------------------

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """Return the array in another shape: the same memory where that can be.

        Takes MXNet's special values: 0 copies a dimension, -1 is inferred, -2 copies the rest,
        -3 merges two, -4 splits one.
        """
        codes, reverse = reshape_codes(shape, kwargs)
        if self.stype != "default" or hooks.recorder is not None:
            return registry.get("Reshape")(self, shape=codes, reverse=reverse)
        return self._beside(
            DefaultChunk.of(self._chunk.data.reshape(resolve_reshape(self.shape, codes, reverse)))
        )

    def reshape_like(self, other: NDArray) -> Any:
        """Return the array in the shape of ``other``."""
        return self.reshape(other.shape)

    def broadcast_to(self, shape: Any) -> Any:
        """Return the array repeated to ``shape``."""
        return registry.get("broadcast_to")(self, shape=as_shape(shape))

    def broadcast_like(self, other: NDArray) -> Any:
        """Return the array repeated to the shape of ``other``."""
        return self.broadcast_to(other.shape)

    def zeros_like(self) -> Any:
        """Return zeros of the same shape, dtype and storage type."""
        return self._beside(self._chunk.fresh())

    def todense(self) -> Any:
        """Return ``tostype("default")``: a dense copy."""
        return self.tostype("default")

    def toarray(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Return ``asnumpy()``, under scipy's name."""
        return self.asnumpy()

    # -- arithmetic that Python spells as methods -------------------------------------------------------

    def __neg__(self) -> Any:
        return registry.get("negative")(self)

    def __abs__(self) -> Any:
        return registry.get("abs")(self)

    def __matmul__(self, other: Any) -> Any:
        other = coerce_operand(self, other)
        return protocols.matmul(self, other) if isinstance(other, NDArray) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        other = coerce_operand(self, other)
        return protocols.matmul(other, self) if isinstance(other, NDArray) else NotImplemented

    # -- autograd -----------------------------------------------------------------------------------------

    @property
    def grad(self) -> Any:
        """The array that gradients are written to, None before ``attach_grad``."""
        return None if self._grad_info is None else self._grad_info.array


_UNUSUAL = frozenset(("out", "name", "ctx"))
"""Keywords that are neither attributes nor inputs; calls without them need no sorting out."""


def _as_input(op: Operator, value: Any) -> NDArray:
    if isinstance(value, NDArray):
        return value
    found = operand(value)
    if found is None:
        raise ArgumentTypeError(
            f"{op.name}: expected NDArray arguments, got {type(value).__name__}: {value!r:.80}"
        )
    return found  # type: ignore[no-any-return]


def reshape_codes(shape: tuple[Any, ...], given: dict[str, Any]) -> tuple[tuple[int, ...], bool]:
    """Return what ``reshape(*shape, **given)`` asks for: (sizes and codes, reverse)."""
    unknown = sorted(given.keys() - {"shape", "reverse"})
    if unknown:
        raise ArgumentTypeError(f"reshape: unknown arguments {unknown}")
    wanted = given.get("shape")
    if wanted is None:
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
    sizes = (wanted,) if isinstance(wanted, (int, np.integer)) else wanted
    return tuple(int(n) for n in sizes), bool(given.get("reverse", False))


def _rebuild(stype: str, shape: tuple[int, ...], dtype: str, data: Any, aux: Sequence[Any]) -> Any:
    """Unpickle: make the array from its parts, and check them."""
    chunk = storage_class(stype)(tuple(shape), dtype)
    chunk.take_over(data, *aux)
    return wrap(chunk)


def coerce_operand(self: NDArray, other: Any) -> Any:
    """Return ``other`` as something arithmetic accepts, or NotImplemented."""
    if isinstance(other, NDArray) or arithmetic.is_number(other):
        return other
    found = operand(other)
    return NotImplemented if found is None else found


def context_or_current(ctx: Any) -> Context:
    """Return ``ctx`` as a context, the current one for None."""
    return current_context() if ctx is None else Context(ctx)


arithmetic.install(NDArray, coerce_operand, invoke)
arithmetic.install_in_place(NDArray, coerce_operand, invoke)
register_class(NDArray, DefaultChunk)
