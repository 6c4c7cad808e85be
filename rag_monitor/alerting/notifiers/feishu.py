"""Feishu and Lark custom robots, signed. They answer HTTP 200 with `code` inside."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_monitor.alerting.messages import Message, compose
from rag_monitor.alerting.notifiers.markup import cut_bytes, inert
from rag_monitor.alerting.notifiers.robot import RobotOptions, check_code, titled
from rag_monitor.alerting.notifiers.transport import HttpChannel, encode, post
from rag_monitor.domain.alert import Notification

_BUSY: Final = frozenset({9499, 11232})
_MAX_LINE_BYTES: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class FeishuOptions(RobotOptions):
    """The robot's URL (open.feishu.cn or open.larksuite.com) and its signing secret."""


class FeishuNotifier(HttpChannel[FeishuOptions]):
    """Posts rich text, whose `text` parts are not parsed; traced text is inert all the same."""

    max_batch = 30

    def send(self, batch: Sequence[Notification]) -> None:
        """Post the batch; raises DeliveryError unless the code is 0."""
        message = compose(batch, self._language, self._public_url, zone=self._zone)
        payload: dict[str, Any] = {
            "msg_type": "post",
            "content": {
                "post": {
                    "zh_cn" if self._language == "zh" else "en_us": {
                        "title": titled(message, self._options.keyword),
                        "content": _content(message),
                    }
                }
            },
        }
        if self._options.secret:
            moment = str(int(self._clock.now().timestamp()))
            payload |= {"timestamp": moment, "sign": sign(self._options.secret, moment)}
        reply = post(self._options, encode(payload))
        check_code(reply, ("code", "StatusCode"), ("msg", "StatusMessage"), _BUSY)


def sign(secret: str, moment: str) -> str:
    """Feishu's signature: the text to sign is the key, the message is empty."""
    digest = hmac.new(f"{moment}\n{secret}".encode(), b"", hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def _content(message: Message) -> list[list[dict[str, str]]]:
    rows: list[list[dict[str, str]]] = []
    for item in message.items:
        if len(message.items) > 1:
            rows.append([_text(item.title)])
        rows += [[_text(line)] for line in item.lines]
        if item.links:
            rows.append(
                [
                    {"tag": "a", "text": f"{inert(link.label)}  ", "href": link.url}
                    for link in item.links
                ]
            )
    return rows


def _text(line: str) -> dict[str, str]:
    return {"tag": "text", "text": cut_bytes(inert(line), _MAX_LINE_BYTES)}
