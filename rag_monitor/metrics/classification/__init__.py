"""Confusion matrices and what follows from them, for any labels."""

from rag_monitor.metrics.classification.confusion import (
    BinaryCounts,
    ConfusionMatrix,
    confusion_matrix,
)

__all__ = ["BinaryCounts", "ConfusionMatrix", "confusion_matrix"]
