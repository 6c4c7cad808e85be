"""Counters about ourselves: what came in, what was dropped, what judging cost.

Every stage of the monitor counts here; `exposition` serves the registry. The SDK does not: it runs
inside somebody else's application and keeps its own plain counters.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

REGISTRY: Final = CollectorRegistry(auto_describe=True)
# Memory, processor time, open files and start of this process, under the names all of them have.
ProcessCollector(registry=REGISTRY)
_counter: Final = partial(Counter, registry=REGISTRY)
_gauge: Final = partial(Gauge, registry=REGISTRY)
_histogram: Final = partial(Histogram, registry=REGISTRY)

DROPPED: Final = _counter(
    "rag_monitor_dropped",
    "Things that were not processed, by stage and reason.",
    ("stage", "reason"),
)
NAMES_FOLDED: Final = _counter(
    "rag_monitor_names_folded",
    "Names in traces that were counted as `(other)`: the project has too many of their kind.",
    ("kind",),
)
STORE_DAMAGED: Final = _gauge(
    "rag_monitor_store_damaged",
    "1 while pages of the SQLite file are known to be damaged.",
)
STORE_REFUSED: Final = _counter(
    "rag_monitor_store_refused",
    "Changes that the database did not take, by reason.",
    ("reason",),
)
INGESTED_SPANS: Final = _counter(
    "rag_monitor_ingested_spans",
    "Spans acknowledged after their commit, by wire encoding.",
    ("encoding",),
)
EVALUATIONS: Final = _counter(
    "rag_monitor_evaluations",
    "Judgements asked for, by judge and how they ended.",
    ("judge", "status"),
)
JUDGE_TOKENS: Final = _counter(
    "rag_monitor_judge_tokens",
    "Tokens judges used, by direction.",
    ("judge", "direction"),
)
JUDGE_SECONDS: Final = _histogram(
    "rag_monitor_judge_seconds",
    "Wall time of one judgement.",
    ("judge",),
    buckets=tuple(0.001 * 2**n for n in range(16)),
)
JUDGE_AWAY: Final = _gauge(
    "rag_monitor_judge_away",
    "1 while the sampled judge does not answer this worker.",
    ("judge",),
)
JOB_SECONDS: Final = _histogram(
    "rag_monitor_job_seconds",
    "Wall time of one run of a scheduled job.",
    ("job",),
    buckets=tuple(0.01 * 2**n for n in range(14)),
)
JOB_FAILURES: Final = _counter(
    "rag_monitor_job_failures",
    "Runs of a scheduled job that raised.",
    ("job",),
)
QUEUE_DEPTH: Final = _gauge(
    "rag_monitor_queue_depth",
    "Things waiting, by queue.",
    ("queue",),
)
QUEUE_OLDEST: Final = _gauge(
    "rag_monitor_queue_oldest_seconds",
    "How long the oldest of what waits has been due, by queue.",
    ("queue",),
)
RULES_CHECKED_AT: Final = _gauge(
    "rag_monitor_rules_checked_timestamp_seconds",
    "When the leader last looked at all alert rules, as Unix time.",
)
HTTP_REQUESTS: Final = _counter(
    "rag_monitor_http_requests",
    "HTTP requests by method, route (its template) and status.",
    ("method", "route", "status"),
)
HTTP_SECONDS: Final = _histogram(
    "rag_monitor_http_request_duration_seconds",
    "Wall time from a request's head to the end of its answer.",
    ("method", "route"),
    buckets=tuple(0.001 * 4**n for n in range(9)),
)
NOTIFICATIONS: Final = _counter(
    "rag_monitor_notifications",
    "Notifications by channel and outcome.",
    ("channel", "outcome"),
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
