"""From the names of a store and an optimizer to weights that are ready to be updated."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ndsparse import kvstore as kvstores
from ndsparse import optimizer as optimizers
from ndsparse.errors import ArgumentError, ArgumentTypeError
from ndsparse.executor.symbol import Symbol
from ndsparse.kvstore import KVStore
from ndsparse.model import Params
from ndsparse.module.executor_group import ExecutorGroup
from ndsparse.module.weights import LocalWeights, StoreWeights


class Plan(NamedTuple):
    """What it takes to set up updates."""

    symbol: Symbol
    group: ExecutorGroup
    args: Params
    compression: Mapping[str, Any] | None
    logger: Any

    def carry_out(
        self, kvstore: Any, optimizer: Any, params: Any, keep_rows_in_store: bool
    ) -> tuple[Any, LocalWeights | StoreWeights]:
        """Make the store and the optimizer, put the weights where they belong, and return both."""
        sparse = [n for n, a in self.args.items() if a.stype == "row_sparse"]
        store = self._make_store(kvstore, bool(sparse) and keep_rows_in_store)
        on_store = store is not None and _updates_on_store(store, bool(sparse))
        rows = self.group.rows
        if store is not None and "dist" in store.type and "_sync" in store.type:
            rows *= store.num_workers
        made = self._make_optimizer(optimizer, params, 1.0 / max(rows, 1), on_store)
        if store is not None and on_store:
            return made, self._into_store(store, made, sparse)
        if store is not None:
            store.init(list(self.args), list(self.args.values()))
        return made, LocalWeights(optimizers.get_updater(made), list(self.args), store)

    def _make_store(self, kvstore: Any, keep_rows: bool) -> KVStore | None:
        several = len(self.group.bound) > 1
        if kvstore is None:
            if several:
                raise ArgumentError("init_optimizer: several contexts need a kvstore to sum their gradients")
            return None
        if isinstance(kvstore, KVStore):
            return kvstore
        if not isinstance(kvstore, str):
            raise ArgumentTypeError(f"kvstore: expected a name, a KVStore or None, got {kvstore!r}")
        made = kvstores.create(kvstore)  # refuses unknown names, also where no store is needed
        return made if several or "dist" in kvstore or keep_rows else None

    def _make_optimizer(self, optimizer: Any, params: Any, scale: float, on_store: bool) -> Any:
        step = 1 if on_store else len(self.group.bound)
        names = {i * step + k: n for i, n in enumerate(self.args) for k in range(step)}
        if isinstance(optimizer, str):
            numbers = {"rescale_grad": scale, **_numbers(params)}
            return optimizers.create(optimizer, sym=self.symbol, param_idx2name=names, **numbers)
        if not isinstance(optimizer, optimizers.Optimizer):
            raise ArgumentTypeError(f"optimizer: expected a name or an Optimizer, got {optimizer!r}")
        if optimizer.rescale_grad != scale:
            self.logger.warning(
                "Optimizer created manually outside Module but rescale_grad is not normalized to "
                "1.0/batch_size/num_workers (%s vs. %s). Is this intended?",
                optimizer.rescale_grad,
                scale,
            )
        if not optimizer.idx2name:
            optimizer.idx2name = names
        return optimizer

    def _into_store(self, store: KVStore, optimizer: Any, sparse: Sequence[str]) -> StoreWeights:
        if self.compression:
            store.set_gradient_compression(dict(self.compression))
        store.set_optimizer(optimizer)
        for name, value in self.args.items():
            store.init(name, value)
            if name not in sparse:
                store.pull(name, out=self.group.weights(name))
        kept = StoreWeights(store, list(self.args), sparse)
        kept.release(self.group)
        return kept


def _updates_on_store(store: KVStore, sparse: bool) -> bool:
    if not store.is_capable("optimizer"):
        if sparse:
            raise ArgumentError(f"row_sparse weights need a store with an optimizer; {store.type!r} has none")
        return False
    return sparse or os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1") != "0"


def _numbers(params: Any) -> dict[str, Any]:
    try:
        return dict(params or {})
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"optimizer_params: expected a dict or pairs of names and values, got {params!r:.80}"
        ) from None
