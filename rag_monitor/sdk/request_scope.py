"""What the ASGI and WSGI middleware share: which requests count, and a trace per request."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns

from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.http_body import MAX_BODY_BYTES, RequestBody
from rag_monitor.sdk.record import LiveTrace
from rag_monitor.sdk.scope import Scope, Spec, open_scope

_MAX_SEEN = 1_048_576
_IN_EVENTS = ("text/event-stream", "application/x-ndjson", "application/jsonl")
_ASKS_NOTHING = ("OPTIONS", "HEAD")
"""A browser sends OPTIONS before every call to another origin; neither has an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """Which requests are traced, and where their question and their answer are."""

    paths: Sequence[str] | None = None
    """Path prefixes that are traced; None: every POST."""
    question_keys: Sequence[str] | None = None
    """Keys of the JSON or form body, or of the address, that may hold it; first found wins. None:
    the known ones."""
    question: Callable[[bytes], str | None] | None = None
    """Or a function from the request body to the question; runs in the background."""
    answer_keys: Sequence[str] = ()
    """Keys of the JSON response, or of its events, that hold the answer; none: the known ones."""

    def wants(self, method: str, path: str) -> bool:
        """Whether a request is traced."""
        if self.paths is None:
            return method == "POST"
        if method in _ASKS_NOTHING:
            return False
        return any(path == p or path.startswith(p.rstrip("/") + "/") for p in self.paths)


class RequestScope:
    """One HTTP request as a trace: bodies by reference, parsed on the sender's thread."""

    def __init__(
        self,
        scope: Scope,
        options: RequestOptions,
        query_string: bytes,
        headers: Iterable[tuple[bytes, bytes]],
    ) -> None:
        self.scope = scope
        self._headers = headers
        self._query_string = query_string[:MAX_BODY_BYTES]
        self._options = options
        self._request: list[bytes] = []
        self._response: list[bytes] = []
        self._request_bytes = 0
        self._response_bytes = 0
        self._textual = True
        self._events = False
        self._times = array("q")
        self.status_code = 0

    def took(self, body: bytes) -> None:
        """A part of the request body."""
        if body:
            if self._request_bytes < MAX_BODY_BYTES:
                self._request.append(body[: MAX_BODY_BYTES - self._request_bytes])
            self._request_bytes += len(body)

    def begins(self, status_code: int, content_type: str, content_encoding: str = "") -> None:
        """The response's status, content type and content encoding."""
        self.status_code = status_code
        self.scope.live.body_type = content_type
        if content_encoding:
            self.scope.live.body_encoding = content_encoding.strip().lower()
        kind = content_type.partition(";")[0].strip().lower()
        self._textual = not kind or kind.startswith("text/") or "json" in kind
        self._events = kind in _IN_EVENTS
        self.scope.live.streamed = self._events

    def gave(self, body: bytes, *, more: bool) -> None:
        """A part of the response body; a second part means the answer is streamed."""
        live = self.scope.live
        if not body or live.closed:
            return
        if live.first_byte is None:
            self._time(live)
        if self._response_bytes and more:
            live.streamed = True
        if self._textual and self._response_bytes < _MAX_SEEN:
            self._response.append(bytes(body[: _MAX_SEEN - self._response_bytes]))
        self._response_bytes += len(body)

    def _time(self, live: LiveTrace) -> None:
        """The first piece stops the clock; of events the sender sees which holds text."""
        if not self._events:
            live.mark_first_byte()
        elif live.answer_parts is None and self._response_bytes < _MAX_SEEN:
            self._times.extend((self._response_bytes, perf_counter_ns()))

    def ends(self, error: BaseException | None = None, *, cancelled: bool = False) -> None:
        """The request is over. Never raises."""
        live = self.scope.live
        live.web = None
        if live.closed:  # servers close a body that has failed; it stays a failure
            return
        try:
            sure = live.explicit_question or (live.question is not None and not live.question_rank)
            if not sure and (self._request or self._query_string):
                keys = self._options.question_keys
                live.request = RequestBody(
                    b"".join(self._request),
                    self._query_string,
                    self._headers,
                    None if keys is None else tuple(keys),
                    self._options.question,
                )
                live.truncated |= self._request_bytes > MAX_BODY_BYTES
            if live.answer is None and live.answer_parts is None and self._response:
                live.body = b"".join(self._response)
                live.truncated |= self._response_bytes > _MAX_SEEN
                live.answer_keys = live.answer_keys or tuple(self._options.answer_keys)
                live.piece_times = self._times
                live.chars += len(self._times) * self._times.itemsize
            elif live.first_byte is None and self._times:  # the answer was said, not when it came
                live.first_byte = self._times[1]
            live.chars += min(self._request_bytes, MAX_BODY_BYTES)
            live.chars += min(self._response_bytes, _MAX_SEEN)
            if error is not None:
                self.scope.failed(error, "cancelled" if cancelled else None)
                return
            if cancelled:
                live.status = "cancelled"
            elif self.status_code >= 400 and live.status == "ok":
                live.http_status = self.status_code  # the sender reads the body in its light
                if self.status_code >= 500:
                    live.failed_http(self.status_code)
        except Exception as mistake:  # noqa: BLE001 - the boundary
            GUARD.report("request", mistake)
        self.scope.ended()


def open_request(
    name: str,
    options: RequestOptions,
    query_string: bytes = b"",
    web: object = None,
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> RequestScope | None:
    """Begin a trace for a request; None when nothing is recorded.

    Args:
        name: The path.
        options: Where its question and answer are.
        query_string: That of the address.
        web: The scope in which an ASGI application notes what the path gave.
        headers: Those of the request.
    """
    scope = open_scope(Spec(name=name))
    if scope is None or not scope.owner:
        return None
    scope.live.origin = "http"
    scope.live.web = web
    return RequestScope(scope, options, query_string, headers)
