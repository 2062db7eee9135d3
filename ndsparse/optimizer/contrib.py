"""Optimizers that MXNet keeps under ``optimizer.contrib``."""

from ndsparse.optimizer.group_adagrad import GroupAdaGrad

__all__ = ["GroupAdaGrad"]
