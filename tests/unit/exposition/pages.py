"""`/metrics` of one snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from rag_monitor.exposition.page import MetricsPage
from rag_monitor.exposition.snapshot import Snapshot


@dataclass
class Database:
    """Answers, or does not."""

    up: bool = True


def text_of(snapshot: Snapshot, *, open_metrics: bool = False) -> bytes:
    """What the leader's page says."""
    return MetricsPage(lambda: snapshot, lambda: True, Database()).page(None, open_metrics)[0]
