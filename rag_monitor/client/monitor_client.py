"""The client that people use: one method for each thing the API tells."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from http import HTTPStatus
from itertools import islice
from typing import Any, Final, Literal, Unpack
from urllib.parse import quote

from rag_monitor.client.filters import Filters, of_sessions, of_traces
from rag_monitor.client.requests import SESSIONS_PAGE, ClientError, Requests
from rag_monitor.client.rows import (
    day_text,
    document_row,
    label_row,
    score_row,
    session_row,
    slo_row,
    topic_row,
    trace_row,
)
from rag_monitor.outbound.retry import LATER, REFUSED

FrameKind = Literal["pandas", "polars"]
Sort = Literal["time", "latency", "score"]
Order = Literal["desc", "asc"]


class Client(Requests):
    """Talks to one rag-monitor server. Safe to share between threads; holds no connection.

    Args:
        url: Where the server is, e.g. `http://127.0.0.1:8700`.
        api_key: A key with the scope `read` (and `write` for feedback), where the server needs one.
        timeout_s: Longest time for one answer, from connecting to its last byte.
        retry_s: How long a call may wait in all while the server answers "later" (429, 503). It
            waits as the server asks, else a growing time, and a little more by chance; 0: not at
            all. What must not be done twice is sent again only if nothing can have been done.
        sleep: Waits; replaced in tests.
        transport: Replaces the network, in tests.
        language: What the server is asked to tell problems in; without a translation it is English.

    Raises:
        ClientError: The address or the key cannot be one.
    """

    def traces(
        self,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        q: str | None = None,
        q_in: str | None = None,
        sort: Sort | None = None,
        order: Order | None = None,
        limit: int | None = 1000,
        as_frame: FrameKind | None = None,
        **filters: Unpack[Filters],
    ) -> Any:
        """Traces that fit, newest first; pages are followed until `limit` (None: all of them).

        Filters are those of `GET /api/v1/traces`, e.g. `tag="vip", latency_above=2000`. `q` is
        looked for in the question, or in the `answer` or the `passages` if `q_in` says so. `sort`
        is `time`, `latency` or, of `metric`, `score`; `order` is `desc` or `asc`. In a frame every
        metric has its own column `score.<metric>`.

        Raises:
            ClientError: The server refused, with its reason.
            TypeError: There is no such filter.
        """
        where = of_traces(filters, "traces") | {"from": since, "to": until}
        where |= {"q": q, "in": q_in, "sort": sort, "order": order}
        rows = list(self._pages("/api/v1/traces", where, limit))
        return rows if as_frame is None else _frame([trace_row(row) for row in rows], as_frame)

    def scores(self, *, as_frame: FrameKind | None = None, **where: Any) -> Any:
        """Every score of the traces that `traces` would give for the same arguments.

        One row per trace, metric and judge: with its judge, or the reason why there is no number.
        Asks for each trace by itself; a trace that is erased meanwhile is left out.

        Raises:
            ClientError: The server refused, with its reason.
            TypeError: An argument that `traces` does not have.
        """
        rows = []
        for trace in self.traces(**where):
            try:
                full = self.trace(trace["trace_id"])
            except ClientError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                continue
            rows += [score_row(full, score) for score in full["scores"]]
        return rows if as_frame is None else _frame(rows, as_frame)

    def trace(self, trace_id: str) -> dict[str, Any]:
        """One trace with its passages, scores, verdicts and marks.

        Raises:
            ClientError: `status` 404 when there is no such trace.
        """
        return self._get(f"/api/v1/traces/{quote(trace_id, safe='')}", {}, "trace_id")

    def sessions(
        self,
        *,
        user: str | None = None,
        resolved: bool | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        sort: Sort | None = None,
        order: Order | None = None,
        limit: int | None = 1000,
        as_frame: FrameKind | None = None,
        **filters: Unpack[Filters],
    ) -> Any:
        """Sessions with a turn that fits, newest such turn first; pages are followed until `limit`.

        Filters and orders are those of `traces`; `user` is its `user_id`. In a frame
        `session_faithfulness` has the columns `.worst` and `.mean`.

        Raises:
            ClientError: The server refused, with its reason.
            TypeError: There is no such filter.
        """
        where = {"user": user, "resolved": resolved, "from": since, "to": until}
        where |= {"sort": sort, "order": order, **of_sessions(filters)}
        rows = list(self._pages("/api/v1/sessions", where, limit, page_size=SESSIONS_PAGE))
        return rows if as_frame is None else _frame([session_row(row) for row in rows], as_frame)

    def session(self, session_id: str, *, cursor: str | None = None) -> dict[str, Any]:
        """One session with its turns in order; of a long one the newest, or those before a cursor.

        Raises:
            ClientError: `status` 404 when there is no such session.
        """
        path = f"/api/v1/sessions/{quote(session_id, safe='')}"
        return self._get(path, {"cursor": cursor}, "turns")

    def documents(
        self,
        *,
        app: str | None = None,
        knowledge_base: str | None = None,
        list_name: str | None = None,
        since: date | str | None = None,
        until: date | str | None = None,
        limit: int | None = 1000,
        as_frame: FrameKind | None = None,
    ) -> Any:
        """What became of documents, the most retrieved first; pages are followed until `limit`.

        `list_name` is `noisy`, `harmful`, `stale`, `conflicting` (pairs of documents) or
        `never_retrieved`. Days are UTC; `until` is the one after the last. In a frame every share
        has columns such as `useful.value`.

        Raises:
            ClientError: The server refused, with its reason.
        """
        where = {"app": app, "knowledge_base": knowledge_base, "list": list_name}
        where |= {"from": day_text(since), "to": day_text(until)}
        member = "conflicts" if list_name == "conflicting" else "items"
        rows = list(self._pages("/api/v1/documents", where, limit, member))
        return rows if as_frame is None else _frame([document_row(r) for r in rows], as_frame)

    def incidents(
        self,
        *,
        app: str | None = None,
        state: Literal["open", "ended"] | None = None,
        limit: int = 50,
        as_frame: FrameKind | None = None,
    ) -> Any:
        """Alerts that began together, newest first: what broke, where, and what to do next.

        A frame has one row per incident, with its story in `sentences`.
        """
        where = {"app": app, "state": state, "limit": limit}
        rows = self._get("/api/v1/incidents", where, "incidents")["incidents"]
        return rows if as_frame is None else _frame(rows, as_frame)

    def incident(self, incident_id: str) -> dict[str, Any]:
        """One incident.

        Raises:
            ClientError: `status` 404 when there is no such incident.
        """
        return self._get(f"/api/v1/incidents/{quote(incident_id, safe='')}", {}, "sentences")

    def slos(
        self,
        *,
        app: str | None = None,
        days: int | None = None,
        as_frame: FrameKind | None = None,
    ) -> Any:
        """Objectives with their error budgets over so many days (30), by app and rule.

        A frame has one row per objective, without the course of its budget.
        """
        where: dict[str, Any] = {"app": app, "days": days}
        rows: list[dict[str, Any]] = []
        while True:
            reply = self._get("/api/v1/slos", where, "slos")
            rows += reply["slos"]
            if not reply.get("next"):
                break
            where["cursor"] = reply["next"]
        return rows if as_frame is None else _frame([slo_row(row) for row in rows], as_frame)

    def summary(
        self,
        *,
        app: str | None = None,
        window: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        release: str | None = None,
        as_frame: FrameKind | None = None,
    ) -> Any:
        """Every app over a window (`24h`, `7d` …). A frame has one row per app and metric."""
        where = {"app": app, "window": window, "from": since, "to": until, "release": release}
        summary = self._all_apps("/api/v1/summary", where, {"release": release})
        if as_frame is None:
            return summary
        rows = [
            {"app": app["app"], **metric} for app in summary["apps"] for metric in app["metrics"]
        ]
        return _frame(rows, as_frame)

    def series(
        self,
        app: str,
        metric: str,
        *,
        window: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        step: str | None = None,
        release: str | None = None,
        judge: str | None = None,
        knowledge_base: str | None = None,
        as_frame: FrameKind | None = None,
    ) -> Any:
        """One metric over time. A frame has one row per step."""
        where = {
            "app": app,
            "metric": metric,
            "window": window,
            "from": since,
            "to": until,
            "step": step,
            "release": release,
            "judge": judge,
            "knowledge_base": knowledge_base,
        }
        series = self._get("/api/v1/series", where, "points")
        return series if as_frame is None else _frame(series["points"], as_frame)

    def faults(
        self,
        *,
        app: str | None = None,
        window: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        release: str | None = None,
        knowledge_base: str | None = None,
        as_frame: FrameKind | None = None,
    ) -> Any:
        """The share of each fault of every app. A frame has one row per app and fault.

        Raises:
            ClientError: The server refused, with its reason.
        """
        kept = {"release": release, "knowledge_base": knowledge_base}
        where = {"app": app, "window": window, "from": since, "to": until, **kept}
        faults = self._all_apps("/api/v1/faults", where, kept)
        if as_frame is None:
            return faults
        rows = [{"app": app["app"], **one} for app in faults["apps"] for one in app["faults"]]
        return _frame(rows, as_frame)

    def topics(
        self,
        app: str,
        *,
        window: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_frame: FrameKind | None = None,
    ) -> Any:
        """What the questions of an app are about, topics of most impact first.

        Over whole UTC days, the last seven by default. A frame has one row per topic.
        """
        where = {"app": app, "window": window, "from": since, "to": until}
        topics = self._get("/api/v1/topics", where, "topics")["topics"]
        return topics if as_frame is None else _frame([topic_row(t) for t in topics], as_frame)

    def feedback(
        self,
        trace_id: str,
        value: bool | float | str | None = None,
        *,
        scale: int | None = None,
        metric: str | None = None,
        statement: int | None = None,
        fault: str | None = None,
        comment: str | None = None,
        corrected_answer: str | None = None,
        correct_document_ids: Sequence[str] = (),
        author: str | None = None,
    ) -> dict[str, Any]:
        """Rate an answer as its user, or mark a metric or statement of it as a reviewer.

        The value is `True`, `False`, "up", "down", 0 (bad) to 1 (good), or 1 to `scale`.

        Or say what was at fault in it, in place of a value: `fault="invented"`.

        A mark without an `author` counts as often as it is sent, so after a 503 it is not sent
        again: the answer may have been lost on its way back.
        """
        body = {
            "trace_id": trace_id,
            "value": value,
            "scale": scale,
            "metric": metric,
            "statement": statement,
            "fault": fault,
            "comment": comment,
            "corrected_answer": corrected_answer,
            "correct_document_ids": list(correct_document_ids),
            "author": author,
        }
        later = REFUSED if author is None else LATER
        sent = json.dumps(body).encode()
        return self._answer("POST", "/api/v1/feedback", "trace_id", body=sent, later=later)

    def rating_agreement(
        self,
        *,
        app: str | None = None,
        window: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_frame: FrameKind | None = None,
    ) -> Any:
        """Whether low scores tell which answers users rate down, by app, metric and judge.

        `auroc` is that chance, 0.5 is none; `None` where too few answers are rated. The last seven
        days by default.

        Raises:
            ClientError: The server refused, with its reason.
        """
        where = {"app": app, "window": window, "from": since, "to": until}
        rows = self._get("/api/v1/ratings/agreement", where, "items")["items"]
        return rows if as_frame is None else _frame(rows, as_frame)

    def labels(
        self,
        *,
        app: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_frame: FrameKind | None = None,
    ) -> Any:
        """Reviewers' marks made in that time, the oldest first; `import_labels` takes them.

        Raises:
            ClientError: The server refused, with its reason; there may be more than 20,000.
        """
        where = {"app": app, "from": since, "to": until}
        rows = self._get("/api/v1/labels", where, "labels")["labels"]
        return rows if as_frame is None else _frame([label_row(row) for row in rows], as_frame)

    def import_labels(self, labels: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """Import reviewers' marks, as `labels` gives them; how many were new, how many not.

        They go 1,000 at a time. Of one such part all are imported or none; what was stored already
        stays, so that it may all be sent again.

        Raises:
            ClientError: The server refused a part, with its reason.
        """
        kept = {"imported": 0, "unchanged": 0}
        rows = iter(labels)
        while part := list(islice(rows, _LABELS_AT_ONCE)):
            sent = json.dumps({"labels": [dict(row) for row in part]}, default=_time_text).encode()
            answer = self._answer("POST", "/api/v1/labels", "imported", body=sent)
            kept = {name: count + answer[name] for name, count in kept.items()}
        return kept


_LABELS_AT_ONCE: Final = 1000


def _time_text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise ClientError("{value!r} is no value of a mark", value=value)


def _frame(rows: list[dict[str, Any]], kind: FrameKind) -> Any:
    """The rows as a frame; columns are all keys in order of appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    data = {column: [row.get(column) for row in rows] for column in columns}
    if kind not in {"pandas", "polars"}:
        raise ClientError("as_frame must be 'pandas' or 'polars', not {kind!r}", kind=kind)
    try:
        library: Any = importlib.import_module(kind)
    except ImportError:
        raise ClientError("{kind} is not installed; run `pip install {kind}`", kind=kind) from None
    return library.DataFrame(data)
