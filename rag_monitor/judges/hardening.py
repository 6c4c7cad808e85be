"""Text of traces on its way to a model: data, never instructions.

Every call draws a boundary nobody can guess, passes data as JSON strings and breaks up tokens that
chat templates read as roles. The trace is one JSON value: cleaned, numbered, cut to what the model
can take. `prompt_injection` notices text that talks to the judge.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rag_monitor.domain.judgement import JudgeRequest

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptEvidence:
    """What a model is shown of a trace."""

    data: dict[str, Any] = field(default_factory=dict)
    coverage: float = 1.0
    """Share of the passages' characters that is shown."""


def gather_evidence(request: JudgeRequest, max_chars: int) -> PromptEvidence:
    """Earlier turns, question, query, numbered passages and answer of `request`.

    Passages share `max_chars` less what the others take; long ones are cut first. The question and
    the earlier turns are cut at a quarter of it each, the answer at half.
    """
    question = clean(request.question)[: max_chars // 4]
    answer = clean(request.answer)[: max_chars // 2]
    passages = [clean(text) for text in request.contexts or ()]
    turns = _turns(request, max_chars // 4)
    room = max_chars - len(question) - len(answer) - sum(map(_length, turns))
    shown = cut_to_fit(passages, room)
    data: dict[str, Any] = {"earlier_turns": turns} if turns else {}
    data["question"] = question
    if request.query:
        data["query"] = clean(request.query)[: max_chars // 4]
    if passages:
        data["passages"] = numbered_texts(shown)
    data["answer"] = answer
    total = sum(map(len, passages)) + len(clean(request.answer))
    seen = sum(map(len, shown)) + len(answer)
    return PromptEvidence(data=data, coverage=seen / total if total else 1.0)


def _turns(request: JudgeRequest, room: int) -> list[dict[str, str]]:
    """The turns that the question depends on, in order; of what has no room, the oldest go."""
    turns: list[dict[str, str]] = []
    for turn in reversed(request.history):
        shown = {"question": clean(turn.question), "answer": clean(turn.answer)}
        room -= _length(shown)
        if room < 0:
            break
        turns.insert(0, shown)
    return turns


def _length(turn: Mapping[str, str]) -> int:
    return sum(map(len, turn.values()))


def numbered_texts(texts: Sequence[str]) -> dict[str, str]:
    """Texts under "1", "2" … as questions name them."""
    return {str(number): text for number, text in enumerate(texts, start=1)}


def cut_to_fit(texts: Sequence[str], room: int) -> list[str]:
    """The texts, the longest cut to a common length so that all fit into `room` characters."""
    if sum(map(len, texts)) <= room:
        return list(texts)
    left, share = max(0, room), 0
    for done, length in enumerate(sorted(map(len, texts))):
        share = left // (len(texts) - done)
        if length > share:
            break
        left -= length
    return [text[:share] for text in texts]
