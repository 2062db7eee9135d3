"""Asking for memory ahead of its use.

Rows picked at random from a large array miss every cache, and the processor does not see the next
row coming while it waits for this one.  Asking for a row a few steps ahead takes that wait away
(measured: a lazy SGD of 10,000 rows in 1M x 64, 1.1 to 0.26 ms where the rows were not cached).

The instruction is made by an intrinsic, which must be built after numba is imported, hence late:
:class:`Intrinsic` is a kernel whose dispatcher is the intrinsic.  Its plain twin does nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ndsparse.kernels.jit import Kernel, kernel

AHEAD = 8
"""How many rows ahead to ask for: enough to cover a miss, few enough to stay in the first cache."""


class Intrinsic(Kernel):
    """A kernel that is an instruction of the processor; ``make`` builds numba's intrinsic."""

    def __init__(self, twin: Callable[..., Any], make: Callable[[], Callable[..., Any]]) -> None:
        super().__init__(twin, {})
        self._make = make

    def dispatcher(self) -> Callable[..., Any]:
        """Return the intrinsic, or the twin where numba compiles nothing."""
        if self._dispatcher is None:
            from numba import config

            self._dispatcher = self.python if config.DISABLE_JIT else self._make()
        return self._dispatcher


def _nothing(array: Any, at: Any) -> None:
    """Do nothing."""


def _nothing_to_read(array: Any, at: Any) -> None:
    """Do nothing."""


def _make_prefetch(write: int) -> Callable[..., Any]:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    def prefetch(typing_context: Any, array: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            struct = make_array(signature.args[0])(context, builder, args[0])
            pointer = builder.gep(struct.data, [args[1]])
            byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0i8"
            )
            # for writing or not, keep in all caches (3), data (1)
            builder.call(function, [builder.bitcast(pointer, byte), word(write), word(3), word(1)])
            return context.get_dummy_value()

        return types.void(array, types.int64), generate

    made: Callable[..., Any] = intrinsic(prefetch)
    return made


prefetch: Any = Intrinsic(_nothing, functools.partial(_make_prefetch, 1))
"""``prefetch(array, at)``: ask for the cache line of the element at flat position ``at`` (C order).

The line will be written: other cores lose it.
"""

prefetch_read: Any = Intrinsic(_nothing_to_read, functools.partial(_make_prefetch, 0))
"""The same for a line that will only be read, and that other cores may be reading too."""


@kernel
def prefetch_row(array: Any, row: Any) -> None:
    """Ask for all of a row (a line holds 16 elements of float32; the first 4 kB are enough)."""
    width = array.shape[1]
    for column in range(0, min(width, 1024), 16):
        prefetch(array, row * width + column)
