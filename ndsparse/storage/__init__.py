"""Storage types: how the elements of an array lie in memory.

One file a storage type; :mod:`ndsparse.storage.chunk` has what they share (buffers, capacities,
``check_and_alloc``) and the registry, :mod:`ndsparse.storage.cast` the conversions.
"""

from ndsparse.storage.cast import cast, converted
from ndsparse.storage.chunk import Chunk, as_dtype, as_shape, register, storage_class, storage_types
from ndsparse.storage.csr import CSRChunk
from ndsparse.storage.default import DefaultChunk
from ndsparse.storage.row_sparse import RowSparseChunk

__all__ = [
    "CSRChunk",
    "Chunk",
    "DefaultChunk",
    "RowSparseChunk",
    "as_dtype",
    "as_shape",
    "cast",
    "converted",
    "register",
    "storage_class",
    "storage_types",
]
