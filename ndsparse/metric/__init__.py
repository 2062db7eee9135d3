"""Metrics: numbers that say how well predictions fit labels, summed up over batches.

``create("acc")``, ``create(["acc", "auc"])``, or ``create(function)`` make one; a metric is fed by
``update(labels, preds)`` and read by ``get()``.

==================================================  =================================================
name                                                mean over
==================================================  =================================================
``acc``, ``top_k_accuracy``, ``ce``, ``nll-loss``,  rows
``perplexity``, ``loss``, ``logloss``
``mae``, ``mse``, ``rmse``, ``pearsonr``,           batches (MXNet's way; ``average="micro"`` where
``f1``, ``mcc``                                     there is one: all rows at once)
``auc``                                             all rows at once
==================================================  =================================================
"""

from __future__ import annotations

from ndsparse.metric.base import CompositeEvalMetric, EvalMetric, check_label_shapes, create, register
from ndsparse.metric.classification import F1, MCC, Accuracy, TopKAccuracy
from ndsparse.metric.custom import CustomMetric, Loss, np
from ndsparse.metric.likelihood import CrossEntropy, LogLoss, NegativeLogLikelihood, Perplexity
from ndsparse.metric.ranking import AUC
from ndsparse.metric.regression import MAE, MSE, RMSE, PearsonCorrelation

__all__ = [
    "AUC", "F1", "MAE", "MCC", "MSE", "RMSE", "Accuracy", "CompositeEvalMetric", "CrossEntropy",
    "CustomMetric", "EvalMetric", "LogLoss", "Loss", "NegativeLogLikelihood", "PearsonCorrelation",
    "Perplexity", "TopKAccuracy", "check_label_shapes", "create", "np", "register",
]  # fmt: skip
