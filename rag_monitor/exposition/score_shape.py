"""What every outgoing form of a score has in common: its number, its label, whose it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from rag_monitor import semconv
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import PlacedScore
from rag_monitor.metrics.rag import BAD_BELOW, is_bad

PROJECT: Final = "rag_monitor.project"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def by_app(scores: Sequence[PlacedScore]) -> dict[tuple[str, str], list[PlacedScore]]:
    """Scores by project and app, both in order of appearance."""
    groups: dict[tuple[str, str], list[PlacedScore]] = defaultdict(list)
    for placed in scores:
        groups[placed.project, placed.app].append(placed)
    return groups


def resource(project: str, app: str) -> Resource:
    """The app as `service.name`, so that receivers find it where the app's own spans are."""
    return Resource(attributes=[text(semconv.SERVICE_NAME, app), text(PROJECT, project)])


def number(score: Score) -> float | None:
    """The value, where it may be trusted."""
    if score.status is not ScoreStatus.SCORED or score.value is None:
        return None
    return float(score.value)


def label(score: Score) -> str | None:
    """`pass` or `fail` where the metric has a limit, the status where there is no number."""
    if score.status is not ScoreStatus.SCORED:
        return score.status.value
    if score.flagged is None and score.metric not in BAD_BELOW:
        return None
    return "fail" if is_bad(score) else "pass"


def failure(score: Score) -> str:
    """Why a judge could not answer, as one machine word."""
    return score.reason or "failed"


def text(key: str, value: str) -> KeyValue:
    """A text attribute; what is not Unicode is replaced."""
    return KeyValue(key=key, value=AnyValue(string_value=storable(value)))


def storable(value: str) -> str:
    """Text that protobuf and JSON receivers take: lone surrogates are replaced."""
    return value.encode("utf-8", "replace").decode("utf-8")


def nanoseconds(moment: datetime) -> int:
    """Since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000
