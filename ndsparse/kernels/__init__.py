"""Kernels: numba functions over arrays and scalars.  They know no storage types.

Conventions, so that a kernel is compiled for few types:

* arrays come C-contiguous and in native byte order, values float32 or float64 (integers as int64),
  index arrays int32 or int64; :mod:`ndsparse.kernels.border` makes them so;
* a kernel that works on a range takes ``(begin, end, ...)`` first, so that
  :func:`ndsparse.kernels.threads.run_blocks` can share it among threads;
* loops over a range cut it out first (``x = array[begin:end]``, then ``range(x.shape[0])``): with
  ``array[i]`` for ``i`` in ``range(begin, end)`` numba must allow for negative ``i``, and the loop is
  not vectorised (four times slower on contiguous float64);
* count, allocate, fill: kernels never grow an array.
"""
