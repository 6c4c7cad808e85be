"""WeCom (企业微信) group robots. They answer HTTP 200 with `errcode` inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.alerting.messages import compose
from rag_monitor.alerting.notifiers.robot import as_markdown, check_code
from rag_monitor.alerting.notifiers.transport import HttpChannel, HttpOptions, encode, post
from rag_monitor.domain.alert import Notification

_MAX_BYTES: Final = 4096
_LINE_CHARS: Final = 80
_BUSY: Final = frozenset({45009, 45033})


@dataclass(frozen=True, slots=True, kw_only=True)
class WeComOptions(HttpOptions):
    """The robot's URL with its key."""


class WeComNotifier(HttpChannel[WeComOptions]):
    """Posts markdown of at most 4096 bytes, so few alerts a message."""

    max_batch = 12

    def send(self, batch: Sequence[Notification]) -> None:
        """Post the batch; raises DeliveryError unless the code is 0."""
        message = compose(
            batch,
            self._language,
            self._public_url,
            zone=self._zone,
            detailed=1,
            line_chars=_LINE_CHARS,
        )
        content = as_markdown(message, _MAX_BYTES)
        reply = post(
            self._options, encode({"msgtype": "markdown", "markdown": {"content": content}})
        )
        check_code(reply, ("errcode",), ("errmsg",), _BUSY)
