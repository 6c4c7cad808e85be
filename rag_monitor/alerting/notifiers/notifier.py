"""What every channel is: something that takes a batch of messages, or says why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rag_monitor.domain.alert import Notification
from rag_monitor.errors import NotificationError


class DeliveryError(NotificationError):
    """The channel did not take the message."""

    def __init__(
        self,
        text: str,
        /,
        *,
        retry_after_s: float | None = None,
        permanent: bool = False,
        **params: object,
    ) -> None:
        super().__init__(text, **params)
        self.retry_after_s = retry_after_s
        """The channel asked to be left alone for so long."""
        self.permanent = permanent
        """Sending this message again cannot succeed."""


class Notifier(Protocol):
    """A channel. Called from a thread of its own, one batch at a time."""

    @property
    def max_batch(self) -> int:
        """Messages that fit into one send; all of them are named in it."""
        ...

    def send(self, batch: Sequence[Notification]) -> None:
        """Deliver all of the batch or raise; takes no longer than the channel's deadline.

        Raises:
            DeliveryError: The channel did not take it, by its own answer and not only by the HTTP
                status. The whole batch is sent again, so receivers may see repeats of a key.
        """
        ...
