"""Slack incoming webhooks. Traced text goes into `plain_text`, which Slack does not parse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_monitor.alerting.messages import Item, compose
from rag_monitor.alerting.notifiers.markup import inert
from rag_monitor.alerting.notifiers.notifier import DeliveryError
from rag_monitor.alerting.notifiers.transport import (
    HttpChannel,
    HttpOptions,
    encode,
    excerpt,
    post,
)
from rag_monitor.alerting.plain_text import plain
from rag_monitor.domain.alert import Notification

_MAX_HEADER: Final = 150
_MAX_SECTION: Final = 2900
_LINES_PER_SECTION: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackOptions(HttpOptions):
    """The webhook's URL."""


class SlackNotifier(HttpChannel[SlackOptions]):
    """Posts blocks; Slack answers with the word `ok`."""

    max_batch = 50

    def send(self, batch: Sequence[Notification]) -> None:
        """Post the batch; raises DeliveryError unless Slack took it."""
        reply = post(self._options, encode(self._payload(batch)))
        answer = reply.body.strip()
        if answer != b"ok" and b'"ok":true' not in answer.replace(b" ", b""):
            raise DeliveryError("Slack did not say ok: {reply}", reply=excerpt(reply))

    def _payload(self, batch: Sequence[Notification]) -> dict[str, Any]:
        message = compose(batch, self._language, self._public_url, zone=self._zone)
        blocks: list[dict[str, Any]] = [
            {"type": "header", "text": _plain_text(message.title, _MAX_HEADER)}
        ]
        if any(item.lines for item in message.items):
            for item in message.items:
                blocks.extend(_blocks(item))
        else:
            titles = [item.title for item in message.items]
            for start in range(0, len(titles), _LINES_PER_SECTION):
                lines = "\n".join(titles[start : start + _LINES_PER_SECTION])
                blocks.append({"type": "section", "text": _plain_text(lines, _MAX_SECTION)})
            for item in message.items:
                blocks.extend(_links(item))
        # The fallback text is parsed as markup, and shown in push notifications.
        return {
            "text": inert(plain(message.title, _MAX_HEADER)),
            "link_names": False,
            "unfurl_links": False,
            "blocks": blocks,
        }


def _blocks(item: Item) -> list[dict[str, Any]]:
    text = "\n".join((item.title, *item.lines))
    blocks: list[dict[str, Any]] = [{"type": "section", "text": _plain_text(text, _MAX_SECTION)}]
    return [*blocks, *_links(item)]


def _links(item: Item) -> list[dict[str, Any]]:
    """A line of links; nothing where there are none."""
    if not item.links:
        return []
    text = "  ".join(f"<{_escape(link.url)}|{_escape(link.label)}>" for link in item.links)
    return [{"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}]


def _plain_text(text: str, limit: int) -> dict[str, Any]:
    return {"type": "plain_text", "emoji": False, "text": text[:limit]}


def _escape(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("|", "%7C")
