"""Optimizers: how a weight follows its gradient.

``create("adam", learning_rate=0.01)`` makes one by name; docs/optimizers.md tells what each does to
rows that a gradient does not hold.
"""

from ndsparse.optimizer import contrib
from ndsparse.optimizer.adagrad import AdaGrad
from ndsparse.optimizer.adam import Adam
from ndsparse.optimizer.adamw import AdamW
from ndsparse.optimizer.base import Optimizer, StateColumn, create, register
from ndsparse.optimizer.ftrl import Ftrl
from ndsparse.optimizer.group_adagrad import GroupAdaGrad
from ndsparse.optimizer.nag import NAG
from ndsparse.optimizer.rmsprop import RMSProp
from ndsparse.optimizer.schedule import LRScheduler
from ndsparse.optimizer.sgd import SGD
from ndsparse.optimizer.updater import Updater, get_updater

__all__ = [
    "NAG",
    "SGD",
    "AdaGrad",
    "Adam",
    "AdamW",
    "Ftrl",
    "GroupAdaGrad",
    "LRScheduler",
    "Optimizer",
    "RMSProp",
    "StateColumn",
    "Updater",
    "contrib",
    "create",
    "get_updater",
    "register",
]
