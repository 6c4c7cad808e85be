"""Text of traces on its way to a model: data, never instructions.

Every call draws a boundary nobody can guess, passes data as JSON strings and breaks up tokens that
chat templates read as roles. `prompt_injection` notices text that talks to the judge.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from typing import Any, Final

_BREAK: Final = "\u2060"
"""Word joiner: invisible, and splits a role token into pieces no template recognises."""
_ROLE_TOKEN: Final = re.compile(
    r"<\s*[|｜][^<>|｜]{0,64}[|｜]\s*>"
    r"|</?\s*(?:s|bos|eos|pad|unk|think|tool_call|tool_response|tools|system|user|assistant"
    r"|start_of_turn|end_of_turn|function_call|function_results|sop|eop|mask|gmask)\s*>"
    r"|\[/?\s*(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|gMASK|MASK|sMASK"
    r"|IMG|PREFIX|SUFFIX|MIDDLE)\s*\]"
    r"|<</?\s*SYS\s*>>",
    re.IGNORECASE,
)
INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters but tab and line feed, foreign line breaks, halves of pairs."""
_RUN: Final = re.compile(r"(\s)\1{19,}")
_BLANKS: Final = " " * 20
_MAX_TEXT: Final = 400_000

BOUNDARY_BYTES: Final = 12


def draw_boundary() -> str:
    """A code of 96 random bits, about 12 tokens; the caller draws a new one for every call."""
    return secrets.token_urlsafe(BOUNDARY_BYTES)


def draw_nonce() -> str:
    """A short code the reply must repeat: notices swapped and cached replies."""
    return secrets.token_hex(4)


def clean(text: str) -> str:
    """`text` as a model may see it; what people read stays, what steers templates goes.

    NFC-safe: invisible and direction characters are dropped, control characters become blanks,
    runs of 20 and more equal blanks shrink, role tokens are broken up. Never raises.
    """
    text = text[:_MAX_TEXT]
    if not text.isascii():
        text = INVISIBLE.sub("", text)
    if not text.isprintable():
        text = _CONTROL.sub(" ", text)
        text = _RUN.sub(_shrunk, text)
    elif _BLANKS in text:
        text = _RUN.sub(_shrunk, text)
    return _ROLE_TOKEN.sub(_broken, text) if "<" in text or "[" in text else text


def quoted(text: str) -> str:
    """`text`, cleaned, as one JSON string."""
    return json.dumps(clean(text), ensure_ascii=False)


def fenced(boundary: str, evidence: Mapping[str, Any]) -> str:
    """`evidence` as one line of JSON between two boundary lines.

    Strings in it must have gone through `clean`. JSON escapes line breaks, so nothing inside can
    start a line, and nobody knows the boundary.
    """
    data = json.dumps(evidence, ensure_ascii=False, separators=(",", ":"))
    return f"{boundary}\n{data}\n{boundary}"


def _broken(match: re.Match[str]) -> str:
    token = match.group()
    return token[0] + _BREAK + _BREAK.join((token[1:-1], token[-1]))


def _shrunk(match: re.Match[str]) -> str:
    return match.group(1) * 3
