"""What events carry: a request's body inside an event of a gateway, queue or chat bot; a stream.

Frameworks trace a handler with the whole event as its input. The rest of the event is about the
transport: ids, headers, tokens, who sent it. An answer may have been written down as it was sent:
server-sent events, or lines of JSON.
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs
from xml.sax.saxutils import unescape

from rag_monitor.ingest.message_parts import joined
from rag_monitor.ingest.values import structured

_OF_HTTP: Final = frozenset({"isBase64Encoded", "requestContext", "httpMethod", "rawPath"})
_QUERIES: Final = ("queryStringParameters", "queryParameters", "queryString")
_OF_EVENTS: Final = frozenset({"specversion", "specVersion"})
"""Of CloudEvents and DingTalk's stream, whose data may be JSON in a text."""
_OF_A_BOT: Final = ("message_type", "msg_type", "msgtype")
_BOT_TEXTS: Final = ("text", "content", "richText", "body")
_GRAPHQL: Final = re.compile(r"\s*(?:(?:query|mutation|subscription)\b[^{]*)?\{")
_MENTION: Final = re.compile(r"@_(?:user_\d+|all)\s*|<at\b[^>]*>[^<]*</at>\s*")
"""How Feishu writes who is meant."""
_XML: Final = re.compile(r"<Content>(?:<!\[CDATA\[(.*?)\]\]>|([^<]*))</Content>", re.DOTALL)
_CODES: Final = ("code", "errcode", "errno", "error_code", "retcode", "ret", "success")
_WORDS: Final = frozenset({"message", "msg", "errmsg"})
_DATA: Final = frozenset({"data", "result"})
_SAYING: Final = frozenset(
    {"answer", "response", "output", "text", "content", "reply", "choices", "messages", "回答"}
)
_MOST_FIELDS: Final = 1_000


def is_envelope(value: Mapping[str, Any]) -> bool:
    """Whether an object is such an event: what it carries is the input, or nothing is."""
    return _opened(value) is not None


def contents_of(value: Mapping[str, Any]) -> object:
    """What an event carries: a text, or an object with the fields of a request; None: nothing."""
    contents = _opened(value)
    return None if contents is None else contents[0]


def is_framed(value: Mapping[str, Any]) -> bool:
    """Whether an object is the reply of an interface: a code, a word on it, and what was asked."""
    coded = any(_is_code(value.get(name)) for name in _CODES)
    return coded and not (_WORDS | _DATA).isdisjoint(value) and _SAYING.isdisjoint(value)


def framed_in(value: Mapping[str, Any]) -> object:
    """What such a reply holds; its message says how the call went, and answers nobody."""
    return next((value[name] for name in ("data", "result") if name in value), None)


def _is_code(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and value.isdecimal())


def is_xml(text: str) -> bool:
    """Whether a text is a message as WeChat and WeCom post it."""
    return text.lstrip().startswith("<xml>")


def text_in_xml(text: str) -> str | None:
    """What such a message says; None: it has no text."""
    match = _XML.search(text)
    if match is None:
        return None
    return match[1] if match[1] is not None else unescape(match[2])


def _opened(value: Mapping[str, Any]) -> tuple[object] | None:
    if not _OF_HTTP.isdisjoint(value) or ("body" in value and "headers" in value):
        return (_of_http(value),)
    if _is_bot_message(value):
        return (_of_a_bot(value),)
    written = value.get("query")
    if isinstance(value.get("variables"), Mapping) and isinstance(written, str):
        return (value["variables"],) if _GRAPHQL.match(written) else None
    if not _OF_EVENTS.isdisjoint(value) and "data" in value:
        return (structured(value["data"]),)
    deliveries = [delivery for delivery in _DELIVERIES if delivery.made(value)]
    if deliveries:
        carried = (delivery.contents(value) for delivery in deliveries)
        return (next((contents for contents in carried if contents is not None), None),)
    event = value.get("event")
    if isinstance(event, Mapping) and ("header" in value or value.get("type") == "event_callback"):
        message = event.get("message")
        return (_of_a_bot(message if isinstance(message, Mapping) else event),)
    return None


def _of_http(value: Mapping[str, Any]) -> object:
    body = value.get("body")
    if value.get("isBase64Encoded") is True and isinstance(body, str):
        body = _decoded(body)
    if body in (None, ""):
        return next((value[name] for name in _QUERIES if value.get(name)), None)
    plain = structured(body)
    return _form(plain) if isinstance(plain, str) else plain


def _is_bot_message(value: Mapping[str, Any]) -> bool:
    return any(isinstance(value.get(name), str) for name in _OF_A_BOT)


def _of_a_bot(message: Mapping[str, Any]) -> object:
    """The text of a bot's message; pictures and cards have none."""
    for name in ("text_without_at_bot", "text", "content"):
        held = structured(message.get(name))
        if isinstance(held, Mapping):
            held = next((held[part] for part in _BOT_TEXTS if part in held), None)
        if isinstance(held, list):
            lines = [_line(item if isinstance(item, list) else [item]) for item in held]
            held = "\n".join(line for line in lines if line)
        if isinstance(held, str) and held.strip():
            return _MENTION.sub("", held).strip()
    return None


def _line(parts: list[Any]) -> str:
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return "".join(text for text in texts if isinstance(text, str))


def _decoded(text: str) -> str | None:
    try:
        return b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _form(text: str) -> object:
    """The fields of a form; the text itself where it is none."""
    if "=" not in text or not text.isascii() or " " in text.strip():
        return text
    try:
        fields = parse_qs(text, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        return None
    return {name: values[0] for name, values in fields.items()} or text


_FIELD: Final = re.compile(r"(?:data|event|id|retry):|:")
_TEXTS: Final = (
    "answer", "token", "content", "text", "delta", "response", "message", "output", "output_text",
    "data", "内容", "回答", "答案",
)  # fmt: skip
_HOLDERS: Final = ("delta", "message", "data", "token", "output", "choices", "candidates")
_BESIDE: Final = re.compile(
    r"reason|think|tool|function|source|citation|document|context|meta|usage|error|status|step"
    r"|ping|start|done|end|complete|stop|suggest|follow",
    re.IGNORECASE,
)
"""In what names the kind of a piece: it is sent beside the answer, or says it once more."""
_KINDS: Final = ("type", "event")
_DEPTH: Final = 4


def is_stream(text: str) -> bool:
    """Whether a text is nothing but frames: events, or more than one line of JSON objects."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return False
    if all(_FIELD.match(line) for line in lines):
        return any(line.startswith("data:") for line in lines) and len(lines) > 1
    return len(lines) > 1 and all(isinstance(_parsed(line), dict) for line in lines)


def text_in_stream(text: str) -> str | None:
    """What the frames of a stream say together; None: nothing that can be told."""
    pieces: list[str] = []
    for piece in _pieces(text):
        if pieces and len(pieces) > 1 and piece == "".join(pieces):  # said once more at the end
            continue
        pieces.append(piece)
    return "".join(pieces) or None


def _pieces(text: str) -> Iterator[str]:
    beside = False
    for line in text.splitlines():
        if line.startswith("event:"):
            beside = _BESIDE.search(line[6:]) is not None
        elif line.startswith("data:") and not beside:
            data = line[5:].removeprefix(" ")
            value = _parsed(data)
            piece = data if value is None and data.strip() != "[DONE]" else _piece(value, 0)
            if piece:
                yield piece
        elif line.lstrip().startswith("{"):
            piece = _piece(_parsed(line), 0)
            if piece:
                yield piece
        elif not line.strip():
            beside = False


def _piece(value: Any, depth: int) -> str | None:
    """The text of one frame; None: it holds none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = joined(value)
        return texts or (_piece(value[0], depth + 1) if value and depth < _DEPTH else None)
    if not isinstance(value, Mapping) or depth > _DEPTH:
        return None
    if any(isinstance(kind := value.get(key), str) and _BESIDE.search(kind) for key in _KINDS):
        return None
    for key in _TEXTS:
        if isinstance(value.get(key), str):
            return str(value[key])
    held = (value[key] for key in (*_HOLDERS, "content", "parts") if value.get(key))
    return next((text for item in held if (text := _piece(item, depth + 1))), None)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class _Delivery(NamedTuple):
    """How a queue or a platform's webhook delivers messages, perhaps several in one event."""

    marks: tuple[str, ...]
    """What each such event has, and hardly anything else."""
    path: str
    """Where its message stands; `*` is the only member."""
    read: Callable[[Any], object]
    """What is in it."""

    def made(self, event: Mapping[str, Any]) -> bool:
        """Whether the event is one of these."""
        return all(_at(event, mark, alone=False) is not None for mark in self.marks)

    def contents(self, event: Mapping[str, Any]) -> object:
        """What the only message carries; None: there are several, or it has no text."""
        message = _at(event, self.path, alone=True)
        return None if message is None else self.read(message)


def _at(holder: object, path: str, *, alone: bool) -> object:
    """What stands there; of a list the first item, which may have to be the only one."""
    for name in path.split("."):
        if not isinstance(holder, Mapping):
            return None
        names = list(holder) if name == "*" else [name]
        holder = holder.get(names[0]) if len(names) == 1 else None
        if isinstance(holder, list):
            holder = holder[0] if holder and not (alone and len(holder) > 1) else None
    return holder


def _of_platform(message: object) -> object:
    return _of_a_bot(message) if isinstance(message, Mapping) else None


def _of_queue(written: object) -> object:
    """The body of a queue's message, which most queues write in base64."""
    if not isinstance(written, str):
        return structured(written)
    decoded = _decoded(written)
    return structured(written if decoded is None else decoded)


_DELIVERIES: Final = (
    _Delivery(("Records.body",), "Records.body", structured),
    _Delivery(("Records.Sns",), "Records.Sns.Message", structured),
    _Delivery(("Records.kinesis",), "Records.kinesis.data", _of_queue),
    _Delivery(("eventSource", "records"), "records.*.value", _of_queue),
    _Delivery(("eventSource", "rmqMessagesByQueue"), "rmqMessagesByQueue.*.data", _of_queue),
    _Delivery(("subscription", "message.messageId"), "message.data", _of_queue),
    _Delivery(("object", "entry.changes.value"), "entry.changes.value.messages", _of_platform),
    _Delivery(("object", "entry.messaging.sender"), "entry.messaging.message", _of_platform),
    _Delivery(("destination", "events.source.type"), "events.message", _of_platform),
)
"""Of Amazon's queues with Kafka and RabbitMQ, Google's Pub/Sub, WhatsApp, Messenger, LINE."""
