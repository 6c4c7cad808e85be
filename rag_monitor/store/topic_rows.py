"""Sums of topics and what is known of them as rows, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from rag_monitor.domain.topic import Topic, TopicSums

_SUMS: Final = tuple(field.name for field in fields(TopicSums))


def dump_sums(sums: TopicSums) -> dict[str, Any]:
    """The column `sums` of `topic_days`, without what is nought."""
    return {name: value for name in _SUMS if (value := getattr(sums, name))}


def load_sums(dumped: Mapping[str, Any]) -> TopicSums:
    """A row's sums."""
    given = dict(dumped)
    faults = Counter(given.pop("faults", {}))
    latencies = {int(bucket): count for bucket, count in given.pop("latencies", {}).items()}
    return TopicSums(**given, faults=faults, latencies=Counter(latencies))


def load_topic(row: Any) -> Topic:
    """A row of `topics`, without what it is known by."""
    return Topic(id=row.id, name=row.name, first_seen=row.first_seen, last_seen=row.last_seen)


def dump_terms(counts: Mapping[int, float]) -> dict[str, float]:
    """Counts of terms by their number; JSON has text as keys only."""
    return {str(term): round(count, 2) for term, count in counts.items()}


def load_terms(dumped: Mapping[str, float]) -> dict[int, float]:
    """As they were."""
    return {int(term): count for term, count in dumped.items()}
