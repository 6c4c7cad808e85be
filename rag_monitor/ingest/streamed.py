"""An answer that was written down as it was sent: server-sent events, or lines of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rag_monitor.ingest.message_parts import joined

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
