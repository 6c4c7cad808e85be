"""DingTalk custom robots, signed in the query. They answer HTTP 200 with `errcode` inside."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from rag_monitor.alerting.messages import compose
from rag_monitor.alerting.notifiers.robot import RobotOptions, as_markdown, check_code, titled
from rag_monitor.alerting.notifiers.transport import HttpChannel, encode, post
from rag_monitor.domain.alert import Notification

_MAX_BYTES: Final = 18_000
_BUSY: Final = frozenset({130101, 410100})


@dataclass(frozen=True, slots=True, kw_only=True)
class DingTalkOptions(RobotOptions):
    """The robot's URL with its access token, and its signing secret (`SEC…`)."""


class DingTalkNotifier(HttpChannel[DingTalkOptions]):
    """Posts markdown and asks to mention nobody."""

    max_batch = 30

    def send(self, batch: Sequence[Notification]) -> None:
        """Post the batch; raises DeliveryError unless the code is 0."""
        message = compose(batch, self._language, self._public_url, zone=self._zone)
        keyword = self._options.keyword
        payload = {
            "msgtype": "markdown",
            "markdown": {
                "title": titled(message, keyword),
                "text": as_markdown(message, _MAX_BYTES, keyword),
            },
            "at": {"isAtAll": False, "atMobiles": [], "atUserIds": []},
        }
        reply = post(self._options, encode(payload), url=self._signed_url())
        check_code(reply, ("errcode",), ("errmsg",), _BUSY)

    def _signed_url(self) -> str:
        url = self._options.url
        if not self._options.secret:
            return url
        moment = str(int(self._clock.now().timestamp() * 1000))
        query = urlencode({"timestamp": moment, "sign": sign(self._options.secret, moment)})
        return f"{url}{'&' if '?' in url else '?'}{query}"


def sign(secret: str, moment: str) -> str:
    """DingTalk's signature at a Unix time in milliseconds."""
    digest = hmac.new(secret.encode(), f"{moment}\n{secret}".encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()
