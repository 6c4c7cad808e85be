"""How the client asks the server: one request, when to ask again, pages, and what went wrong."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlencode

from rag_monitor.errors import RagMonitorError
from rag_monitor.i18n import Message
from rag_monitor.outbound.connection import NoAnswer, Reply
from rag_monitor.outbound.retry import LATER, Waiting, retry_after
from rag_monitor.outbound.single_requests import SingleRequests, is_address

Transport = Callable[[str, str, bytes | None, Mapping[str, str], float], Reply]
"""Method, path, body, headers and seconds to an answer; raises NoAnswer."""
PAGE: Final = 500
SESSIONS_PAGE: Final = 200
"""Of sessions, which hold their turns, the most."""
_LISTS: Final = frozenset({"items", "apps", "points", "conflicts", "incidents", "slos", "topics"})
_ELSEWHERE: Final = frozenset({301, 302, 303, 307, 308})


logger = logging.getLogger("rag_monitor.client")


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


class Requests:
    """Asks one server; `rag_monitor.client.Client` says what of. Its arguments are explained there.

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
        if not is_address(url):
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
        self._transport = transport or SingleRequests(self.url)

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
        except (ValueError, RecursionError) as error:
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

    def _pages(
        self,
        path: str,
        where: Mapping[str, Any],
        limit: int | None,
        member: str = "items",
        page_size: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        cursor = None
        left = limit
        while left is None or left > 0:
            most = page_size or PAGE
            size = most if left is None else min(most, left)
            given = {**where, "limit": size, "cursor": cursor}
            page = self._get(path, given, member)
            yield from page[member]
            cursor = page.get("next_cursor")
            if cursor is None:
                return
            goes_on = page.get("partial") or page.get("looked_back_to") is not None
            if not page[member] and not goes_on:
                raise self._strange("an empty page that is not the last")
            if left is not None:
                left -= len(page[member])

    def _all_apps(
        self, path: str, where: Mapping[str, Any], kept: Mapping[str, Any]
    ) -> dict[str, Any]:
        """All pages of an answer about apps as one; `kept` are the filters of further pages."""
        answer = self._get(path, where, "apps")
        while answer.get("next") is not None:
            # The window of the first page: one that ends now would move on.
            rest = {"from": answer["start"], "to": answer["end"], **kept}
            page = self._get(path, rest | {"cursor": answer["next"]}, "apps")
            if not page["apps"]:
                raise self._strange("an empty page that is not the last")
            answer = {**page, "apps": [*answer["apps"], *page["apps"]]}
        return answer


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
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
