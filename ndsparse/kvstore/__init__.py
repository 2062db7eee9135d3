"""Key-value stores: weights, those who push gradients to them, and those who pull them.

``create("local")`` makes one in this process.  Below it lie the parts that a distributed store will
host too: :class:`Shard` (pushes exactly once, rounds, snapshots), :class:`RowSlab` (rows by hash) and
:class:`RowInit` (what a row is before it is written).
"""

from ndsparse._root_alias import guard

guard(__name__)

from ndsparse.kvstore import local
from ndsparse.kvstore.base import KVStore, create, register_store
from ndsparse.kvstore.row_init import RowInit, row_init
from ndsparse.kvstore.row_slab import RowSlab
from ndsparse.kvstore.shard import SequenceGap, Shard

__all__ = [
    "KVStore",
    "RowInit",
    "RowSlab",
    "SequenceGap",
    "Shard",
    "create",
    "local",
    "register_store",
    "row_init",
]
