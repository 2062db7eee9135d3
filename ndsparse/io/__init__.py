"""Reading and writing data files, and the iterators that feed training (``mx.io``)."""

from __future__ import annotations

from ndsparse.io.array_iter import NDArrayIter
from ndsparse.io.csv_iter import CSVIter
from ndsparse.io.data import DataBatch, DataDesc, DataIter
from ndsparse.io.libsvm_arrays import read_libsvm, write_libsvm
from ndsparse.io.libsvm_iter import LibSVMIter
from ndsparse.io.wrappers import PrefetchingIter, ResizeIter

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "LibSVMIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
    "read_libsvm",
    "write_libsvm",
]
