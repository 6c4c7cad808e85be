"""Counters about ourselves: what came in, what was dropped, what judging cost.

Every stage of the monitor counts here; `exposition` serves the registry. The SDK does not: it runs
inside somebody else's application and keeps its own plain counters.
"""

from __future__ import annotations

import contextlib
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

REGISTRY: Final = CollectorRegistry(auto_describe=True)
# Memory, processor time, open files and start of this process, under the names all of them have.
ProcessCollector(registry=REGISTRY)

DROPPED: Final = Counter(
    "rag_monitor_dropped",
    "Things that were not processed, by stage and reason.",
    ("stage", "reason"),
    registry=REGISTRY,
)
NAMES_FOLDED: Final = Counter(
    "rag_monitor_names_folded",
    "Names in traces that were counted as `(other)`: the project has too many of their kind.",
    ("kind",),
    registry=REGISTRY,
)
STORE_DAMAGED: Final = Gauge(
    "rag_monitor_store_damaged",
    "1 while pages of the SQLite file are known to be damaged.",
    registry=REGISTRY,
)
STORE_REFUSED: Final = Counter(
    "rag_monitor_store_refused",
    "Changes that the database did not take, by reason.",
    ("reason",),
    registry=REGISTRY,
)
INGESTED_SPANS: Final = Counter(
    "rag_monitor_ingested_spans",
    "Spans acknowledged after their commit, by wire encoding.",
    ("encoding",),
    registry=REGISTRY,
)
EVALUATIONS: Final = Counter(
    "rag_monitor_evaluations",
    "Judgements asked for, by judge and how they ended.",
    ("judge", "status"),
    registry=REGISTRY,
)
JUDGE_TOKENS: Final = Counter(
    "rag_monitor_judge_tokens",
    "Tokens judges used, by direction.",
    ("judge", "direction"),
    registry=REGISTRY,
)
JUDGE_SECONDS: Final = Histogram(
    "rag_monitor_judge_seconds",
    "Wall time of one judgement.",
    ("judge",),
    buckets=tuple(0.001 * 2**n for n in range(16)),
    registry=REGISTRY,
)
JUDGE_AWAY: Final = Gauge(
    "rag_monitor_judge_away",
    "1 while the sampled judge does not answer this worker.",
    ("judge",),
    registry=REGISTRY,
)
JOB_SECONDS: Final = Histogram(
    "rag_monitor_job_seconds",
    "Wall time of one run of a scheduled job.",
    ("job",),
    buckets=tuple(0.01 * 2**n for n in range(14)),
    registry=REGISTRY,
)
JOB_FAILURES: Final = Counter(
    "rag_monitor_job_failures",
    "Runs of a scheduled job that raised.",
    ("job",),
    registry=REGISTRY,
)
QUEUE_DEPTH: Final = Gauge(
    "rag_monitor_queue_depth",
    "Things waiting, by queue.",
    ("queue",),
    registry=REGISTRY,
)
QUEUE_OLDEST: Final = Gauge(
    "rag_monitor_queue_oldest_seconds",
    "How long the oldest of what waits has been due, by queue.",
    ("queue",),
    registry=REGISTRY,
)
RULES_CHECKED_AT: Final = Gauge(
    "rag_monitor_rules_checked_timestamp_seconds",
    "When the leader last looked at all alert rules, as Unix time.",
    registry=REGISTRY,
)
HTTP_REQUESTS: Final = Counter(
    "rag_monitor_http_requests",
    "HTTP requests by method, route (its template) and status.",
    ("method", "route", "status"),
    registry=REGISTRY,
)
HTTP_SECONDS: Final = Histogram(
    "rag_monitor_http_request_duration_seconds",
    "Wall time from a request's head to the end of its answer.",
    ("method", "route"),
    buckets=tuple(0.001 * 4**n for n in range(9)),
    registry=REGISTRY,
)
NOTIFICATIONS: Final = Counter(
    "rag_monitor_notifications",
    "Notifications by channel and outcome.",
    ("channel", "outcome"),
    registry=REGISTRY,
)


def dropped(stage: str, reason: str, count: int = 1) -> None:
    """Count `count` things that `stage` gave up, for `reason` (both from fixed lists)."""
    DROPPED.labels(stage=stage, reason=reason).inc(count)


def waiting(queue: str, depth: int, oldest_s: float) -> None:
    """Say how many things wait in a queue, and for how long the oldest has."""
    QUEUE_DEPTH.labels(queue=queue).set(depth)
    QUEUE_OLDEST.labels(queue=queue).set(oldest_s)


def not_waiting(queue: str) -> None:
    """Say no more of a queue: it is not known, and an old figure would pass for a new one."""
    for gauge in (QUEUE_DEPTH, QUEUE_OLDEST):
        with contextlib.suppress(KeyError):  # nothing was said of it yet
            gauge.remove(queue)
