"""A chat completion of whatever shape, read into the texts in which the reply may stand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges.openai_compatible.refused import ReplyWithheld
from rag_monitor.judges.parsing import parse_reply, repeats
from rag_monitor.judges.thinking import (
    BESIDE,
    THOUGHT_PARTS,
    has_thought,
    without_thoughts,
)
from rag_monitor.redaction.redactor import presentable

_WITHHELD: Final = frozenset({"content_filter", "sensitive", "safety", "prohibited_content"})
_SLACK: Final = 1e-2
"""Logprobs of servers that compute in half precision may lie a little above 0."""
_NESTING: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What one request brought."""

    texts: tuple[str, ...] = ()
    """Where the reply may stand, the likeliest first: arguments of a tool call, the text after any
    thoughts, and the thoughts themselves where there is nothing else and the reply is complete."""
    top_logprobs: Sequence[tuple[str, float]] | None = None
    """Of the first token, most likely first."""
    cut: bool = False
    """It ends where the limit of tokens was reached."""
    thought: bool = False
    """The model thought before it replied, as far as the server says so."""

    @property
    def content(self) -> str:
        """The likeliest text."""
        return self.texts[0] if self.texts else ""

    def object(self, nonce: str) -> dict[str, Any]:
        """The one object in it that repeats `nonce`.

        Raises:
            JudgeOutputInvalid: There is none, or more than one.
        """
        right = next((text for text in self.texts if repeats(text, nonce)), self.content)
        reply = parse_reply(right, nonce)
        if self.cut and not right.rstrip().endswith(("}", "```", "｝")):
            raise JudgeOutputInvalid("the reply was cut off before its end")
        return reply


def read_chat(raw: Mapping[str, Any]) -> ChatReply:
    """The reply of the first choice.

    Raises:
        ReplyWithheld: A filter or the model declines.
        JudgeOutputInvalid: The response is no chat completion.
    """
    choices = raw.get("choices")
    if not isinstance(choices, list) or not choices:
        raise JudgeOutputInvalid("the response has no choices")
    try:
        return _read_choice(choices[0], raw.get("usage"))
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError):
        raise JudgeOutputInvalid("the response is not a chat completion") from None


def _read_choice(choice: Mapping[str, Any], usage: object) -> ChatReply:
    message = choice.get("message") or choice.get("delta") or {"content": choice["text"]}
    finish, declined = choice.get("finish_reason"), message.get("refusal")
    calls = list(_arguments(message))
    content = _text(message.get("content"))
    if isinstance(finish, str) and finish.lower() in _WITHHELD:
        raise ReplyWithheld(
            "the judge's server withholds its reply: {finish}", finish=presentable(finish)
        )
    if declined and isinstance(declined, str) and not content.strip() and not calls:
        raise ReplyWithheld(
            "the model declines to judge: {declined}", declined=presentable(declined)
        )
    cut = finish in ("length", "max_tokens", "MAX_TOKENS")
    texts = [*calls, without_thoughts(content)] if content.strip() else calls
    if not texts and not cut:
        texts = [_text(message.get(name)) for name in BESIDE]
    return ChatReply(
        texts=tuple(text for text in texts if text.strip()),
        top_logprobs=_first_token(choice.get("logprobs")),
        cut=cut,
        thought=has_thought(message, usage),
    )


def _arguments(message: Mapping[str, Any]) -> Iterator[str]:
    """The arguments of all tool calls as one text; of several none is the reply."""
    calls = message.get("tool_calls") or []
    if message.get("function_call"):
        calls = [*calls, {"function": message["function_call"]}]
    given = [call["function"].get("arguments") for call in calls]
    texts = [one if isinstance(one, str) else json.dumps(one) for one in given if one]
    if texts:
        yield "\n".join(texts)


def _text(content: Any, depth: int = 0) -> str:
    """The text of a message's content: a text, or parts of which some are thoughts."""
    if content is None or depth > _NESTING:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_text(part, depth + 1) for part in content)
    if not isinstance(content, Mapping):
        raise JudgeOutputInvalid("the content of the reply is not text")
    if content.get("type") in THOUGHT_PARTS:
        return ""
    if content.get("type") in ("refusal", "tool_use", "image_url", "audio"):
        return ""
    inner = next((content[n] for n in ("text", "content", "value") if content.get(n)), None)
    if inner is None and "type" not in content:
        return json.dumps(content)  # some servers read the reply as JSON before they pass it on
    return _text(inner, depth + 1)


def _first_token(logprobs: Any) -> list[tuple[str, float]] | None:
    if not logprobs or not logprobs.get("content"):
        return None
    first = logprobs["content"][0]
    listed = first.get("top_logprobs") or [first]
    alternatives = [(str(entry["token"]), float(entry["logprob"])) for entry in listed]
    # JSON of Python servers knows NaN and Infinity; a verdict made of one would be a score.
    if not all(logprob <= _SLACK for _, logprob in alternatives):
        raise JudgeOutputInvalid("the server's logprobs are none")
    return sorted(alternatives, key=lambda entry: -entry[1])
