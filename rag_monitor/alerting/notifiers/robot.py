"""What chat robots share: markdown from a message, and an error code inside HTTP 200."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from rag_monitor.alerting.messages import Message
from rag_monitor.alerting.notifiers.markup import cut_bytes, inert, markdown
from rag_monitor.alerting.notifiers.notifier import DeliveryError
from rag_monitor.alerting.notifiers.transport import SignedOptions, decode
from rag_monitor.alerting.plain_text import plain
from rag_monitor.i18n import msgid
from rag_monitor.outbound.connection import Reply

RATE_LIMIT_REST_S: Final = 60.0
"""Robots count messages by the minute."""
_KEYWORD_MISSING: Final = re.compile(r"key ?words?|关键词", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotOptions(SignedOptions):
    """A robot in its "custom keywords" mode refuses messages without one of its keywords."""

    keyword: str = ""
    """Stands in every message; empty: the robot asks for none."""


def titled(message: Message, keyword: str = "") -> str:
    """The title, led by the keyword unless it holds it already."""
    title = inert(message.title)
    return title if keyword in title else f"{keyword} {title}"


def as_markdown(message: Message, limit: int, keyword: str = "") -> str:
    """Title, alerts and links as markdown of at most `limit` bytes.

    Of what is too long, whole links are left out from the end, and only then text is cut.
    """
    while message.items and _bytes(_markdown(message, keyword)) > limit:
        shorter = _without_last_link(message)
        if shorter is None:
            break
        message = shorter
    return cut_bytes(_markdown(message, keyword), limit)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _without_last_link(message: Message) -> Message | None:
    """None: there is none left."""
    for place in reversed(range(len(message.items))):
        item = message.items[place]
        if item.links:
            kept = replace(item, links=item.links[:-1])
            items = (*message.items[:place], kept, *message.items[place + 1 :])
            return replace(message, items=items)
    return None


def _markdown(message: Message, keyword: str) -> str:
    blocks: list[list[str]] = []
    for item in message.items:
        lines = [] if len(message.items) == 1 else [inert(item.title)]
        lines += [inert(line) for line in item.lines]
        if item.links:
            lines.append(" ".join(f"[{inert(link.label)}]({link.url})" for link in item.links))
        blocks.append(lines)
    return markdown(titled(message, keyword), blocks)


def check_code(
    reply: Reply, code_keys: tuple[str, ...], text_keys: tuple[str, ...], busy: frozenset[int]
) -> None:
    """Raise unless the body says that the message was taken.

    Args:
        reply: An answer of HTTP 200, which says nothing yet.
        code_keys: Names under which the code may stand; 0 is success.
        text_keys: Names under which the reason may stand.
        busy: Codes that mean "too many messages".

    Raises:
        DeliveryError: The code is not 0, or there is none.
    """
    content = decode(reply)
    code = next((content[key] for key in code_keys if key in content), None)
    if code == 0 and not isinstance(code, bool):
        return
    reason = str(next((content[key] for key in text_keys if content.get(key)), "no reason given"))
    text = msgid("the robot refused with code {code}: {reason}")
    if _KEYWORD_MISSING.search(reason):
        text = msgid(
            "the robot refused with code {code}: {reason}; "
            'set keyword = "…" of this channel to one of the robot\'s keywords'
        )
    raise DeliveryError(
        text,
        code=plain(repr(code), 40),
        reason=plain(reason, 200),
        retry_after_s=RATE_LIMIT_REST_S if code in busy else None,
    )
