"""Read traces and scores back over HTTP, as dicts or as data frames.

    from rag_monitor.client import Client

    with Client("http://127.0.0.1:8700") as monitor:
        bad = monitor.traces(metric="faithfulness", below=0.5, as_frame="pandas")

Needs only the standard library; pandas or polars are imported when a frame is asked for.
"""

from __future__ import annotations

import importlib
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Literal, Self
from urllib.parse import quote, urlencode, urlsplit

from rag_monitor.client_rows import score_row, topic_row, trace_row
from rag_monitor.errors import RagMonitorError
from rag_monitor.i18n import Message
from rag_monitor.outbound.connection import Connection, Deadline, NoAnswer, Reply
from rag_monitor.outbound.proxies import basic, proxy_for
from rag_monitor.outbound.retry import LATER, REFUSED, Waiting, retry_after

FrameKind = Literal["pandas", "polars"]
Transport = Callable[[str, str, bytes | None, Mapping[str, str], float], Reply]
"""Method, path, body, headers and seconds to an answer; raises NoAnswer."""
PAGE: Final = 500
_LISTS: Final = frozenset({"items", "apps", "points", "topics"})
_ELSEWHERE: Final = frozenset({301, 302, 303, 307, 308})

logger = logging.getLogger(__name__)


class ClientError(RagMonitorError):
    """The server refused the request, or does not answer."""

    def __init__(
        self,
        text: str,
        /,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        **params: object,
    ) -> None:
        super().__init__(text, **params)
        self.status = status
        """HTTP status; None when there was no answer at all."""
        self.retry_after_s = retry_after_s
        """Seconds the server asked to wait before the next try; None when it asked for none."""


class Client:
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

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        timeout_s: float = 30.0,
        retry_s: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
        transport: Transport | None = None,
        language: str = "en",
    ) -> None:
        if not _is_address(url):
            raise ClientError("{url!r} is not an http:// or https:// address", url=url)
        self.url = url.rstrip("/")
        """Where the server is, without a slash at its end."""
        self._headers = {"Accept": "application/json", "User-Agent": "rag-monitor-client"}
        if language != "en":
            self._headers["Accept-Language"] = language
        if api_key is not None:
            self._headers["X-API-Key"] = _header(api_key)
        self._timeout_s = timeout_s
        self._retry_s = retry_s
        self._sleep = sleep
        self._transport = transport or _Network(self.url)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is held open; here so that `with` reads well."""

    def traces(
        self,
        *,
        app: str | None = None,
        release: str | None = None,
        user_id: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        metric: str | None = None,
        below: float | None = None,
        status: str | None = None,
        q: str | None = None,
        q_in: str | None = None,
        limit: int | None = 1000,
        as_frame: FrameKind | None = None,
    ) -> Any:
        """Traces, newest first; pages are followed until `limit` (None: all of them).

        `q` is looked for in the question, or in the `answer` or the `passages` if `q_in` says so.
        In a frame every metric has its own column `score.<metric>`.

        Raises:
            ClientError: The server refused, with its reason.
        """
        where = {
            "app": app,
            "release": release,
            "user_id": user_id,
            "from": since,
            "to": until,
            "metric": metric,
            "below": below,
            "status": status,
            "q": q,
            "in": q_in,
        }
        rows = list(self._pages(where, limit))
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

    def _pages(self, where: Mapping[str, Any], limit: int | None) -> Iterator[dict[str, Any]]:
        cursor = None
        left = limit
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            given = {**where, "limit": size, "cursor": cursor}
            page = self._get("/api/v1/traces", given, "items")
            yield from page["items"]
            cursor = page.get("next_cursor")
            if cursor is None:
                return
            if not page["items"] and page.get("looked_back_to") is None:
                raise self._strange("an empty page that is not the last")
            if left is not None:
                left -= len(page["items"])

    def trace(self, trace_id: str) -> dict[str, Any]:
        """One trace with its passages, scores, verdicts and marks.

        Raises:
            ClientError: `status` 404 when there is no such trace.
        """
        return self._get(f"/api/v1/traces/{quote(trace_id, safe='')}", {}, "trace_id")

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
        summary = self._get("/api/v1/summary", where, "apps")
        while summary.get("next") is not None:
            # The window of the first page: one that ends now would move on.
            rest = {"from": summary["start"], "to": summary["end"], "release": release}
            page = self._get("/api/v1/summary", rest | {"cursor": summary["next"]}, "apps")
            if not page["apps"]:
                raise self._strange("an empty page that is not the last")
            summary = {**page, "apps": [*summary["apps"], *page["apps"]]}
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
        value: float,
        *,
        metric: str | None = None,
        statement: int | None = None,
        comment: str | None = None,
        author: str | None = None,
    ) -> dict[str, Any]:
        """Mark a trace (or one metric, or one statement of it): 0 is bad, 1 is good.

        A mark without an `author` counts as often as it is sent, so after a 503 it is not sent
        again: the answer may have been lost on its way back.
        """
        body = {
            "trace_id": trace_id,
            "value": value,
            "metric": metric,
            "statement": statement,
            "comment": comment,
            "author": author,
        }
        later = REFUSED if author is None else LATER
        sent = json.dumps(body).encode()
        return self._answer("POST", "/api/v1/feedback", "trace_id", body=sent, later=later)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        query: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """Send one request, once, and give its answer whatever its status is.

        Args:
            method: `GET` and so on.
            path: From `/api` on.
            body: JSON; None: there is none.
            query: Parameters of the path.
            timeout_s: Replaces that of the client.

        Raises:
            NoAnswer: There is none, or not all of it in time.
        """
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        where = f"{path}?{urlencode(query)}" if query else path
        return self._transport(method, where, body, headers, timeout_s or self._timeout_s)

    def _get(self, path: str, where: Mapping[str, Any], member: str) -> dict[str, Any]:
        given = {k: _text(v) for k, v in where.items() if v is not None}
        return self._answer("GET", path, member, query=given)

    def _answer(
        self,
        method: str,
        path: str,
        member: str,
        *,
        body: bytes | None = None,
        query: Mapping[str, str] | None = None,
        later: frozenset[int] = LATER,
    ) -> dict[str, Any]:
        """The answer, an object with at least this member; `later` are answers to try again."""
        waiting = Waiting(self._retry_s)
        while True:
            try:
                reply = self.send(method, path, body, query=query)
            except NoAnswer as error:
                raise ClientError(
                    "{url} does not answer ({reason}); is `rag-monitor serve` running there?",
                    url=self.url,
                    reason=error,
                ) from error
            if reply.ok:
                return self._content(reply, member)
            wait_s = retry_after(reply.headers.get("retry-after"))
            refusal = ClientError(_reason(reply), status=reply.status, retry_after_s=wait_s)
            if reply.status not in later:
                raise refusal
            pause = waiting.next_pause_s(wait_s)
            if pause is None:
                raise self._gave_up(refusal, waiting)
            self._sleep(pause)

    def _content(self, reply: Reply, member: str) -> dict[str, Any]:
        try:
            content: dict[str, Any] = json.loads(reply.body)
        except ValueError as error:
            raise self._strange(Message("something that is not JSON")) from error
        if not _holds(content, member):
            raise self._strange(Message("JSON of another shape"))
        for hint in content.get("hints") or ():
            logger.warning("%s", hint)
        return content

    def _gave_up(self, error: ClientError, waiting: Waiting) -> ClientError:
        """The last refusal, with what was tried."""
        retry_after_s = error.retry_after_s
        more = Message(", and it asks to wait {seconds:g} s more", seconds=retry_after_s or 0.0)
        return ClientError(
            "{reason}; asked {times}{wish} (retry_s={retry_s:g})",
            status=error.status,
            retry_after_s=retry_after_s,
            reason=error,
            times=waiting.times,
            wish="" if retry_after_s is None else more,
            retry_s=self._retry_s,
        )

    def _strange(self, what: str) -> ClientError:
        return ClientError(
            "{url} answered with {what}; is it rag-monitor?", url=self.url, what=what
        )


class _Network:
    """Each request over a connection of its own, so that threads can share a client."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._scheme = parts.scheme
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._prefix = parts.path
        user = basic(parts.username, parts.password)
        self._headers = {"Connection": "close"} | ({} if user is None else {"Authorization": user})

    def __call__(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout_s: float,
    ) -> Reply:
        """The answer; a redirect is one: following it could carry the key to somebody else."""
        proxy = proxy_for(self._scheme, self._host)
        tls = self._scheme == "https"
        with closing(Connection(self._host, self._port, tls=tls, proxy=proxy)) as connection:
            return connection.request(
                method,
                self._prefix + path,
                body,
                {**headers, **self._headers},
                deadline=Deadline(timeout_s),
            )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _header(key: str) -> str:
    """The key without the blanks and newlines of the file it was read from."""
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        raise ClientError("the api_key holds characters that no key has; copy it again")
    return key


def _holds(content: object, member: str) -> bool:
    """Whether an answer is an object with the member; one that names many is a list of objects."""
    if not isinstance(content, dict) or member not in content:
        return False
    if member not in _LISTS:
        return True
    items = content[member]
    return isinstance(items, list) and all(isinstance(item, dict) for item in items)


def _reason(reply: Reply) -> str:
    if reply.status in _ELSEWHERE:
        target = reply.headers.get("location", "")[:300] or Message("elsewhere")
        return Message(
            "it sends on to {target}; give the address it ends at (HTTP {status})",
            target=target,
            status=reply.status,
        )
    reason = problem_of(reply) or reply.reason
    return Message("{reason} (HTTP {status})", reason=reason, status=reply.status)


def problem_of(reply: Reply) -> str | None:
    """What the problem JSON of an answer says; None where it holds none."""
    try:
        problem = json.loads(reply.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(problem, dict):
        return None
    texts = (problem.get(key) for key in ("detail", "title", "message"))
    return next((str(text) for text in texts if text), None)


def _text(value: object) -> str:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ClientError(
                "{value!r} has no time zone; use datetime(..., tzinfo=timezone.utc)", value=value
            )
        return value.isoformat()
    return str(value)


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
