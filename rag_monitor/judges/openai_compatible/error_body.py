"""What a server says of an error, found in a body of whatever shape.

Every vendor has a shape of its own, and gateways wrap one in another: `{"error": {…}}`, a list of
these, `{"detail": […]}`, `{"base_resp": {…}}`, JSON inside of a string, plain text, a web page.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_DEPTH: Final = 10
_ITEMS: Final = 3
"""Entries of a list that are looked at."""
_LONGEST: Final = 4_000
"""Characters of one message that are kept."""
_MESSAGES: Final = (
    "message", "Message", "msg", "error_msg", "error_message", "errorMessage", "errorMsg",
    "status_msg", "error_description", "description", "title", "detail", "reason",
)  # fmt: skip
_CODES: Final = (
    "code", "Code", "type", "error_code", "errorCode", "error_type", "status_code", "status",
    "param", "object", "quotaId", "retryDelay", "limit_source",
)  # fmt: skip
_INNER: Final = (
    "error", "Error", "errors", "detail", "details", "message", "Response", "base_resp",
    "metadata", "raw", "innererror", "inner_error", "violations", "header", "output",
)  # fmt: skip


@dataclass(slots=True)
class ErrorBody:
    """What was found."""

    messages: list[str] = field(default_factory=list)
    """Sentences for people, the outermost first."""
    codes: list[str] = field(default_factory=list)
    """Codes, types and statuses, as text."""

    @property
    def sentence(self) -> str:
        """The messages as one, without those that another one says as well."""
        kept: list[str] = []
        for message in self.messages:
            if not any(message in other for other in kept):
                kept = [other for other in kept if other not in message] + [message]
        return ": ".join(kept)

    @property
    def text(self) -> str:
        """All of it, for patterns."""
        return " | ".join([*self.codes, *self.messages])

    @property
    def status(self) -> int | None:
        """The HTTP status that a code stands for, in bodies whose own status says nothing."""
        numbers = (int(code) for code in self.codes if re.fullmatch(r"[45]\d\d", code))
        return next(numbers, None)


def parse_error_body(body: bytes) -> ErrorBody:
    """What the body of an error says."""
    text = body.decode("utf-8", "replace").strip()
    return error_body_in(text)


def error_body_in(value: Any) -> ErrorBody:
    """The same of a body that was read as JSON already."""
    body = ErrorBody()
    _look(value, body, 0)
    return body


def error_in(raw: Mapping[str, Any]) -> ErrorBody | None:
    """The error that a response with status 200 holds in place of a result; None: it holds none."""
    if _has_result(raw):
        return None
    stated = raw.get("base_resp")
    vendor = isinstance(stated, Mapping) and stated.get("status_code") not in (0, None)
    failed = raw.get("success") is False or raw.get("object") == "error"
    named = any(raw.get(name) for name in ("error", "Error", "errors", "error_code"))
    has_message = any(isinstance(raw.get(name), str) and raw[name] for name in _MESSAGES)
    nested = isinstance(raw.get("Response"), Mapping) and "Error" in raw["Response"]
    if vendor or failed or named or has_message or nested:
        return error_body_in(raw)
    choices = raw.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return error_body_in(first) if isinstance(first, Mapping) and first.get("error") else None


def _has_result(raw: Mapping[str, Any]) -> bool:
    """Whether there is something to read: choices that did not fail, vectors, scores, tokens."""
    choices = raw.get("choices")
    if isinstance(choices, list) and choices:
        first = choices[0]
        return not (isinstance(first, Mapping) and (first.get("error") or _broke_off(first, raw)))
    return any(raw.get(name) for name in ("data", "scores", "tokens"))


def _broke_off(choice: Mapping[str, Any], raw: Mapping[str, Any]) -> bool:
    return choice.get("finish_reason") == "error" and bool(raw.get("error"))


def _look(value: Any, body: ErrorBody, depth: int) -> None:
    if depth > _DEPTH:
        return
    if isinstance(value, str):
        _take_text(value, body, depth)
    elif isinstance(value, list):
        for entry in value[:_ITEMS]:
            _look(entry, body, depth + 1)
    elif isinstance(value, Mapping):
        _take_fields(value, body, depth)


def _take_fields(value: Mapping[str, Any], body: ErrorBody, depth: int) -> None:
    for name in _CODES:
        code = value.get(name)
        if isinstance(code, (str, int)) and not isinstance(code, bool) and code != "":
            named = f"{name} {code}" if name == "retryDelay" else str(code)
            body.codes.append(named[:100])
    for name in _MESSAGES:
        message = value.get(name)
        if isinstance(message, str) and message.strip():
            _take_text(message, body, depth)
            break
    place = value.get("loc")
    if isinstance(place, list) and body.messages:  # FastAPI says where in a field of its own
        body.messages[-1] += f" ({'.'.join(map(str, place[:6]))})"
    for name in _INNER:
        inner = value.get(name)
        if isinstance(inner, (Mapping, list)) or (name in ("error", "raw") and inner):
            _look(inner, body, depth + 1)


def _take_text(text: str, body: ErrorBody, depth: int) -> None:
    text = text.strip()
    if text[:1] in ("{", "["):
        try:
            inner = json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            before = len(body.messages)
            _look(inner, body, depth + 1)
            if len(body.messages) > before:
                return
    if _PAGE.match(text):
        text = _page(text)
    if text and text not in body.messages:
        body.messages.append(text[:_LONGEST])


_PAGE: Final = re.compile(r"\s*<(?:!doctype|html|head|body|center|h1)\b", re.IGNORECASE)
_TITLE: Final = re.compile(r"<(title|h1)[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_TAG: Final = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


def _page(text: str) -> str:
    """What a web page says: its title, or else its text."""
    title = _TITLE.search(text[:_LONGEST])
    shown = title[2] if title else text[:_LONGEST]
    return f"a web page: {html.unescape(' '.join(_TAG.sub(' ', shown).split()))}"
