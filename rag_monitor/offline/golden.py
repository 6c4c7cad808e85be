"""Golden questions: asks a live endpoint labelled questions and keeps its answers as traces."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx

from rag_monitor.errors import ConfigurationError, MalformedPayload
from rag_monitor.i18n import Message, msgid
from rag_monitor.offline.labelled import check_kinds
from rag_monitor.offline.rows import BadRow, read_rows
from rag_monitor.sdk.text import is_beside

TAG: Final = "golden"
_ANSWERS: Final = ("answer", "response", "output", "text", "content", "data.answer", "result")
_CONTEXTS: Final = ("contexts", "sources", "retrieved_contexts", "documents", "passages")
_DELTAS: Final = ("delta", "answer", "token", "text", "content", "choices.0.delta.content")
_KEPT: Final = ("reference", "key_points", "relevant_ids", "expected", "knowledge_base", "query")
_LARGEST: Final = 8 * 2**20
_END: Final = "[DONE]"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOptions:
    """How an application's endpoint is asked and read."""

    url: str
    question_field: str = "question"
    """Where the question goes in the request body; dots reach into objects."""
    answer_field: str | None = None
    """Where the answer is in the reply (or in each event of a stream); None tries usual names."""
    contexts_field: str | None = None
    """Where the passages are; None tries usual names, absent means unknown."""
    history_field: str | None = None
    """Where the turns before a question go, as messages with `role` and `content`; None: nowhere,
    questions are asked alone."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of every request."""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 60.0


@dataclass(slots=True)
class Answer:
    """What an endpoint said to one question."""

    text: str | None = None
    contexts: list[Any] | None = None
    error: str | None = None
    streamed: bool = False
    first_byte_ms: float | None = None
    end_to_end_ms: float | None = None


class Endpoint:
    """A live application over HTTP: JSON in; JSON, plain text or server-sent events out.

    Args:
        options: How to ask and read.
        transport: Replaces the network, for tests.

    Raises:
        ConfigurationError: The address is not an HTTP URL.
    """

    def __init__(
        self, options: EndpointOptions, transport: httpx.BaseTransport | None = None
    ) -> None:
        if not options.url.startswith(("http://", "https://")):
            raise ConfigurationError(
                "--endpoint must begin with http:// or https://, not {url!r}", url=options.url
            )
        self._options = options
        where = httpx.URL(options.url)
        # As it may be told: a password or a key in the address is nobody else's.
        self._place = f"{where.scheme}://{where.netloc.decode()}{where.path}"
        self._http = httpx.Client(
            timeout=options.timeout_s,
            transport=transport,
            trust_env=httpx.URL(options.url).host not in ("127.0.0.1", "localhost", "::1"),
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ask(self, question: str, history: Sequence[Mapping[str, Any]] = ()) -> Answer:
        """One question, after the turns before it if the endpoint takes them.

        Whatever goes wrong becomes `Answer.error`, never an exception.
        """
        began = time.monotonic()
        answer = Answer()
        try:
            with self._http.stream(
                "POST",
                self._options.url,
                json=self._body(question, history),
                headers={
                    "accept": "application/json, text/event-stream, text/plain",
                    **self._options.headers,
                },
            ) as reply:
                self._read(reply, answer, began)
        except httpx.TimeoutException:
            answer.error = Message(
                "no answer within {seconds:g} s", seconds=self._options.timeout_s
            )
        except httpx.ConnectError as error:
            answer.error = Message(
                "nobody answers at {url} ({reason}); is the application running?",
                url=self._place,
                reason=_error_text(error),
            )
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            answer.error = Message(
                "the connection to {url} broke off ({reason})",
                url=self._place,
                reason=_error_text(error),
            )
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            answer.error = f"{type(error).__name__}: {error}"
        except (ValueError, RecursionError) as error:
            answer.error = Message("cannot be read: {reason}", reason=error)
        answer.end_to_end_ms = (time.monotonic() - began) * 1000
        return answer

    def history_of(self, row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The turns before the row's question, where the endpoint is told of any."""
        given = row.get("history")
        if self._options.history_field is None or not isinstance(given, list):
            return []
        return [turn for turn in given if isinstance(turn, Mapping) and turn.get("question")]

    def _body(self, question: str, history: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        body = _with(self._options.body, self._options.question_field, question)
        if self._options.history_field is None:
            return body
        return _with(body, self._options.history_field, _messages(history))

    def _read(self, reply: httpx.Response, answer: Answer, began: float) -> None:
        kind = reply.headers.get("content-type", "")
        if not reply.is_success:
            answer.error = f"HTTP {reply.status_code}: {_limited(reply)[:300]}"
        elif "text/event-stream" in kind:
            answer.streamed = True
            self._read_events(reply, answer, began)
        elif "json" in kind:
            self._read_json(json.loads(_limited(reply)), answer)
            answer.first_byte_ms = (time.monotonic() - began) * 1000
        else:
            answer.text = _limited(reply)
            answer.first_byte_ms = (time.monotonic() - began) * 1000

    def _read_json(self, content: Any, answer: Answer) -> None:
        if isinstance(content, str):
            answer.text = content
            return
        text = _first(content, self._options.answer_field, _ANSWERS)
        if not isinstance(text, str):
            names = self._options.answer_field or ", ".join(_ANSWERS)
            text = msgid("no text at {names}; name the field with --answer-field")
            raise ValueError(Message(text, names=names))  # noqa: TRY004 - the reply is wrong
        answer.text = text
        answer.contexts = _passages(_first(content, self._options.contexts_field, _CONTEXTS))

    def _read_events(self, reply: httpx.Response, answer: Answer, began: float) -> None:
        pieces: list[str] = []
        size = 0
        for name, data in _events(reply):
            if data == _END:
                break
            piece, contexts = self._event(name, data, begun=size > 0)
            if contexts is not None:
                answer.contexts = contexts
            if piece and answer.first_byte_ms is None:
                answer.first_byte_ms = (time.monotonic() - began) * 1000
            pieces.append(piece)
            size += len(piece)
            if size > _LARGEST:
                raise ValueError(Message("more than {most:,} characters", most=_LARGEST))
        answer.text = "".join(pieces)

    def _event(self, name: str, data: str, *, begun: bool) -> tuple[str, list[Any] | None]:
        """What an event adds to the answer, and the passages it tells; as the SDK reads streams."""
        named = self._options.answer_field is not None
        beside = not named and is_beside(name, begun=begun)
        try:
            content = json.loads(data)
        except ValueError:
            return "" if beside else data, None
        if isinstance(content, str):
            return "" if beside else content, None
        if not isinstance(content, Mapping):
            return "" if beside else data, None  # plain text that happens to be a number
        if not named:
            kind = content.get("type") or content.get("event")
            beside = beside or is_beside(kind, begun=begun)
        piece = _first(content, self._options.answer_field, _DELTAS)
        contexts = _passages(_first(content, self._options.contexts_field, _CONTEXTS))
        return (piece if isinstance(piece, str) and not beside else ""), contexts


def golden_rows(
    path: Path, columns: Mapping[str, str] | None = None
) -> Iterator[Mapping[str, Any] | BadRow]:
    """The questions of a labelled set; a row without one, or with a label of no use, is a `BadRow`.

    Raises:
        ConfigurationError: The file is missing or of an unknown kind.
    """
    for row in read_rows(path, columns):
        if isinstance(row, BadRow):
            yield row
        elif not isinstance(row.fields.get("question"), str) or not row.fields["question"].strip():
            yield BadRow(row.number, Message("no question"))
        else:
            try:
                check_kinds(row.fields)
            except MalformedPayload as error:
                yield BadRow(row.number, str(error))
            else:
                yield row.fields


def name_of(row: Mapping[str, Any]) -> str:
    """What a question's traces are called after: its id, else its words."""
    given = row.get("id")
    return str(row["question"] if given is None or not str(given).strip() else given)


def as_trace(
    row: Mapping[str, Any],
    answer: Answer,
    *,
    app: str,
    started_at: datetime | None = None,
    release: str | None = None,
    environment: str | None = None,
    history: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Trace JSON of one asked question, with the row's labels and the tag `golden`.

    `history` are the turns that it was asked after.
    """
    moment = (started_at or datetime.now(UTC)).astimezone(UTC)
    timings = {"first_byte_ms": answer.first_byte_ms, "end_to_end_ms": answer.end_to_end_ms}
    trace: dict[str, Any] = {
        # A new run is a new trace: yesterday's answer to the same question stays.
        "id": f"{TAG}:{name_of(row)}:{moment.isoformat()}",
        "app": app,
        "question": row["question"],
        "answer": answer.text,
        "status": "error" if answer.error else "ok",
        "error": answer.error,
        "streamed": answer.streamed,
        "started_at": moment.isoformat(),
        "timings": {name: value for name, value in timings.items() if value is not None},
        "tags": [TAG, *_tags(row.get("tags"))],
        "release": release,
        "environment": environment,
        "history": list(history) or None,
        **{name: row[name] for name in _KEPT if row.get(name) is not None},
    }
    if answer.contexts is not None:
        trace["contexts"] = answer.contexts
    return {name: value for name, value in trace.items() if value is not None}


def _tags(value: object) -> Sequence[str]:
    return [str(tag) for tag in value if tag != TAG] if isinstance(value, list) else []


def _events(reply: httpx.Response) -> Iterator[tuple[str, str]]:
    """Name and data of each server-sent event; its lines are joined as the standard says."""
    lines: list[str] = []
    name = ""
    for line in reply.iter_lines():
        if not line:
            if lines:
                yield name, "\n".join(lines)
            lines, name = [], ""
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
    if lines:
        yield name, "\n".join(lines)


def _limited(reply: httpx.Response) -> str:
    parts, size = [], 0
    for part in reply.iter_bytes():
        size += len(part)
        if size > _LARGEST:
            raise ValueError(Message("more than {most:,} bytes", most=_LARGEST))
        parts.append(part)
    return b"".join(parts).decode(reply.encoding or "utf-8", "replace")


def _first(content: Any, name: str | None, usual: Sequence[str]) -> Any:
    for path in (name,) if name else usual:
        value = content
        for step in path.split("."):
            if isinstance(value, Mapping):
                value = value.get(step)
            elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            else:
                value = None
        if value is not None:
            return value
    return None


def _passages(value: Any) -> list[Any] | None:
    """Passages as Trace JSON has them; other shapes give their text field."""
    if not isinstance(value, list):
        return None
    passages: list[Any] = []
    for item in value:
        if isinstance(item, str):
            passages.append(item)
        elif isinstance(item, Mapping):
            text = _first(item, None, ("content", "text", "page_content", "snippet"))
            kept = {name: item[name] for name in ("id", "score") if name in item}
            passages.append({**kept, "content": None if text is None else str(text)})
    return passages


def _error_text(error: Exception) -> str:
    """What the network said; a message may be empty."""
    return str(error) or type(error).__name__


def _messages(history: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Earlier turns as chat endpoints take them."""
    return [
        {"role": role, "content": text}
        for turn in history
        for role, name in (("user", "question"), ("assistant", "answer"))
        if isinstance(text := turn.get(name), str) and text
    ]


def _with(body: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(json.dumps(dict(body)))
    place = result
    *steps, last = path.split(".")
    for step in steps:
        below = place.setdefault(step, {})
        if not isinstance(below, dict):
            raise ConfigurationError(
                "--question-field {path}: {step} is not an object in --body", path=path, step=step
            )
        place = below
    place[last] = value
    return result
