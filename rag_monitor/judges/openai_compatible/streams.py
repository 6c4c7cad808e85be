"""A completion that came as a stream of server-sent events, put together into one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from rag_monitor.judges.thinking import BESIDE

_DATA: Final = "data:"
_END: Final = "[DONE]"
_FIRST: Final = (_DATA, "event:", "id:", "retry:", ":")
_TEXTS: Final = ("content", "refusal", *BESIDE)


def is_stream(content_type: str, text: str) -> bool:
    """Whether a body holds server-sent events, whatever was asked for."""
    return "text/event-stream" in content_type or text.lstrip("\ufeff\r\n ").startswith(_FIRST)


def gathered(text: str) -> dict[str, Any]:
    """The completion that the events of a stream add up to; of n choices the first.

    An event that holds an error ends it: the error is in the result.

    Raises:
        ValueError: An event is not JSON.
    """
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": None}
    for event in _events(text):
        whole |= {k: event[k] for k in ("id", "model", "usage", "error") if event.get(k)}
        for part in _first_choices(event.get("choices")):
            whole["choices"] = [choice]
            _add(part, choice, message)
        if event.get("error") or ("choices" not in event and "message" in event):
            return {**event, **whole}
    return whole


def _events(text: str) -> Iterator[dict[str, Any]]:
    """The events; data that spans several lines is one."""
    lines: list[str] = []
    for line in [*text.lstrip("\ufeff").splitlines(), ""]:
        if line.startswith(_DATA):
            lines.append(line.removeprefix(_DATA).removeprefix(" "))
        elif not line.strip() and lines:
            data, lines = "\n".join(lines).strip(), []
            if data and data != _END:
                yield from _loaded(data)


def _loaded(data: str) -> Iterator[dict[str, Any]]:
    """One event; several where a server leaves out the blank lines between them."""
    try:
        values = [json.loads(data)]
    except ValueError:
        values = [json.loads(line) for line in data.splitlines() if line.strip() not in ("", _END)]
    for value in values:
        if not isinstance(value, dict):
            raise ValueError("an event is not an object")  # noqa: TRY004 - as json's own
        yield value


def _first_choices(choices: Any) -> Iterable[Mapping[str, Any]]:
    listed = choices if isinstance(choices, list) else []
    return [c for c in listed if isinstance(c, Mapping) and c.get("index") in (0, None)]


def _add(part: Mapping[str, Any], choice: dict[str, Any], message: dict[str, Any]) -> None:
    delta = part.get("delta") or part.get("message") or {}
    if isinstance(part.get("text"), str):
        delta = {"content": part["text"], **delta}
    for name in _TEXTS:
        _join(message, name, delta.get(name))
    for call in delta.get("tool_calls") or ():
        _add_call(call, message.setdefault("tool_calls", []))
    for name in ("finish_reason", "error"):
        choice[name] = part.get(name) or choice.get(name)
    logprobs = part.get("logprobs")
    if isinstance(logprobs, Mapping) and logprobs.get("content"):
        listed = choice.setdefault("logprobs", {"content": []})["content"]
        listed.extend(logprobs["content"])


def _join(message: dict[str, Any], name: str, piece: Any) -> None:
    """Add a piece of text, or of a list of parts."""
    before = message.get(name)
    if piece in (None, ""):
        return
    message[name] = (
        piece if before in (None, "") or type(before) is not type(piece) else (before + piece)
    )


def _add_call(call: Any, calls: list[dict[str, Any]]) -> None:
    if not isinstance(call, Mapping):
        return
    place = call.get("index")
    existing = next((c for c in calls if c["index"] == place), None)
    if existing is None:
        existing = {"index": place, "function": {"name": "", "arguments": ""}}
        calls.append(existing)
    function = call.get("function") or {}
    _join(existing["function"], "name", function.get("name"))
    _join(existing["function"], "arguments", function.get("arguments"))
