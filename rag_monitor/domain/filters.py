"""What traces and sessions are found by: each filter once, with its name, its kind and its label.

The HTTP API, the client, the commands and the pages take their filters from here; how one becomes
SQL is in `store.trace_filters`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from rag_monitor.domain.fault import Fault
from rag_monitor.domain.hit import Hit
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.i18n import msgid


class HitOutcome(StrEnum):
    """How the call of a plugin or workflow ended."""

    OK = "ok"
    EMPTY = "empty"
    """It succeeded and came back with nothing."""
    FAILED = "failed"


def outcome_of(hit: Hit) -> HitOutcome:
    """How a call ended."""
    if not hit.ok:
        return HitOutcome.FAILED
    return HitOutcome.OK if hit.counts else HitOutcome.EMPTY


class QuestionLanguage(StrEnum):
    """What a question is written in, by its letters; the names are those of `language.Script`."""

    CHINESE = "zh"
    ENGLISH = "en"
    MIXED = "mixed"


class UserRating(StrEnum):
    """What users say of an answer: see `feedback.satisfaction_of`."""

    UP = "up"
    DOWN = "down"


class TraceSort(StrEnum):
    """What a list is ordered by."""

    TIME = "time"
    LATENCY = "latency"
    """To the whole answer; traces without one come last."""
    SCORE = "score"
    """Of the metric asked for; traces where that has no value come last."""


class Order(StrEnum):
    """Which end of a list comes first."""

    DESC = "desc"
    ASC = "asc"


class FilterKind(StrEnum):
    """What the value of a filter is."""

    TEXT = "text"
    CHOICE = "choice"
    METRIC = "metric"
    RATIO = "ratio"
    """A score, 0 to 1."""
    MILLISECONDS = "milliseconds"
    FLAG = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """One thing that traces can be filtered by; of several, all must hold."""

    name: str
    """The field of `TraceQuery`, and the parameter of the API and of the client."""
    label: str
    """In English, for a chip; translated."""
    help: str
    """In English, a sentence; translated."""
    kind: FilterKind = FilterKind.TEXT
    choices: type[StrEnum] | None = None
    """Of kind `choice`: what there is to choose from."""
    needs: str | None = None
    """The filter without which it means nothing."""
    on_pages: str = ""
    """Its parameter on pages and of sessions, where that is another."""

    @property
    def parameter(self) -> str:
        """Its parameter on pages and of sessions."""
        return self.on_pages or self.name


FILTERS: Final = (
    Filter(name="app", label=msgid("App"), help=msgid("Only this application.")),
    Filter(name="release", label=msgid("Release"), help=msgid("Only this release.")),
    Filter(name="environment", label=msgid("Environment"), help=msgid("Only this environment.")),
    Filter(
        name="session_id",
        label=msgid("Session"),
        help=msgid("Only traces of this session, by its id."),
    ),
    Filter(name="user_id", label=msgid("User"), help=msgid("Who asked."), on_pages="user"),
    Filter(name="tag", label=msgid("Tag"), help=msgid("Only traces with this tag.")),
    Filter(
        name="model",
        label=msgid("Model"),
        help=msgid("The model that wrote the answer, as its application names it."),
    ),
    Filter(
        name="knowledge_base",
        label=msgid("Knowledge base"),
        help=msgid("Only traces that asked this knowledge base, or hold a passage of it."),
    ),
    Filter(
        name="document",
        label=msgid("Document"),
        help=msgid("Only traces that retrieved the document with this id."),
    ),
    Filter(
        name="plugin", label=msgid("Plugin"), help=msgid("Only traces that called this plugin.")
    ),
    Filter(
        name="workflow",
        label=msgid("Workflow"),
        help=msgid("Only traces that called this workflow."),
    ),
    Filter(
        name="outcome",
        label=msgid("Call ended"),
        help=msgid(
            "How a call of the `plugin` or `workflow` ended; without one, of any: `ok`, `empty` "
            "(it came back with nothing), `failed`."
        ),
        kind=FilterKind.CHOICE,
        choices=HitOutcome,
    ),
    Filter(
        name="language",
        label=msgid("Language"),
        help=msgid("What the question is written in, by its letters."),
        kind=FilterKind.CHOICE,
        choices=QuestionLanguage,
    ),
    Filter(
        name="status",
        label=msgid("Status"),
        help=msgid("How the request ended; `error`: it failed."),
        kind=FilterKind.CHOICE,
        choices=TraceStatus,
    ),
    Filter(
        name="latency_above",
        label=msgid("Slower than"),
        help=msgid("Only traces whose whole answer took longer than so many milliseconds."),
        kind=FilterKind.MILLISECONDS,
    ),
    Filter(
        name="metric",
        label=msgid("Metric"),
        help=msgid("Only traces with a score of this metric."),
        kind=FilterKind.METRIC,
    ),
    Filter(
        name="below",
        label=msgid("Below"),
        help=msgid("With `metric`: only scores below this."),
        kind=FilterKind.RATIO,
        needs="metric",
    ),
    Filter(
        name="above",
        label=msgid("Above"),
        help=msgid("With `metric`: only scores above this."),
        kind=FilterKind.RATIO,
        needs="metric",
    ),
    Filter(
        name="fault",
        label=msgid("Fault"),
        help=msgid("What a judge found at fault; `none`: nothing."),
        kind=FilterKind.CHOICE,
        choices=Fault,
    ),
    Filter(
        name="rating",
        label=msgid("Users say"),
        help=msgid("What users said of the answer: `up` for satisfied, `down` for not."),
        kind=FilterKind.CHOICE,
        choices=UserRating,
    ),
    Filter(
        name="refused",
        label=msgid("Refused"),
        help=msgid("`true`: a judge says that the answer declines; `false`: none of them does."),
        kind=FilterKind.FLAG,
    ),
)
"""In the order shown."""
BY_NAME: Final = {one.name: one for one in FILTERS}


class SearchIn(StrEnum):
    """Which text of a trace is searched."""

    QUESTION = "question"
    """Every question that is kept, by an index."""
    ANSWER = "answer"
    """The answer or the error. Looked through, the newest traces first."""
    PASSAGES = "passages"
    """What was retrieved. Looked through as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceQuery:
    """Which traces to list, and in which order. None: no such filter; see `filters.FILTERS`."""

    project: str
    app: str | None = None
    release: str | None = None
    environment: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    tag: str | None = None
    model: str | None = None
    knowledge_base: str | None = None
    document: str | None = None
    """Id of a retrieved document."""
    plugin: str | None = None
    workflow: str | None = None
    outcome: HitOutcome | None = None
    """Of a call of the plugin and of the workflow; where neither is given, of any of them."""
    language: QuestionLanguage | None = None
    status: TraceStatus | None = None
    latency_above: float | None = None
    """Milliseconds to the whole answer."""
    metric: str | None = None
    """Only traces with a score of this metric."""
    below: float | None = None
    """With `metric`: only scores below this."""
    above: float | None = None
    """With `metric`: only scores above this; with `below`, one score must be between both."""
    fault: Fault | None = None
    rating: UserRating | None = None
    refused: bool | None = None
    """Whether a judge says that the answer declines; only traces that were asked about."""
    since: datetime | None = None
    """`started_at` at or after this."""
    until: datetime | None = None
    """`started_at` before this."""
    q: str | None = None
    """Text the trace contains, case-insensitive where the script has cases."""
    q_in: SearchIn = SearchIn.QUESTION
    """Where it is looked for; answers and passages only in order of time, newest first."""
    sort: TraceSort = TraceSort.TIME
    """By score: of `metric`, which must be given."""
    order: Order = Order.DESC
    cursor: str | None = None
    """`TracePage.next_cursor` of the page before, in the same order."""
    limit: int = 50
