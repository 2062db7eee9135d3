"""Any sequence of calls on a store, against a model that holds everything densely."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ndsparse import kvstore, nd
from ndsparse import optimizer as opt
from ndsparse.kvstore import row_slab
from ndsparse.kvstore.row_init import row_init
from ndsparse.kvstore.shard import Shard

ROWS, WIDTH = 9, 2
SHAPE = (ROWS, WIDTH)
KEYS = ("dense", "rows", "lazy")
LR, MOMENTUM, WD = 0.5, 0.5, 0.25  # binary fractions: sums are exact, whatever their order

ids_of_rows = st.lists(st.integers(0, ROWS - 1), unique=True, max_size=ROWS).map(sorted)
values = st.integers(-4, 4)
gradients = st.one_of(
    st.tuples(ids_of_rows, values),
    st.tuples(st.none(), values),
)


class Model:
    """Weights and momenta as dense arrays."""

    def __init__(self):
        first = row_init("ones", SHAPE).rows(np.arange(ROWS), WIDTH, np.float64)
        self.weights = {"dense": np.ones(SHAPE), "rows": np.zeros(SHAPE), "lazy": first}
        self.weights["rows"][4] = 3
        self.momenta = None
        self.lazy_update = True

    def set_optimizer(self, lazy_update):
        self.momenta = {key: np.zeros(SHAPE) for key in KEYS}
        self.lazy_update = lazy_update

    def push(self, key, parts):
        total, present = np.zeros(SHAPE), np.zeros(ROWS, bool)
        for ids, value in parts:
            rows = slice(None) if ids is None else np.asarray(ids, np.int64)
            total[rows] += value
            present[rows] = True
        if self.momenta is None:
            self.weights[key] = total
            return
        if not self.lazy_update:
            present[:] = True
        weight, momentum = self.weights[key], self.momenta[key]
        momentum[present] = MOMENTUM * momentum[present] - LR * (total[present] + WD * weight[present])
        weight[present] += momentum[present]


class StoreMachine(RuleBasedStateMachine):
    """A store and its model do the same."""

    @initialize()
    def create(self):
        self.sizes = row_slab._FIRST_ROWS, row_slab._LARGE_CHUNK
        row_slab._FIRST_ROWS, row_slab._LARGE_CHUNK = 2, 32
        self.model = Model()
        self.kv = kvstore.create("local")
        self.kv.init("dense", nd.ones(SHAPE, dtype="float64"))
        rows = nd.sparse.row_sparse_array((np.full((1, WIDTH), 3.0), [4]), shape=SHAPE)
        self.kv.init("rows", rows.astype("float64"))
        self.kv.init_rows("lazy", SHAPE, "float64", initializer="ones")
        self.pushes = 0

    def teardown(self):
        row_slab._FIRST_ROWS, row_slab._LARGE_CHUNK = self.sizes

    @precondition(lambda self: self.model.momenta is None or self.pushes % 3 == 2)
    @rule(lazy_update=st.booleans())
    def set_optimizer(self, lazy_update):
        optimizer = opt.create("sgd", learning_rate=LR, momentum=MOMENTUM, wd=WD, lazy_update=lazy_update)
        if self.model.momenta is None:
            self.model.set_optimizer(lazy_update)
        else:
            self.model.lazy_update = lazy_update  # the same columns: their values stay
        self.kv.set_optimizer(optimizer)

    @rule(key=st.sampled_from(KEYS), parts=st.lists(gradients, min_size=1, max_size=3))
    def push(self, key, parts):
        self.pushes += 1
        arrays = []
        for ids, value in parts:
            if ids is None:
                arrays.append(nd.full(SHAPE, value, dtype="float64"))
            else:
                data = np.full((len(ids), WIDTH), value, np.float64)
                arrays.append(nd.sparse.row_sparse_array((data, ids), shape=SHAPE))
        self.kv.push(key, arrays if len(arrays) > 1 else arrays[0])
        self.model.push(key, parts)

    @rule(key=st.sampled_from(KEYS), ids=st.lists(st.integers(0, ROWS - 1), max_size=12))
    def pull_rows(self, key, ids):
        out = nd.sparse.zeros("row_sparse", SHAPE, dtype="float64")
        self.kv.row_sparse_pull(key, out, row_ids=nd.array(ids, dtype="int64"))
        unique = sorted(set(ids))
        np.testing.assert_array_equal(out.indices.asnumpy(), unique)
        np.testing.assert_array_equal(out.data.asnumpy(), self.model.weights[key][unique])

    @rule()
    def restart(self):
        with tempfile.TemporaryDirectory() as folder:
            self.kv.shard.snapshot(Path(folder) / "shard")
            self.kv.shard = Shard.restore(Path(folder) / "shard")

    @rule(key=st.sampled_from(KEYS))
    def pull_sparse(self, key):
        out = nd.sparse.zeros("row_sparse", SHAPE, dtype="float64")
        self.kv.pull(key, out, ignore_sparse=False)
        out.check_format()
        np.testing.assert_array_equal(out.asnumpy(), self.model.weights[key])

    @invariant()
    def weights_agree(self):
        for key in KEYS if hasattr(self, "kv") else ():
            out = nd.zeros(SHAPE, dtype="float64")
            self.kv.pull(key, out)
            np.testing.assert_array_equal(out.asnumpy(), self.model.weights[key])


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
